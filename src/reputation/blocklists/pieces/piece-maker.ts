/**
 * Pieces by what they are made from: the same lines or records are rendered and compressed once,
 * in one build and from build to build.
 */

import { createHash } from 'node:crypto';
import { familyOf, lengthOf, ROW, type Rows, rowCount, splitFamilies } from '../builder/rows.ts';
import { runsOf } from '../builder/runs.ts';
import { type LineStyle, renderLines } from './lines.ts';
import { createPiece, type Piece, type Twins } from './pieces.ts';
import { type RecordRenderer, type RecordStyle, type Segment, separators } from './records.ts';
import { fixedText, type TextSink, writeFixed } from './text.ts';

export interface KnownPiece extends Piece {
  readonly hash: Uint8Array;
}

export function hashOf(...parts: readonly (Uint8Array | Uint32Array)[]): Buffer {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest();
}

export const bothTwins: Twins = { gzip: true, brotli: true };
/** Lists with more rows of a family are large: their encodings are chosen with a build's cost in mind. */
export const largeFrom = 200_000;

/**
 * Leaves brotli out of large lists of plain lines: it takes as long as gzip once more, for a
 * twentieth fewer bytes.
 */
export function plainTwins(rows: Rows): Twins {
  return { gzip: true, brotli: rowCount(rows) <= largeFrom };
}

interface Run {
  readonly rows: Rows;
  readonly hash: string;
}

/** Lines depend on the prefixes alone. All rows are of one family. */
function prefixHash(rows: Rows): Buffer {
  const words = rows.length > 0 && familyOf(rows, 0) === 4 ? 1 : 4;
  const bare = new Uint32Array((rows.length / ROW) * (words + 1));
  for (let at = 0, to = 0; at < rows.length; at += ROW) {
    for (let word = 0; word < words; word++) bare[to++] = rows[at + word]!;
    bare[to++] = lengthOf(rows, at);
  }
  return hashOf(bare);
}

function twinsText({ gzip, brotli }: Twins): string {
  return `${gzip ? 'g' : ''}${brotli ? 'b' : ''}`;
}

export interface PieceMaker {
  lines(rows: Rows, style: LineStyle, family: 4 | 6, twins: Twins): Promise<KnownPiece[]>;
  /** Separators stand between them, not at the ends. */
  records(segment: Segment, style: RecordStyle, twins: Twins): Promise<KnownPiece[]>;
  text(text: string): Promise<KnownPiece>;
  /** Renders the list as lines, deflated. */
  base(rows: Rows): Promise<Uint8Array>;
  readonly used: Map<string, KnownPiece>;
}

export function createPieceMaker(
  known: ReadonlyMap<string, KnownPiece>,
  sink: TextSink,
  renderer: RecordRenderer,
): PieceMaker {
  const used = new Map<string, KnownPiece>();
  /** By identity of the list: the same list is asked for in several styles. */
  const lineRuns = new WeakMap<Rows, Run[]>();
  const recordRuns = new WeakMap<Rows, Run[]>();

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

  function runsOnce(
    known: WeakMap<Rows, Run[]>,
    rows: Rows,
    hash: (run: Rows) => Buffer,
  ): readonly Run[] {
    const before = known.get(rows);
    if (before !== undefined) return before;
    const made = runsOf(rows).map((run) => ({ rows: run, hash: hash(run).toString('base64url') }));
    known.set(rows, made);
    return made;
  }

  async function lines(
    rows: Rows,
    style: LineStyle,
    family: 4 | 6,
    twins: Twins,
  ): Promise<KnownPiece[]> {
    const pieces: KnownPiece[] = [];
    for (const run of runsOnce(lineRuns, rows, prefixHash)) {
      const key = `${style} ${family} ${twinsText(twins)} ${run.hash}`;
      pieces.push(await take(key, twins, () => renderLines(run.rows, style, family, sink)));
    }
    return pieces;
  }

  function text(content: string): Promise<KnownPiece> {
    return take(`text ${content}`, bothTwins, () => {
      sink.length = writeFixed(sink.reserve(content.length), sink.length, fixedText(content));
    });
  }

  async function records(
    { rows }: Segment,
    style: RecordStyle,
    twins: Twins,
  ): Promise<KnownPiece[]> {
    const separator = await text(separators[style]);
    const pieces: KnownPiece[] = [];
    for (const run of runsOnce(recordRuns, rows, (one) => hashOf(one))) {
      if (pieces.length > 0) pieces.push(separator);
      const key = `${style} ${twinsText(twins)} ${run.hash}`;
      pieces.push(await take(key, twins, () => renderer.render(run.rows, style, sink)));
    }
    return pieces;
  }

  return {
    used,
    lines,
    records,
    text,
    async base(rows) {
      const { four, six } = splitFamilies(rows);
      const parts = [
        ...(await lines(four, 'plain', 4, plainTwins(four))),
        ...(await lines(six, 'plain', 6, plainTwins(six))),
      ];
      return Buffer.concat([...parts.map(({ deflate }) => deflate!), Uint8Array.of(3, 0)]);
    },
  };
}
