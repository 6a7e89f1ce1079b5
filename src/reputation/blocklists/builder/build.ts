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
import type { IpFamily } from '../../../ip/address.ts';
import {
  type Choice,
  choicesOf,
  entryLimits,
  type Feed,
  familiesOf,
  feeds,
  type LinesFeed,
  scoreTiers,
  variantName,
} from '../feed-definitions.ts';
import {
  type FrameFacts,
  frames,
  type OperatorTexts,
  sharedCopy,
  TextSink,
} from '../pieces/lines.ts';
import {
  bothTwins,
  createPiece,
  createPieceMaker,
  type Encodings,
  encodingsVersion,
  hashOf,
  type KnownPiece,
  type KnownPieces,
  largeFrom,
  listTwins,
  nothingKnown,
  type Piece,
  type PieceMaker,
  plainEncodings,
  type StitchedBody,
  stitchBrotli,
  stitchGzip,
  stitchText,
} from '../pieces/pieces.ts';
import {
  createRecordRenderer,
  type GeoNames,
  recordFrame,
  type Segment,
  segmentsByScore,
  separators,
} from '../pieces/records.ts';
import type { CollectedEntries } from './collect.ts';
import {
  advance,
  type BuiltHead,
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
import {
  aggregate,
  copyRow,
  FEED_ROW,
  feedRowCount,
  filterRows,
  flagsOfRow,
  originsOf,
  type Rows,
  rowFlags,
  scoreOf,
  setOrigins,
  splitFamilies,
} from './rows.ts';

const noTwins: Encodings = { gzip: false, brotli: false };

export const scoreMin: number = scoreTiers[0];

export interface EncodedFile extends StitchedBody {
  /** Strong, quoted. */
  readonly etag: string;
}

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
  readonly head: BuiltHead;
  readonly step: StoredStep | undefined;
  readonly dropped: readonly number[];
  /** The list as of `head.baseVersion`, when it must be stored: its lines as text, compressed. */
  readonly base: Uint8Array | undefined;
  /** The origins of the list, as `originsOf` gives them. */
  readonly origins: Uint8Array;
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

/** The stored result of another node's build. */
export interface StoredBuild {
  readonly head: FeedHead;
  /** The steps after `head.floor`, oldest first. */
  readonly steps: readonly StoredStep[];
}

/** The stored state with which a builder begins. */
export interface RestoredBuild extends StoredBuild {
  /** In parts, as it is stored. */
  readonly base: readonly Uint8Array[];
  /** The origins of the list, when this process made it; they are not stored. */
  readonly origins?: Uint8Array | undefined;
}

interface FeedBuilderOptions {
  /** Collects the rows with their scores at an hour. */
  readonly collect: (hourMs: number) => Promise<CollectedEntries>;
  readonly names: GeoNames;
  readonly operatorTexts: OperatorTexts;
  readonly restored: RestoredBuild | undefined;
  /** Entries of the blocklist, and exits, at most. */
  readonly entriesMax: number;
}

export type FeedBuilder = ReturnType<typeof createFeedBuilder>;

const inflatedBytesMax = 1 << 30;

export function createFeedBuilder(options: FeedBuilderOptions) {
  const renderer = createRecordRenderer(options.names);
  const sink = new TextSink();
  const restored = restore(options.restored);
  let history = restored?.history;
  let list = restored?.list ?? new Uint32Array();
  let contents = new Map(options.restored?.head.contents.map((one) => [one.name, one]));
  let pieces = nothingKnown;
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
    for (const content of await contentsOf(lists, maker, options.operatorTexts)) {
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
    contents = new Map(records.map((record) => [record.name, record]));
    const { version, floor, baseVersion } = history;
    return {
      ...keep(lists, maker.used, made),
      changes: changesOf(history),
      head: { version, floor, baseVersion, contents: records },
      step: stored(advanced.step),
      dropped: advanced.dropped,
      base,
    };
  }

  /**
   * Makes the same files as another node, with its versions and dates. Returns undefined when this
   * index gives others: it is of an earlier or a later moment, and nothing of this builder changed.
   */
  async function adopt(nowMs: number, from: StoredBuild): Promise<Built | undefined> {
    const collected = await options.collect(Math.floor(nowMs / hourMs) * hourMs);
    const lists = listsOf(collected, options.entriesMax);
    const adopted = historyOf(from);
    if (adopted === undefined) return undefined;
    const theirs = new Map(from.head.contents.map((one) => [one.name, one]));
    const maker = createPieceMaker(pieces, sink, renderer);
    const wanted: { content: Content; record: ContentRecord }[] = [];
    for (const content of await contentsOf(lists, maker, options.operatorTexts)) {
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
    contents = theirs;
    return {
      ...keep(lists, maker.used, made),
      changes: changesOf(history),
      head: from.head,
      step: undefined,
      dropped: [],
      base: undefined,
    };
  }

  /** Keeps what the next build goes on from. */
  function keep(lists: Lists, used: KnownPieces, made: readonly FeedFile[]) {
    list = lists.block;
    pieces = used;
    files = new Map(made.map((file) => [file.name, file]));
    return { files: made, origins: originsOf(lists.block), stats: statsOf(lists, made) };
  }

  return { build, adopt };
}

function historyOf({ head, steps: stored }: StoredBuild): History | undefined {
  const { version, floor, baseVersion } = head;
  const steps = stored.map((step) => decodeStep(step.version, step.value));
  // Without one of them the list would be another.
  if (!steps.every((step) => step !== undefined)) return undefined;
  return { version, floor, baseVersion, steps };
}

function stored(step: HistoryStep | undefined): StoredStep | undefined {
  return step && { version: step.version, value: encodeStep(step) };
}

/** Undefined when nothing is stored, or not in a way that is understood: it begins anew. */
function restore(from: RestoredBuild | undefined): { history: History; list: Rows } | undefined {
  if (from === undefined) return undefined;
  const history = historyOf(from);
  if (history === undefined) return undefined;
  const text = inflateRawSync(Buffer.concat(from.base), { maxOutputLength: inflatedBytesMax });
  const list = rebuildList(
    text.toString('latin1'),
    history.steps.filter((step) => step.version > history.baseVersion),
  );
  if (list !== undefined && from.origins !== undefined) setOrigins(list, from.origins);
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
  const encoded = (stitched: StitchedBody, encoding: string): EncodedFile => {
    const coders = `${encodingsVersion} ${process.versions.zlib} ${process.versions.brotli}`;
    const seed = `${changedAtMs} ${version} ${encoding} ${coders}`;
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
  const bytesOf = (choose: (file: FeedFile) => StitchedBody | undefined) => {
    const parts = new Set(files.flatMap((file) => choose(file)?.parts ?? []));
    return [...parts].reduce((sum, part) => sum + part.length, 0);
  };
  return {
    entries: feedRowCount(block),
    dropped,
    textBytes: bytesOf((file) => file.identity),
    gzipBytes: bytesOf((file) => file.gzip),
    brotliBytes: bytesOf((file) => file.brotli),
  };
}

// The content of each variant of each feed: rows and frame, without a date yet.

interface Lists {
  readonly block: Rows;
  readonly exits: Rows;
  readonly dropped: number;
}

interface Content {
  readonly feed: Feed;
  readonly choice: Choice;
  readonly entries: number;
  /** Frame and lines in turn; the frame depends on the date. */
  readonly frame: (changedAt: string, version: number) => readonly string[];
  /** Stand between the texts of the frame, one fewer than these. */
  readonly pieces: readonly (readonly KnownPiece[])[];
}

export function listsOf({ rows, dropped }: CollectedEntries, entriesMax: number): Lists {
  const malicious = filterRows(rows, (at) => scoreOf(rows, at) >= scoreMin);
  const block = highest(malicious, entriesMax);
  const exits = filterRows(rows, (at) => (flagsOfRow(rows, at) & rowFlags.exit) !== 0);
  const left = feedRowCount(malicious) - feedRowCount(block);
  return { block, exits: exits.subarray(0, entriesMax * FEED_ROW), dropped: dropped + left };
}

/** At most `max` rows: the highest scores, and of the last score the first addresses. */
function highest(rows: Rows, max: number): Rows {
  if (feedRowCount(rows) <= max) return rows;
  const counts = new Uint32Array(101);
  for (let at = 0; at < rows.length; at += FEED_ROW) counts[scoreOf(rows, at)]! += 1;
  let score = 100;
  let left = max;
  while (counts[score]! <= left) left -= counts[score--]!;
  const kept = new Uint32Array(max * FEED_ROW);
  let to = 0;
  for (let at = 0; to < kept.length; at += FEED_ROW) {
    const its = scoreOf(rows, at);
    // Rows of the lowest score are kept as long as there is room for them.
    if (its < score || (its === score && left-- <= 0)) continue;
    copyRow(rows, at, kept, to);
    to += FEED_ROW;
  }
  return kept;
}

async function contentsOf(
  lists: Lists,
  maker: PieceMaker,
  operatorTexts: OperatorTexts,
): Promise<Content[]> {
  const made: Content[] = [];
  let ofTier = lists.block;
  const byTier = new Map(
    // The least comes first: each has fewer rows than the one before.
    scoreTiers.map((tier) => {
      const rows = ofTier;
      ofTier = filterRows(rows, (at) => scoreOf(rows, at) >= tier);
      return [tier, splitFamilies(ofTier)];
    }),
  );
  const listOf = createListChoice(byTier, splitFamilies(lists.exits), lists.block);
  const segments = segmentsByScore(lists.block, byTier.get(75)!.four.length, scoreMin);
  for (const feed of feeds) {
    for (const choice of choicesOf(feed)) {
      made.push(
        feed.kind === 'lines'
          ? await linesContent(feed, choice, lists, listOf, maker, operatorTexts)
          : await recordsContent(feed, choice, segments, maker),
      );
    }
  }
  return made;
}

type Split = ReturnType<typeof splitFamilies>;
type ListOf = (feed: LinesFeed, choice: Choice, family: IpFamily) => Rows;

/** Aggregates each list once. */
function createListChoice(byTier: ReadonlyMap<number, Split>, exits: Split, block: Rows): ListOf {
  const aggregated = new Map<Rows, Rows>();
  const whole = byTier.get(scoreMin)!;
  /** By limit and family: the worst of both, or of one. */
  const limited = new Map<string, Split>();
  const worstRows = new Map<string, Rows>();

  /** The worst few are the worst of the worst many. */
  function worstOf(limit: number, family: IpFamily | undefined): Rows {
    const name = `${limit} ${family}`;
    const before = worstRows.get(name);
    if (before !== undefined) return before;
    const more = entryLimits.find((one) => one > limit);
    const all = family === undefined ? block : family === 4 ? whole.four : whole.six;
    const made = highest(more === undefined ? all : worstOf(more, family), limit);
    worstRows.set(name, made);
    return made;
  }

  /** The same rows where the limit cuts nothing off: their pieces are made once. */
  function worst(limit: number, family: IpFamily | undefined): Split {
    const name = `${limit} ${family}`;
    const known = limited.get(name);
    if (known !== undefined) return known;
    const isCut = feedRowCount(block) > limit;
    const made =
      family !== undefined
        ? { four: worstOf(limit, 4), six: worstOf(limit, 6) }
        : isCut
          ? splitFamilies(worstOf(limit, undefined))
          : whole;
    limited.set(name, made);
    return made;
  }

  return (feed, choice, family) => {
    const { limit, scoreMin: tier } = choice;
    const ofTier = limit === undefined ? byTier.get(tier)! : worst(limit, choice.family);
    const split = feed.content === 'exits' ? exits : ofTier;
    const rows = family === 4 ? split.four : split.six;
    const isTooLong = feed.style !== 'plain' && feedRowCount(rows) > largeFrom;
    if (!choice.aggregated && !isTooLong) return rows;
    const known = aggregated.get(rows) ?? aggregate(rows);
    aggregated.set(rows, known);
    return known;
  };
}

/**
 * Compressing takes much of a build's time. Of a large list, the lines that other feeds have in a
 * shorter form, and those made for devices that hold no such list, go out as they are (and the
 * former aggregated where a family is large, which is the same addresses in fewer lines). Its plain lines and
 * its records have a gzip twin and no brotli one.
 * @param rowsInAll of the whole list
 */
function twinsOf(feed: LinesFeed, choice: Choice, rowsInAll: number): Encodings {
  const encodings = plainEncodings(rowsInAll);
  if (encodings.brotli) return bothTwins;
  return feed.style !== 'plain' || choice.aggregated ? noTwins : encodings;
}

async function linesContent(
  feed: LinesFeed,
  choice: Choice,
  lists: Lists,
  listOf: ListOf,
  maker: PieceMaker,
  operatorTexts: OperatorTexts,
): Promise<Content> {
  const families = familiesOf(feed, choice);
  const counts = { 4: 0, 6: 0 };
  const list = feed.content === 'exits' ? lists.exits : lists.block;
  const encodings = twinsOf(feed, choice, feedRowCount(list));
  const pieces: KnownPiece[][] = [];
  for (const family of families) {
    const rows = listOf(feed, choice, family);
    counts[family] = feedRowCount(rows);
    const { scoreMin: tier, limit, aggregated } = choice;
    const of = limit === undefined ? '' : choice.family;
    const name = `${feed.content} ${tier} ${limit} ${of} ${aggregated}`;
    pieces.push(await maker.lines(name, rows, feed.style, family, encodings));
  }
  function frame(changedAt: string, version: number): string[] {
    const isBlocklist = feed.content === 'blocklist';
    const facts: FrameFacts = {
      title: feed.title,
      changedAt,
      version: isBlocklist ? version : undefined,
      families,
      counts,
      scoreMin: isBlocklist ? choice.scoreMin : undefined,
      aggregated: choice.aggregated,
      ...operatorTexts,
    };
    const made = frames[feed.frame](facts);
    const texts = [made.head];
    for (const family of families) {
      texts[texts.length - 1] += made.before(family);
      texts.push(made.behind(family));
    }
    texts[texts.length - 1] += made.foot;
    return texts;
  }
  return { feed, choice, entries: counts[4] + counts[6], frame, pieces };
}

async function recordsContent(
  feed: Extract<Feed, { kind: 'records' }>,
  choice: Choice,
  segments: readonly Segment[],
  maker: PieceMaker,
): Promise<Content> {
  const families = familiesOf(feed, choice);
  const separator = await maker.text(separators[feed.style]);
  const encodings = listTwins(segments.reduce((sum, { rows }) => sum + feedRowCount(rows), 0));
  const wanted = segments.filter(
    ({ score, family }) => score >= choice.scoreMin && families.includes(family),
  );
  const pieces: KnownPiece[] = [];
  let entries = 0;
  for (const segment of wanted) {
    if (pieces.length > 0) pieces.push(separator);
    pieces.push(...(await maker.records(segment, feed.style, encodings)));
    entries += feedRowCount(segment.rows);
  }
  function frame(changedAt: string, version: number): string[] {
    const facts = { changedAt, version, count: entries, scoreMin: choice.scoreMin };
    const { head, foot } = recordFrame(feed.style, facts);
    return [head, foot];
  }
  return { feed, choice, entries, frame, pieces: [pieces] };
}
