/**
 * Collects the rows of the feeds from the index, in short reads that hold nothing up.
 *
 * A row is an entry that a check calls malicious, with the score a check gives: the highest over
 * all entries that cover it. Entries on the exit list are rows too, whatever their score. What
 * lies in an allowlisted range is left out, and prefixes around one are cut; so are
 * prefixes around a known-good range that are bad by reports alone.
 *
 * Entries come a prefix before what lies in it, so the covering ones are a stack.
 */

import type { IndexView } from '../../../index/reader.ts';
import {
  ceilingOf,
  flagsOf as entryFlagsOf,
  lastReportedAtOf,
  listScoreOf,
  metaOf,
  reportsOf,
  strengthOf,
  turnOf as turnOfEntry,
} from '../../../index/records.ts';
import { manualEntriesList } from '../../../index/trie/memory.ts';
import type { IpFamily } from '../../../ip/address.ts';
import { type Prefix, widthOf, withoutHoles } from '../../../ip/prefix.ts';
import { maliciousBy, maliciousScore } from '../../check/score.ts';
import {
  compareFeedRows,
  copyRow,
  coversAt,
  createFeedRowList,
  FEED_ROW,
  familyOf,
  flagsOfRow,
  infoOf,
  lengthOfRow,
  packInfo,
  type RowList,
  type Rows,
  rowFlags,
  scoreOf,
  setInfo,
  splitFamilies,
  turnOfRow,
} from './rows.ts';

// Holes in prefixes: a feed can't say "all of this but that", so a listed prefix with allowlisted
// ranges in it becomes the fewest prefixes that leave them out. No allowlisted address is blocked.

/**
 * @param rows in order; none lies in a hole
 * @param holes in order, each the prefix of an allowlisted range; they may lie anywhere
 * @param rowsMax rows in the result at most; what would come last is left out, and counted
 */
export function cutHoles(
  rows: Rows,
  holes: Rows,
  rowsMax: number,
): { rows: Rows; dropped: number } {
  if (holes.length === 0) return { rows, dropped: 0 };
  const whole = createFeedRowList(rowsMax, rows.length / FEED_ROW);
  const pieces = createFeedRowList(rowsMax, 64);
  let dropped = 0;
  for (let at = 0; at < rows.length; at += FEED_ROW) {
    const first = firstHoleFrom(rows, at, holes);
    if (isHoleIn(rows, at, holes, first)) dropped += cut(rows, at, holes, first, pieces);
    else addCopy(rows, at, whole);
  }
  const merged = merge(whole.finish(), sorted(pieces.finish()));
  const kept = merged.subarray(0, rowsMax * FEED_ROW);
  return { rows: kept, dropped: dropped + (merged.length - kept.length) / FEED_ROW };
}

function isHoleIn(rows: Rows, at: number, holes: Rows, hole: number): boolean {
  return (
    hole < holes.length &&
    familyOf(holes, hole) === familyOf(rows, at) &&
    lengthOfRow(holes, hole) >= lengthOfRow(rows, at) &&
    coversAt(rows, at, lengthOfRow(rows, at), holes, hole)
  );
}

/** Offset of the first hole that doesn't come before the row: those in it follow. */
function firstHoleFrom(rows: Rows, at: number, holes: Rows): number {
  let low = 0;
  let high = holes.length / FEED_ROW;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareFeedRows(holes, middle * FEED_ROW, rows, at) < 0) low = middle + 1;
    else high = middle;
  }
  return low * FEED_ROW;
}

/** Adds the pieces of one row; each is the row but for its prefix. @returns those without room */
function cut(rows: Rows, at: number, holes: Rows, first: number, out: RowList): number {
  const inside: Prefix[] = [];
  for (let hole = first; isHoleIn(rows, at, holes, hole); hole += FEED_ROW) {
    inside.push(prefixAt(holes, hole));
  }
  let dropped = 0;
  for (const { words, length } of withoutHoles(prefixAt(rows, at), inside)) {
    const to = addCopy(rows, at, out);
    if (to < 0) {
      dropped++;
      continue;
    }
    out.words.set(words, to);
    setInfo(out.words, to, infoOf(rows, at) - lengthOfRow(rows, at) + length);
  }
  return dropped;
}

function prefixAt(rows: Rows, at: number): Prefix {
  return {
    family: familyOf(rows, at),
    words: rows.slice(at, at + 4),
    length: lengthOfRow(rows, at),
  };
}

/** Offset of the copy, -1 when there is no room. */
function addCopy(rows: Rows, at: number, out: RowList): number {
  const to = out.add();
  if (to >= 0) copyRow(rows, at, out.words, to);
  return to;
}

