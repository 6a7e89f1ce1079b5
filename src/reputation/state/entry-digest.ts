/**
 * A sum over all entries, by which nodes find out whether their memories are equal. It is updated with each change:
 * an entry leaves the sum before it changes, and is added again when the sum is read.
 *
 * Invariant: the sum has no float, and does not depend on numbers of entries or nodes, which differ after a restart.
 * So strengths and what follows from them are left out. So is the time since which a list names an entry: a node that
 * started from an older checkpoint may not know it.
 */

import type { IpIndex } from '../../index/ip-index.ts';
import { firstReportedAtOf, lastReportedAtOf, reportsOf } from '../../index/records.ts';
import { wordCountOf } from '../../ip/address.ts';
import { createMix } from '../../storage/nodes/digests.ts';
import { type Contributions, contributionKinds, kindOf } from './contributions.ts';
import { entryPages, hasVote, type PageLists } from './entry-pages.ts';

/** States of an entry: in the sum; out of it and on the list; else on a page that was not read yet, or absent. */
const counted = 1;
const listed = 2;
const entriesPerSlice = 64;

export function createEntryDigest(options: {
  index: IpIndex;
  contributions: Contributions;
  pages: PageLists;
  entriesMax: number;
}) {
  const { index, contributions, pages } = options;
  const { records } = index;
  const states = new Uint8Array(options.entriesMax + 1);
  const sum = new Uint32Array(2);
  const mix = createMix();
  const changed: number[] = [];
  /** The first page that is not in the sum yet: entries loaded at the start are added page by page. */
  let nextPage = 0;

  function put(entry: number, sign: 1 | -1): boolean {
    const prefix = index.prefixOf(entry);
    // An entry's number keeps its prefix for a while after the entry is removed, for readers.
    if (prefix === undefined || index.get(prefix) !== entry) return false;
    mix.clear();
    mix.word(prefix.family * 256 + prefix.length);
    const words = wordCountOf(prefix.family);
    for (let word = 0; word < words; word++) mix.word(prefix.words[word]!);
    mix.word(reportsOf(records, entry));
    mix.word(firstReportedAtOf(records, entry));
    mix.word(lastReportedAtOf(records, entry));
    for (let node = contributions.first(entry); node !== 0; node = contributions.next[node]!) {
      const tag = contributions.tag[node]!;
      const votes = hasVote(tag);
      mix.word(tag);
      mix.word(votes ? contributions.newest[node]! : 0);
      mix.word(contributions.detail[node]!);
      const isFloat = kindOf(tag) === contributionKinds.rise;
      mix.word(votes ? contributions.vote[node]! : isFloat ? 0 : contributions.listed[node]!);
    }
    mix.into(sum, sign);
    return true;
  }

  /**
   * Adds the rest of a page; a single network may have 65,536 entries. Passing over those that were
   * read costs little, so a page is begun again from its start.
   * @returns true when it was read to its end
   */
  function readPage(page: number, isOver: () => boolean): boolean {
    let isCut = false;
    pages.visit(page, (entry) => {
      if (isCut || states[entry] !== 0) return;
      if (put(entry, 1)) states[entry] = counted;
      isCut = isOver();
    });
    return !isCut;
  }

  return {
    /** Must be called before the entry changes, and once it was made. */
    before(entry: number): void {
      if (entry === 0 || states[entry] === listed) return;
      if (states[entry] === counted) put(entry, -1);
      else if (pages.page(entry) >= nextPage) return;
      states[entry] = listed;
      changed.push(entry);
    },
    /** Adds what is missing. @returns false when the time was over before the sum was whole */
    settle(untilMs: number): boolean {
      let steps = 0;
      const isOver = () => ++steps % entriesPerSlice === 0 && performance.now() > untilMs;
      while (changed.length > 0) {
        if (isOver()) return false;
        const entry = changed.pop()!;
        states[entry] = put(entry, 1) ? counted : 0;
      }
      for (; nextPage < entryPages; nextPage++) {
        if (isOver() || !readPage(nextPage, isOver)) return false;
      }
      return true;
    },
    sum,
  };
}

export type EntryDigest = ReturnType<typeof createEntryDigest>;
