/**
 * The record of an entry: eight words in one row, so that a check touches half a cache line
 * and not one line per field. Rows are updated in place, one aligned word at a time: a reader
 * sees each word old or new, never torn; two words read together may differ in age.
 *
 *     +0  strength      f32   log2 of the community evidence, -Infinity = none
 *     +1  meta          u32   listScore u8 | flags u5 | turn u3 | ceiling u8 | listReports u8, lowest first
 *     +2  reports       u32   reports u24 | listSource u8, lowest first
 *     +3  firstReportedAt u32 seconds since 1970, 0 = never; no later than the oldest report that
 *                             is kept, earlier when older ones have expired or were withdrawn
 *     +4  lastReportedAt  u32 seconds since 1970, 0 = never
 *     +5  parent        u32   next less specific entry of the same node (trie-private)
 *     +6  key           u32   IPv4 address, or number of the IPv6 key block (trie-private)
 *     +7  length        u32   length u8 | distinct reporters u16 | listedBy u8, lowest first; the length
 *                             is 1 + 0..32 for IPv4, 64 + 0..128 for IPv6, 0 = never used, 255 = free
 *                             (trie-private)
 *
 * `turn` counts, modulo 8, how often the answer to who makes the entry malicious changed. A reader that comes now
 * and then sees by it that something changed and changed back.
 *
 * `ceiling` is the highest score that reports may give it (reputation/votes/quorum.ts). `listReports`
 * is what lists add to the number of reports, 255 = so many or more; `listSource` the number of
 * the list refreshed last among those that name it, 0 = none: when that was stands once for all
 * its rows, in the index's `listTimes`. `listedBy` is the number of the list that made `listScore`, 0 = none.
 */

export const ROW_WORDS = 8;
export const ROW_SHIFT = 3;
export const STRENGTH = 0;
export const META = 1;
export const REPORTS = 2;
const FIRST_REPORTED_AT = 3;
export const LAST_REPORTED_AT = 4;
export const PARENT = 5;
export const KEY = 6;
export const LENGTH = 7;

export const LENGTH_UNUSED = 0;
export const LENGTH_4 = 1;
export const LENGTH_6 = 64;
export const LENGTH_FREE = 255;

/** The bits of the word at `LENGTH` that hold the length. */
export const LENGTH_MASK = 255;
/** The bits of the word at `REPORTS` that hold the count, and its highest value. */
export const REPORTS_MASK = 0xff_ffff;
const REPORTERS_SHIFT = 8;
const REPORTERS_MAX = 0xffff;
const LISTED_BY_SHIFT = 24;

/** Both views are of one buffer. Field f of entry e is at `(e << ROW_SHIFT) + f`. */
export interface Records {
  readonly float: Float32Array;
  readonly word: Uint32Array;
}

export function strengthOf(records: Records, entry: number): number {
  return records.float[(entry << ROW_SHIFT) + STRENGTH]!;
}

export function setStrength(records: Records, entry: number, strength: number): void {
  records.float[(entry << ROW_SHIFT) + STRENGTH] = strength;
}

export function metaOf(records: Records, entry: number): number {
  return records.word[(entry << ROW_SHIFT) + META]!;
}

export function setMeta(records: Records, entry: number, meta: number): void {
  records.word[(entry << ROW_SHIFT) + META] = meta;
}

/** `listScore` and `ceiling` are 0..255, `flags` 0..31; `listReports` saturates at 255. The turn is 0. */
export function packMeta(
  listScore: number,
  flags: number,
  ceiling: number,
  listReports: number,
): number {
  return (listScore | (flags << 8) | (ceiling << 16) | (Math.min(listReports, 255) << 24)) >>> 0;
}

export function listScoreOf(meta: number): number {
  return meta & 255;
}

export function flagsOf(meta: number): number {
  return (meta >>> 8) & 31;
}

export function turnOf(meta: number): number {
  return (meta >>> 13) & 7;
}

/** @param turn is taken modulo 8; 0 leaves what does not depend on what happened before */
export function withTurn(meta: number, turn: number): number {
  return ((meta & 0xffff_1fff) | ((turn & 7) << 13)) >>> 0;
}

export function ceilingOf(meta: number): number {
  return (meta >>> 16) & 255;
}