/** Prefixes that were cut may lie in one another: their pieces come out of order. */
function sorted(rows: Rows): Rows {
  const order = Array.from({ length: rows.length / FEED_ROW }, (_, row) => row * FEED_ROW);
  order.sort((i, j) => compareFeedRows(rows, i, rows, j));
  const result = new Uint32Array(rows.length);
  for (const [to, at] of order.entries())
    result.set(rows.subarray(at, at + FEED_ROW), to * FEED_ROW);
  return result;
}

/** Both in order. Of two rows with one prefix, the higher score and the flags of both stay. */
function merge(a: Rows, b: Rows): Rows {
  const out = createFeedRowList((a.length + b.length) / FEED_ROW, (a.length + b.length) / FEED_ROW);
  let last = -1;
  const put = (rows: Rows, at: number) => {
    if (last >= 0 && compareFeedRows(out.words, last, rows, at) === 0) {
      const isHigher = scoreOf(rows, at) > scoreOf(out.words, last);
      const flags = flagsOfRow(rows, at) | flagsOfRow(out.words, last);
      const turn = turnOfRow(rows, at) + turnOfRow(out.words, last);
      if (isHigher) out.words.set(rows.subarray(at, at + FEED_ROW), last);
      const score = scoreOf(out.words, last);
      setInfo(out.words, last, packInfo(lengthOfRow(rows, at), score, flags, turn));
      return;
    }
    last = out.count * FEED_ROW;
    addCopy(rows, at, out);
  };
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    const isFirst = j >= b.length || (i < a.length && compareFeedRows(a, i, b, j) <= 0);
    if (isFirst) {
      put(a, i);
      i += FEED_ROW;
    } else {
      put(b, j);
      j += FEED_ROW;
    }
  }
  return out.finish();
}

interface CollectOptions {
  readonly index: IndexView;
  /** Brackets around each read of the index, as a reader of another thread needs them. */
  readonly enter: () => void;
  readonly leave: () => void;
  /** Between reads, so that the thread receives messages. */
  readonly pause: () => Promise<void>;
  /** 0..100, from an entry's own evidence at the time of the build. */
  readonly score: (listScore: number, ceiling: number, strength: number) => number;
  readonly flags: {
    readonly anonymousExit: number;
    readonly allowlisted: number;
    readonly knownGood: number;
    readonly listed: number;
  };
  /** Both ids of an address: see the geo reader. */
  readonly geo: (family: IpFamily, words: Uint32Array) => number;
  readonly scoreMin: number;
  readonly rowsMax: number;
}

export interface CollectedEntries {
  readonly rows: Rows;
  /** Rows that found no room. */
  readonly dropped: number;
}

/** Entries visited in one read: some 0.3 ms. */
const readEntries = 1_024;
const readsPerPause = 32;
const rootWords = new Uint32Array(4);

export async function collect(options: CollectOptions): Promise<CollectedEntries> {
  // Room that is not used costs address space alone; an array that grows costs copies.
  const rows = createFeedRowList(options.rowsMax, options.index.size());
  const found = { rows, holes: createFeedRowList(options.rowsMax) };
  const { records } = options.index;
  const entries = new Uint32Array(readEntries);
  const metas = new Uint32Array(readEntries);
  let count = 0;
  let dropped = 0;
  for (const family of [4, 6] as const) {
    const visit = createVisitor(options, family, found, () => dropped++);
    const note = (entry: number) => {
      entries[count++] = entry;
    };
    const root = { family, words: rootWords, length: 0 };
    let after: ReturnType<IndexView['walk']>;
    let reads = 0;
    do {
      options.enter();
      try {
        count = 0;
        after = options.index.walk(root, note, { after, limit: readEntries });
        // Records lie anywhere in memory: none waits here for the one before, so many are on their way at once.
        for (let i = 0; i < count; i++) metas[i] = metaOf(records, entries[i]!);
        for (let i = 0; i < count; i++) visit(entries[i]!, metas[i]!);
      } finally {
        options.leave();
      }
      if (++reads % readsPerPause === 0) await options.pause();
    } while (after !== undefined);
  }
  const cut = cutHoles(rows.finish(), found.holes.finish(), options.rowsMax);
  return { rows: withoutRoots(cut.rows), dropped: dropped + cut.dropped };
}

/** The entries that cover the next one, least specific first. */
interface Stack {
  /** Four words of address and the packed info of a row: see rows.ts. */
  readonly words: Uint32Array;
  readonly lengths: number[];
  /** Highest score, highest score of a list, and all flags down to here. */
  readonly scores: number[];
  readonly listed: number[];
  readonly flags: number[];
}

