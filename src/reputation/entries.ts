/**
 * The entries of the index together with what is private to the thread that applies the
 * journal: the contributions behind each entry and the projection page it belongs to.
 *
 * An entry lives as long as something is said of it: `claim` comes before a change, `settle`
 * after it works out what readers see, or removes the entry when nothing is left.
 */

import type { ArrayImage } from '../core/array-image.ts';
import type { IpIndex } from '../index/ip-index.ts';
import { isPrefix } from '../index/prefix.ts';
import {
  firstReportedAtOf,
  lastReportedAtOf,
  metaOf,
  packMeta,
  reportersOf,
  reportsOf,
  setMeta,
  setReportedAt,
  setReports,
  setStrength,
  strengthOf,
} from '../index/records.ts';
import type { PageSection } from '../store/projection.ts';
import {
  type Contributions,
  contributionKinds,
  createContributions,
  kindOf,
} from './contributions.ts';
import { entryFlags } from './entry-flags.ts';
import { createEntryRow, createPageWriter, readEntryRow } from './entry-page.ts';
import { createPageLists, entryPages, pageOf } from './page-lists.ts';

export interface Entries {
  readonly contributions: Contributions;
  /** The entry of exactly this prefix, made if absent, its page marked as changing. 0: no room. */
  claim(family: 4 | 6, words: Uint32Array, length: number): number;
  /** Whether a report of the address can be recorded, with those that are under way before it. */
  hasRoomFor(family: 4 | 6, words: Uint32Array): boolean;
  /** The entry of exactly this prefix, 0 for none. */
  get(family: 4 | 6, words: Uint32Array, length: number): number;
  /** Marks the entry's page as changing. Must come before the change. */
  touch(entry: number): void;
  /** Publishes what the contributions add up to; removes an entry of which nothing is said. */
  settle(entry: number): void;
  readonly section: PageSection;
  /** What is beside the index, for the start's snapshot. */
  image(): ArrayImage;
  /** Into an empty state, over an index from the same snapshot. False: unusable, start afresh. */
  restore(image: ArrayImage): boolean;
}

/** More entries and contributions than reports at once can take: what is acknowledged must fit. */
const reportsUnderWayMax = 4_096;