/** Accounts that reported it; 65,535: so many or more. */
export function reportersOf(records: Records, entry: number): number {
  return (records.word[(entry << ROW_SHIFT) + LENGTH]! >>> REPORTERS_SHIFT) & REPORTERS_MAX;
}

export function setReporters(records: Records, entry: number, reporters: number): void {
  const at = (entry << ROW_SHIFT) + LENGTH;
  const held = Math.min(reporters, REPORTERS_MAX) << REPORTERS_SHIFT;
  const kept = records.word[at]! & ~(REPORTERS_MAX << REPORTERS_SHIFT);
  records.word[at] = (kept | held) >>> 0;
}

/** Number of the list that made the list score, 0 = none. */
export function listedByOf(records: Records, entry: number): number {
  return records.word[(entry << ROW_SHIFT) + LENGTH]! >>> LISTED_BY_SHIFT;
}

export function setListedBy(records: Records, entry: number, list: number): void {
  const at = (entry << ROW_SHIFT) + LENGTH;
  const kept = records.word[at]! & ~(255 << LISTED_BY_SHIFT);
  records.word[at] = (kept | (list << LISTED_BY_SHIFT)) >>> 0;
}

export function reportsOf(records: Records, entry: number): number {
  return records.word[(entry << ROW_SHIFT) + REPORTS]! & REPORTS_MASK;
}

export function setReports(records: Records, entry: number, reports: number): void {
  const at = (entry << ROW_SHIFT) + REPORTS;
  const kept = records.word[at]! & ~REPORTS_MASK;
  records.word[at] = (kept | Math.min(reports, REPORTS_MASK)) >>> 0;
}

/** Number of the list that was refreshed last among those that name it, 0 = none. */
export function listSourceOf(records: Records, entry: number): number {
  return records.word[(entry << ROW_SHIFT) + REPORTS]! >>> 24;
}

export function setListSource(records: Records, entry: number, source: number): void {
  const at = (entry << ROW_SHIFT) + REPORTS;
  records.word[at] = ((records.word[at]! & REPORTS_MASK) | (source << 24)) >>> 0;
}

/** Seconds since 1970; 0 = never. */
export function firstReportedAtOf(records: Records, entry: number): number {
  return records.word[(entry << ROW_SHIFT) + FIRST_REPORTED_AT]!;
}

/** Seconds since 1970; 0 = never. */
export function lastReportedAtOf(records: Records, entry: number): number {
  return records.word[(entry << ROW_SHIFT) + LAST_REPORTED_AT]!;
}

export function setReportedAt(
  records: Records,
  entry: number,
  firstSeconds: number,
  lastSeconds: number,
): void {
  records.word[(entry << ROW_SHIFT) + FIRST_REPORTED_AT] = firstSeconds;
  records.word[(entry << ROW_SHIFT) + LAST_REPORTED_AT] = lastSeconds;
}

/** No evidence, no reports. Leaves the words that the trie owns. */
export function clearRecord(records: Records, entry: number): void {
  const row = entry << ROW_SHIFT;
  records.float[row + STRENGTH] = Number.NEGATIVE_INFINITY;
  for (let field = META; field <= LAST_REPORTED_AT; field++) records.word[row + field] = 0;
}

// All IPv4 entries in the order of their numbers, read row by row: a tenth of the time of a walk over the
// trie, for counts in which neither the order nor one entry more or less matters. An entry that was
// removed is seen until its number is given back (`IpIndex.reclaim`), one that is being made may be missed.
//
// Nothing is looked up, so no reader's epoch is needed: a row is never unmapped, and each word of it is
// read whole.

/** @param visit first word of the prefix, and its length, 0 to 32 */
export function scan4(
  { word }: Records,
  visit: (entry: number, first: number, length: number) => void,
): void {
  // Numbers are given out in order: behind the first that was never used there are none.
  for (let row = ROW_WORDS, entry = 1; row < word.length; row += ROW_WORDS, entry++) {
    const code = word[row + LENGTH]! & LENGTH_MASK;
    if (code === LENGTH_UNUSED) return;
    if (code < LENGTH_6) visit(entry, word[row + KEY]!, code - LENGTH_4);
  }
}
