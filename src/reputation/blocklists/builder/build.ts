/**
 * One build: the list from the index, its variants as text and compressed, and what changed.
 *
 * A build is a function of the index, the hour and what was stored: two builds of one state give
 * the same bytes, ETags and dates. Pieces are kept by a hash of what they are made from, so a
 * build makes anew only what changed.
 */

import { inflateRawSync } from 'node:zlib';
import { isoSeconds } from '../../../core/dates.ts';
import { hourMs } from '../../../core/time.ts';
import { variantName } from '../catalog.ts';
import type { Imprint } from '../pieces/lines.ts';
import {
  bothTwins,
  createPiece,
  createPieceMaker,
  hashOf,
  type KnownPiece,
  type Piece,
  type Stitched,
  stitchBrotli,
  stitchGzip,
  stitchText,
} from '../pieces/pieces.ts';
import { createRecordRenderer, type GeoNames } from '../pieces/records.ts';
import { sharedCopy, TextSink } from '../pieces/text.ts';
import type { Collected } from './collect.ts';
import { type Content, contentsOf, type Lists, listsOf } from './contents.ts';
import {
  advance,
  type Changes,
  type ContentRecord,
  changesOf,
  decodeStep,
  encodeStep,
  type FeedHead,
  type History,
  type HistoryStep,
  rebuildList,
  type StoredStep,
} from './history.ts';
import { type Rows, rowCount } from './rows.ts';

export interface EncodedFile extends Stitched {
  /** Strong, quoted. */
  readonly etag: string;
}

/** A variant as it is served. */
export interface FeedFile {
  readonly name: string;
  readonly type: string;
  /** A whole second. */
  readonly changedAtMs: number;
  readonly entries: number;
  readonly identity: EncodedFile;
  /** Undefined: see `twinsOf`. */
  readonly gzip: EncodedFile | undefined;
  readonly brotli: EncodedFile | undefined;
}

export interface Built {
  readonly files: readonly FeedFile[];
  readonly changes: Changes;
  readonly head: Omit<FeedHead, 'baseParts'>;
  readonly step: StoredStep | undefined;
  readonly dropped: readonly number[];
  /** The list as of `head.baseVersion`, when it must be stored: its lines as text, compressed. */
  readonly base: Uint8Array | undefined;
  readonly stats: BuildStats;
}

export interface BuildStats {
  readonly entries: number;
  /** Entries for which there was no room: those with the lowest scores. */
  readonly dropped: number;
  /** Bytes in memory, each piece once. */
  readonly textBytes: number;
  readonly gzipBytes: number;
  readonly brotliBytes: number;
}

/** The stored state with which a builder begins. */
export interface Restored {
  readonly head: FeedHead;
  /** The steps after `head.floor`, oldest first. */
  readonly steps: readonly StoredStep[];
  /** In parts, as it is stored. */
  readonly base: readonly Uint8Array[];
}

export interface FeedBuilderOptions {
  /** Collects the rows with their scores at an hour. */
  readonly collect: (hourMs: number) => Promise<Collected>;
  readonly names: GeoNames;
  readonly imprint: Imprint;
  readonly restored: Restored | undefined;
  /** Entries of the blocklist, and exits, at most. */
  readonly entriesMax: number;
}

/** The stored result of another node's build. */
export type Adopted = Omit<Restored, 'base'>;

export type FeedBuilder = ReturnType<typeof createFeedBuilder>;

const inflatedBytesMax = 1 << 30;

export function createFeedBuilder(options: FeedBuilderOptions) {
  const renderer = createRecordRenderer(options.names);
  const sink = new TextSink();
  const restored = restore(options.restored);
  let history = restored?.history;
  let list = restored?.list ?? new Uint32Array();
  let contents = new Map(options.restored?.head.contents.map((one) => [one.name, one]));
  let pieces = new Map<string, KnownPiece>();
  let files = new Map<string, FeedFile>();
  let lastHash = '';

  /** Returns undefined when nothing changed since the last build of this builder. */
  async function build(nowMs: number): Promise<Built | undefined> {
    const collected = await options.collect(Math.floor(nowMs / hourMs) * hourMs);
    const hash = hashOf(collected.rows).toString('hex');
    if (hash === lastHash) return undefined;
    const lists = listsOf(collected, options.entriesMax);
    const advanced = advance(history, list, lists.block, nowMs);
    const maker = createPieceMaker(pieces, sink, renderer);
    const made: FeedFile[] = [];
    const records: ContentRecord[] = [];
    for (const content of await contentsOf(lists, maker, options.imprint)) {
      const name = variantName(content.feed, content.choice);
      const record = recordOf(name, content, contents.get(name), advanced.history, nowMs);
      const same = files.get(name);
      const isSame = same !== undefined && contents.get(name) === record;
      made.push(isSame ? same : await fileOf(content, record));
      records.push(record);
    }
    const base = advanced.needsBase ? await maker.base(lists.block) : undefined;
    sink.release();
    lastHash = hash;
    history = advanced.history;
    list = lists.block.slice();
    contents = new Map(records.map((record) => [record.name, record]));
    pieces = maker.used;
    files = new Map(made.map((file) => [file.name, file]));
    return {
      files: made,
      changes: changesOf(history),
      head: { ...historyHead(history), contents: records },
      step: stored(advanced.step),
      dropped: advanced.dropped,
      base,
      stats: statsOf(lists, made),
    };
  }

  /**
   * Makes the same files as another node, with its versions and dates. Returns undefined when this
   * index gives others: it is of an earlier or a later moment, and nothing of this builder changed.
   */
  async function adopt(nowMs: number, from: Adopted): Promise<Built | undefined> {
    const collected = await options.collect(Math.floor(nowMs / hourMs) * hourMs);
    const lists = listsOf(collected, options.entriesMax);
    const adopted = historyOf(from);
    if (adopted === undefined) return undefined;
    const theirs = new Map(from.head.contents.map((one) => [one.name, one]));
    const maker = createPieceMaker(pieces, sink, renderer);
    const wanted: { content: Content; record: ContentRecord }[] = [];
    for (const content of await contentsOf(lists, maker, options.imprint)) {
      const name = variantName(content.feed, content.choice);
      const record = recordOf(name, content, theirs.get(name), adopted, nowMs);
      if (record !== theirs.get(name)) {
        sink.release();
        return undefined;
      }
      wanted.push({ content, record });
    }
    const made: FeedFile[] = [];
    for (const { content, record } of wanted) made.push(await fileOf(content, record));
    sink.release();
    lastHash = hashOf(collected.rows).toString('hex');
    history = adopted;
    list = lists.block.slice();
    contents = theirs;
    pieces = maker.used;
    files = new Map(made.map((file) => [file.name, file]));
    const { head } = from;
    const nothing = { step: undefined, dropped: [], base: undefined };
    return {
      files: made,
      changes: changesOf(history),
      head,
      ...nothing,
      stats: statsOf(lists, made),
    };
  }

  return { build, adopt };
}