export function createEntries(options: {
  index: IpIndex;
  /** Largest entry number. */
  entriesMax: number;
  /** Largest number of contributions. */
  contributionsMax: number;
  touchPage: (page: number) => void;
  /** Kept free for reports that are committed and not yet applied. */
  reserve?: number;
}): Entries {
  const { index, touchPage } = options;
  const { records } = index;
  const contributions = createContributions(options.entriesMax, options.contributionsMax);
  const pages = createPageLists(options.entriesMax);
  const row = createEntryRow();
  const page = createPageWriter();
  /** Used again for each row, so that a million of them are no work for the garbage collector. */
  const sought = { family: 4 as 4 | 6, words: row.words, length: 0 };

  function claim(family: 4 | 6, words: Uint32Array, length: number): number {
    const page = pageOf(family, words[0]!, words[1]!);
    touchPage(page);
    sought.family = family;
    sought.words = words;
    sought.length = length;
    const before = index.size();
    const entry = index.insert(sought);
    if (index.size() !== before) pages.add(entry, page);
    return entry;
  }

  function hasRoomFor(family: 4 | 6, words: Uint32Array): boolean {
    const reserve = options.reserve ?? reportsUnderWayMax;
    if (contributions.count() + reserve > options.contributionsMax) return false;
    if (index.size() + reserve <= options.entriesMax) return true;
    return index.get({ family, words, length: family === 4 ? 32 : 128 }) !== 0;
  }

  function settle(entry: number): void {
    let seedScore = 0;
    let flags = 0;
    let reporters = 0;
    let strongest = Number.NEGATIVE_INFINITY;
    for (let node = contributions.first(entry); node !== 0; node = contributions.next[node]!) {
      switch (kindOf(contributions.tag[node]!)) {
        case contributionKinds.seed:
          flags |= entryFlags.seeded;
          seedScore = Math.max(seedScore, contributions.x[node]! & 0xff);
          break;
        case contributionKinds.anon:
          flags |= entryFlags.anonymousExit;
          break;
        case contributionKinds.allow:
          flags |= entryFlags.allowlisted;
          break;
        case contributionKinds.reports:
          reporters++;
          strongest = Math.max(strongest, contributions.strength[node]!);
          break;
      }
    }
    if (contributions.first(entry) === 0 && reportsOf(records, entry) === 0) {
      const prefix = index.prefixOf(entry);
      pages.remove(entry);
      if (prefix !== undefined) index.remove(prefix);
      return;
    }
    setMeta(records, entry, packMeta(seedScore, flags, reporters));
    setStrength(records, entry, reporters < 2 ? strongest : sumOfStrengths(entry, strongest));
  }

  /**
   * Evidence adds up; strengths are its logarithms. Relative to the strongest nothing overflows,
   * and what is too weak to count vanishes by itself.
   */
  function sumOfStrengths(entry: number, strongest: number): number {
    if (strongest === Number.NEGATIVE_INFINITY) return strongest;
    let sum = 0;
    for (let node = contributions.first(entry); node !== 0; node = contributions.next[node]!) {
      if (kindOf(contributions.tag[node]!) !== contributionKinds.reports) continue;
      sum += 2 ** (contributions.strength[node]! - strongest);
    }
    return strongest + Math.log2(sum);
  }

  function encodePage(number: number): Uint8Array {
    const { tag, x, y, z, next } = contributions;
    page.clear();
    pages.visit(number, (entry) => {
      const prefix = index.prefixOf(entry);
      if (prefix === undefined) throw new Error(`entry ${entry} of page ${number} has no prefix`);
      page.prefix(prefix);
      const reports = reportsOf(records, entry);
      page.varint(reports);
      if (reports > 0) {
        page.f32(strengthOf(records, entry));
        page.u16(reportersOf(metaOf(records, entry)));
        page.u32(firstReportedAtOf(records, entry));
        page.u32(lastReportedAtOf(records, entry));
      }
      let count = 0;
      for (let n = contributions.first(entry); n !== 0; n = next[n]!) count++;
      page.varint(count);
      for (let n = contributions.first(entry); n !== 0; n = next[n]!) {
        page.u32(tag[n]!);
        page.u32(x[n]!);
        page.u32(y[n]!);
        page.varint(z[n]!);
      }
    });
    return page.copy();
  }

  function loadPage(page: number, bytes: Uint8Array): boolean {
    for (let at = 0; at < bytes.length; ) {
      const next = readEntryRow(bytes, at, row);
      if (next < 0 || !isPrefix(row) || pageOf(row.family, row.words[0]!, row.words[1]!) !== page) {
        return false;
      }
      if (!addEntry(page)) return false;
      at = next;
    }
    return true;
  }

  /** The entry of `row`. */
  function addEntry(page: number): boolean {
    const entry = index.insert(row);
    if (entry === 0) return false;
    pages.add(entry, page);
    // A new record says that nothing was reported.
    if (row.reports > 0) {
      setReports(records, entry, row.reports);
      setStrength(records, entry, row.strength);
      setReportedAt(records, entry, row.firstReportedAt, row.lastReportedAt);
      setMeta(records, entry, packMeta(0, 0, row.reporters));
    }
    const words = row.contributionWords;
    // The last first: each is put at the head, and the list must be in the order in which it was
    // written. Evidence is summed in that order, and another one may round to another score.
    for (let word = 4 * (row.contributions - 1); word >= 0; word -= 4) {
      const node = contributions.add(entry, words[word]!);
      if (node === 0) return false;
      contributions.x[node] = words[word + 1]!;
      contributions.y[node] = words[word + 2]!;
      contributions.z[node] = words[word + 3]!;
    }
    settle(entry);
    return true;
  }

  return {
    contributions,
    claim,
    hasRoomFor,
    get: (family, words, length) => index.get({ family, words, length }),
    touch: (entry) => touchPage(pages.page(entry)),
    settle,
    section: { firstPage: 0, pages: entryPages, encode: encodePage, load: loadPage },
    image: () => new Map([...contributions.image(), ...pages.image()]),
    restore: (image) => contributions.restore(image) && pages.restore(image),
  };
}