function createVisitor(
  options: CollectOptions,
  family: IpFamily,
  found: { rows: RowList; holes: RowList },
  drop: () => void,
): (entry: number, meta: number) => void {
  const { index, score, flags: bits, geo, scoreMin } = options;
  const { records } = index;
  const bitsMax = widthOf(family);
  const six = family === 6 ? rowFlags.six : 0;
  const stack: Stack = {
    words: new Uint32Array(8 * 130),
    lengths: [],
    scores: [],
    listed: [],
    flags: [],
  };
  const address = new Uint32Array(4);

  function dropAndFindCover(): number {
    while (stack.lengths.length > 0) {
      const top = stack.lengths.length - 1;
      if (coversAt(stack.words, top * 8, stack.lengths[top]!, address, 0)) return top;
      stack.lengths.pop();
    }
    return -1;
  }

  function put(list: RowList, info: number, entry: number): void {
    const at = list.add();
    if (at < 0) {
      drop();
      return;
    }
    const { words } = list;
    for (let word = 0; word < 4; word++) words[at + word] = address[word]!;
    words[at + 4] = info;
    words[at + 5] = reportsOf(records, entry);
    words[at + 6] = lastReportedAtOf(records, entry);
    words[at + 7] = geo(family, address);
  }

  return (entry, meta) => {
    const listScore = listScoreOf(meta);
    const own = score(listScore, ceilingOf(meta), strengthOf(records, entry));
    const ownFlags = entryFlagsOf(meta) & (bits.anonymousExit | bits.allowlisted | bits.knownGood);
    // Most entries of a large table end here.
    if (own < scoreMin && ownFlags === 0 && stack.lengths.length === 0) return;
    const length = index.readPrefix(entry, address);
    if (length < 0) return;
    const above = dropAndFindCover();
    const all = above < 0 ? ownFlags : ownFlags | stack.flags[above]!;
    const any = above < 0 ? own : Math.max(own, stack.scores[above]!);
    const listed = above < 0 ? listScore : Math.max(listScore, stack.listed[above]!);
    // In a known-good range reports have no effect.
    const best = (all & bits.knownGood) === 0 ? any : listed;
    if (any < scoreMin && all === 0) return;
    if (length < bitsMax) {
      const top = stack.lengths.length;
      stack.words.set(address, top * 8);
      stack.lengths.push(length);
      stack.scores[top] = any;
      stack.listed[top] = listed;
      stack.flags[top] = all;
    }
    if ((all & bits.allowlisted) !== 0) {
      // Only the outermost: what lies in it is no row either.
      const isOutermost = above < 0 || (stack.flags[above]! & bits.allowlisted) === 0;
      if (isOutermost) put(found.holes, packInfo(length, 0, six), entry);
      return;
    }
    // Only reports make the prefixes around it bad: they have no effect on it.
    const isGood = (ownFlags & bits.knownGood) !== 0;
    if (isGood && listed < scoreMin && any >= scoreMin) {
      put(found.holes, packInfo(length, 0, six), entry);
    }
    const isExit = (ownFlags & bits.anonymousExit) !== 0;
    if (best < scoreMin && !isExit) return;
    const anon = (all & bits.anonymousExit) === 0 ? 0 : rowFlags.anon;
    const byHand = maliciousBy(index, entry) === manualEntriesList ? rowFlags.own : 0;
    const byList = (entryFlagsOf(meta) & bits.listed) === 0 ? 0 : rowFlags.listed;
    const byReports =
      score(0, ceilingOf(meta), strengthOf(records, entry)) < maliciousScore
        ? 0
        : rowFlags.reported;
    const flags = six | anon | byHand | byList | byReports | (isExit ? rowFlags.exit : 0);
    put(found.rows, packInfo(length, best, flags, turnOfEntry(meta)), entry);
  };
}

/** `ipset` knows no prefix of no bits: each family's whole becomes its two halves. */
function withoutRoots(rows: Rows): Rows {
  const { four, six } = splitFamilies(rows);
  const hasRoot = (part: Rows) => part.length > 0 && (part[4]! & 0xff) === 0;
  if (!hasRoot(four) && !hasRoot(six)) return rows;
  const parts = [four, six].flatMap((part) => (hasRoot(part) ? halved(part) : [part]));
  const all = new Uint32Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

function halved(part: Rows): Rows[] {
  const low = part.slice(0, 8);
  low[4]! += 1;
  const high = low.slice();
  high[0] = 0x8000_0000;
  const rest = part.subarray(8);
  let middle = 0;
  while (middle < rest.length && rest[middle]! < 0x8000_0000) middle += 8;
  const isThere = (half: Rows, at: number) =>
    at < rest.length && rest[at] === half[0] && (rest[at + 4]! & 0xff) === 1;
  const before = isThere(low, 0) ? [] : [low];
  const behind = isThere(high, middle) ? [] : [high];
  return [...before, rest.subarray(0, middle), ...behind, rest.subarray(middle)];
}