function historyOf({ head, steps: stored }: Adopted): History | undefined {
  const { version, floor, baseVersion } = head;
  const steps = stored.map((step) => decodeStep(step.version, step.value));
  // Without one of them the list would be another.
  if (!steps.every((step) => step !== undefined)) return undefined;
  return { version, floor, baseVersion, steps };
}

function historyHead({ version, floor, baseVersion }: History) {
  return { version, floor, baseVersion };
}

function stored(step: HistoryStep | undefined): StoredStep | undefined {
  return step && { version: step.version, value: encodeStep(step) };
}

/** Undefined when nothing is stored, or not in a way that is understood: it begins anew. */
function restore(from: Restored | undefined): { history: History; list: Rows } | undefined {
  if (from === undefined) return undefined;
  const history = historyOf(from);
  if (history === undefined) return undefined;
  const text = inflateRawSync(Buffer.concat(from.base), { maxOutputLength: inflatedBytesMax });
  const list = rebuildList(
    text.toString('latin1'),
    history.steps.filter((step) => step.version > history.baseVersion),
  );
  return list && { history, list };
}

/**
 * Returns the former record while the content is the same, whatever its date. A version too old to ask
 * for changes with is replaced: a reader that must reload would find it again, and reload for ever.
 */
function recordOf(
  name: string,
  content: Content,
  known: ContentRecord | undefined,
  { version, floor }: History,
  nowMs: number,
): ContentRecord {
  const parts = content.pieces.flat().map((piece) => piece.hash);
  const frame = JSON.stringify(content.frame('', 0));
  const hash = hashOf(Buffer.from(frame), ...parts).subarray(0, 16);
  const showsVersion = frame !== JSON.stringify(content.frame('', 1));
  const isTooOld = known !== undefined && known.version < floor && showsVersion;
  if (known !== undefined && hash.equals(known.hash) && !isTooOld) return known;
  // Dates in headers have whole seconds: a change must show in them.
  const second = Math.floor(nowMs / 1_000) * 1_000;
  const changedAtMs = known === undefined ? second : Math.max(second, known.changedAtMs + 1_000);
  return { name, hash, changedAtMs, version };
}

async function fileOf(content: Content, record: ContentRecord): Promise<FeedFile> {
  const { changedAtMs, version, name } = record;
  const texts = content.frame(isoSeconds(changedAtMs / 1_000), version);
  const pieces: Piece[] = [];
  for (const [i, text] of texts.entries()) {
    if (i > 0) pieces.push(...content.pieces[i - 1]!);
    if (text !== '') pieces.push(await createPiece(sharedCopy(Buffer.from(text)), bothTwins));
  }
  const encoded = (stitched: Stitched, encoding: string): EncodedFile => {
    const seed = `${changedAtMs} ${version} ${encoding} ${process.versions.zlib} ${process.versions.brotli}`;
    const etag = hashOf(record.hash, Buffer.from(seed)).toString('base64url').slice(0, 22);
    return { ...stitched, etag: `"${etag}"` };
  };
  const gzip = stitchGzip(pieces);
  const brotli = stitchBrotli(pieces);
  return {
    name,
    type: content.feed.type,
    changedAtMs,
    entries: content.entries,
    identity: encoded(stitchText(pieces), ''),
    gzip: gzip && encoded(gzip, 'gzip'),
    brotli: brotli && encoded(brotli, 'br'),
  };
}

function statsOf({ block, dropped }: Lists, files: readonly FeedFile[]): BuildStats {
  const bytesOf = (choose: (file: FeedFile) => Stitched | undefined) => {
    const parts = new Set(files.flatMap((file) => choose(file)?.parts ?? []));
    return [...parts].reduce((sum, part) => sum + part.length, 0);
  };
  return {
    entries: rowCount(block),
    dropped,
    textBytes: bytesOf((file) => file.identity),
    gzipBytes: bytesOf((file) => file.gzip),
    brotliBytes: bytesOf((file) => file.brotli),
  };
}
