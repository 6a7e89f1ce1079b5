/**
 * Pieces by what they are made from: the same lines or records are rendered and compressed once,
 * in one build and from build to build.
 */

import { createHash } from 'node:crypto';
import { type LineStyle, renderLines } from './lines.ts';
import { createPiece, type Piece, type Twins } from './pieces.ts';
import type { RecordRenderer, RecordStyle, Segment } from './records.ts';
import { lengthOf, ROW, type Rows, splitFamilies } from './rows.ts';
import type { TextSink } from './text.ts';

export interface KnownPiece extends Piece {
  readonly hash: Uint8Array;
}

export function hashOf(...parts: readonly (Uint8Array | Uint32Array)[]): Buffer {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest();
}

export const bothTwins: Twins = { gzip: true, brotli: true };

function twinsText({ gzip, brotli }: Twins): string {
  return `${gzip ? 'g' : ''}${brotli ? 'b' : ''}`;
}

export interface PieceMaker {
  lines(rows: Rows, style: LineStyle, family: 4 | 6, twins: Twins): Promise<KnownPiece[]>;
  records(segment: Segment, style: RecordStyle, twins: Twins): Promise<KnownPiece>;
  text(text: string): Promise<KnownPiece>;
  /** The list as lines, deflated. */
  base(rows: Rows): Promise<Uint8Array>;
  readonly used: Map<string, KnownPiece>;
}

export function createPieceMaker(
  known: ReadonlyMap<string, KnownPiece>,
  sink: TextSink,
  renderer: RecordRenderer,
): PieceMaker {
  const used = new Map<string, KnownPiece>();
  /** Of lists of rows, by identity: the same list is asked for in several styles. */
  const hashes = new WeakMap<Rows, string>();

  async function take(key: string, twins: Twins, render: () => void): Promise<KnownPiece> {
    const before = used.get(key) ?? known.get(key);
    if (before !== undefined) {
      used.set(key, before);
      return before;
    }
    render();
    const piece = await createPiece(sink.takeShared(), twins);
    // The key tells the rows apart; the CRC tells when the same rows are written in another way.
    const made = {
      ...piece,
      hash: hashOf(Buffer.from(`${key} ${piece.crc} ${piece.text.length}`)),
    };
    used.set(key, made);
    return made;
  }

  function hashOnce(rows: Rows, compute: () => string): string {
    const hash = hashes.get(rows) ?? compute();
    hashes.set(rows, hash);
    return hash;
  }

  /** Lines depend on the prefixes alone. */
  function prefixHash(rows: Rows): string {
    return hashOnce(rows, () => {
      const bare = new Uint32Array((rows.length / ROW) * 5);
      for (let at = 0, to = 0; at < rows.length; at += ROW, to += 5) {
        for (let word = 0; word < 4; word++) bare[to + word] = rows[at + word]!;
        bare[to + 4] = lengthOf(rows, at);
      }
      return hashOf(bare).toString('hex');
    });
  }

  async function lines(
    rows: Rows,
    style: LineStyle,
    family: 4 | 6,
    twins: Twins,
  ): Promise<KnownPiece[]> {
    if (rows.length === 0) return [];
    const key = `${style} ${family} ${twinsText(twins)} ${prefixHash(rows)}`;
    return [await take(key, twins, () => renderLines(rows, style, family, sink))];
  }

  return {
    used,
    lines,
    records: ({ rows }, style, twins) =>
      take(
        `${style} ${twinsText(twins)} ${hashOnce(rows, () => hashOf(rows).toString('hex'))}`,
        twins,
        () => renderer.render(rows, style, sink),
      ),
    text: (text) =>
      take(`text ${text}`, bothTwins, () => {
        sink.reserve(text.length);
        sink.ascii(text);
      }),
    async base(rows) {
      const { four, six } = splitFamilies(rows);
      const parts = [
        ...(await lines(four, 'plain', 4, bothTwins)),
        ...(await lines(six, 'plain', 6, bothTwins)),
      ];
      return Buffer.concat([...parts.map(({ deflate }) => deflate!), Uint8Array.of(3, 0)]);
    },
  };
}
