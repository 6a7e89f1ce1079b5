/**
 * The entries of the index, together with the private data of the thread that applies the journal: the contributions
 * to each entry, and its projection page.
 *
 * An entry exists as long as a list, a rule or a report names it. `claim` comes before a change; `settle` after it
 * computes what readers see, or removes the entry if nothing is left.
 */

import { entryFlags } from '../../contracts/reputation.ts';
import type { IpIndex } from '../../index/ip-index.ts';
import { isPrefix } from '../../index/prefix.ts';
import {
  ceilingOf,
  firstReportedAtOf,
  flagsOf,
  lastReportedAtOf,
  listedByOf,
  listScoreOf,
  metaOf,
  packMeta,
  type Records,
  reportersOf,
  reportsOf,
  setListedBy,
  setListSource,
  setMeta,
  setReportedAt,
  setReporters,
  setReports,
  setStrength,
  strengthOf,
  turnOf,
  withTurn,
} from '../../index/records.ts';
import { manualEntriesList } from '../../index/trie/memory.ts';
import type { IpFamily } from '../../ip/address.ts';
import { widthOf } from '../../ip/prefix.ts';
import {
  type ArrayImage,
  bytesOf,
  type PageSection,
  restoreArray,
} from '../../storage/journal/projection.ts';
import { communityEvidence, entryScore, halfLivesAt, maliciousScore } from '../check/score.ts';
import { createNetworkRise, risingLengths } from '../votes/network-rise.ts';
import { createPeerVotes } from '../votes/peer-votes.ts';
import {
  bestCount,
  ceilingFor,
  ceilings,
  createVoteTally,
  lowestCeiling,
  type Policy,
  type VoteCount,
  voteDay,
} from '../votes/quorum.ts';
import {
  type Contributions,
  contributionKinds,
  createContributions,
  isOfLists,
  kindOf,
  refOf,
} from './contributions.ts';
import { createEntryDigest } from './entry-digest.ts';
import {
  createEntryRow,
  createPageLists,
  createPageWriter,
  entryPages,
  hasVote,
  pageOf,
  pageTag,
  readEntryRow,
} from './entry-pages.ts';

export type SettleAfter =
  | { readonly kind: 'report'; readonly nowHalfLives: number }
  | { readonly kind: 'taking_back' };

/**
 * Evidence adds up; strengths are its logarithms. Relative to the strongest nothing overflows,
 * and what is too weak to count vanishes by itself.
 */
function sumOfStrengths(contributions: Contributions, entry: number, strongest: number): number {
  if (strongest === Number.NEGATIVE_INFINITY) return strongest;
  let sum = 0;
  for (let node = contributions.first(entry); node !== 0; node = contributions.next[node]!) {
    if (kindOf(contributions.tag[node]!) !== contributionKinds.reports) continue;
    sum += 2 ** (contributions.strength[node]! - strongest);
  }
  return strongest + Math.log2(sum);
}

/**
 * Adds the nodes of lists, or the others; in older rows the two sorts are mixed. The last comes first: each is
 * put at the head, and they must be in the order in which they were written. Evidence is summed in that order, and
 * another one may round to another score.
 */
function addNodes(
  contributions: Contributions,
  entry: number,
  { contributions: count, contributionWords: words }: ReturnType<typeof createEntryRow>,
  ofLists: boolean,
): boolean {
  for (let word = 5 * (count - 1); word >= 0; word -= 5) {
    if (isOfLists(words[word]!) !== ofLists) continue;
    const node = contributions.addFirst(entry, words[word]!);
    if (node === 0) return false;
    contributions.listed[node] = words[word + 1]!;
    contributions.newest[node] = words[word + 2]!;
    contributions.detail[node] = words[word + 3]!;
    if (words[word + 4] !== 0) contributions.vote[node] = words[word + 4]!;
  }
  return true;
}

function newerList({ listTimes }: Pick<IpIndex, 'listTimes'>, one: number, other: number): number {
  return one === 0 || listTimes[other]! >= listTimes[one]! ? other : one;
}

/** Adds two amounts of evidence that are given as logarithms to 2. */
function sumOfTwo(one: number, other: number): number {
  const larger = Math.max(one, other);
  if (larger === Number.NEGATIVE_INFINITY) return larger;
  return larger + Math.log2(2 ** (one - larger) + 2 ** (other - larger));
}

/** @returns the ceiling to hold after a report; the record still has what was before */
function heldAfterReport(
  records: IpIndex['records'],
  entry: number,
  now: { readonly ceiling: number; readonly strength: number; readonly nowHalfLives: number },
): number {
  const { ceiling, strength, nowHalfLives } = now;
  const former = ceilingOf(metaOf(records, entry));
  // Nothing can be lowered: the common case, without a logarithm.
  if (former <= ceiling) return 0;
  const before = communityEvidence(strengthOf(records, entry), nowHalfLives);
  const evidence = communityEvidence(strength, nowHalfLives);
  return lowestCeiling({ ceiling, former, before, evidence });
}

/** More entries and contributions than reports at once can take: what is acknowledged must fit. */
const reportsUnderWayMax = 4_096;

/** All that an entry's contributions say, by who says it. */
const noSums = {
  flags: 0,
  /** The highest score of a list, the last list that gives it, how many lists and reports, the list loaded last. */
  listScore: 0,
  listedBy: 0,
  listReports: 0,
  listSource: 0,
  /** The operator's entry; 0: there is none. */
  manualScore: 0,
  manualSetSecond: 0,
  reporters: 0,
  /** Evidence of the strongest reporter, a logarithm. */
  strongest: Number.NEGATIVE_INFINITY,
  peers: 0,
  /** The node of what the network has risen to; 0: there is none. */
  rising: 0,
};

type Sums = typeof noSums;

/** Adds up what the contributions say, each kind apart from all others. */
function addUp(sums: Sums, contributions: Contributions, index: IpIndex, entry: number): void {
  Object.assign(sums, noSums);
  for (let node = contributions.first(entry); node !== 0; node = contributions.next[node]!) {
    const tag = contributions.tag[node]!;
    const score = contributions.listed[node]! & 0xff;
    switch (kindOf(tag)) {
      case contributionKinds.seed:
        sums.flags |= entryFlags.seeded;
        if (score >= maliciousScore) sums.flags |= entryFlags.listed;
        if (score >= sums.listScore) sums.listedBy = refOf(tag);
        sums.listScore = Math.max(sums.listScore, score);
        sums.listReports += 1 + contributions.detail[node]!;
        sums.listSource = newerList(index, sums.listSource, refOf(tag));
        break;
      case contributionKinds.manual:
        sums.flags |= entryFlags.seeded;
        sums.manualScore = score;
        sums.manualSetSecond = contributions.newest[node]!;
        sums.listReports += 1;
        break;
      case contributionKinds.anon:
        sums.flags |= entryFlags.anonymousExit;
        break;
      case contributionKinds.allow:
        sums.flags |= entryFlags.allowlisted;
        break;
      case contributionKinds.good:
        sums.flags |= entryFlags.knownGood;
        break;
      case contributionKinds.reports:
        sums.reporters++;
        sums.strongest = Math.max(sums.strongest, contributions.strength[node]!);
        break;
      case contributionKinds.peer:
        sums.peers++;
        break;
      case contributionKinds.rise:
        sums.rising = node;
        break;
    }
  }
}

/** Counts the operator's entry as a list that was loaded when the newest such entry was set. */
function addManualEntry(sums: Sums, { listTimes }: IpIndex): void {
  const { manualScore, manualSetSecond, listSource } = sums;
  if (manualSetSecond !== 0) {
    listTimes[manualEntriesList] = Math.max(listTimes[manualEntriesList]!, manualSetSecond);
    const isListNewer = listSource !== 0 && listTimes[listSource]! > manualSetSecond;
    if (!isListNewer) sums.listSource = manualEntriesList;
  }
  // The operator said it by hand: no list stands for it.
  if (manualScore >= Math.max(1, Math.min(sums.listScore, maliciousScore)))
    sums.listedBy = manualEntriesList;
  sums.listScore = Math.max(sums.listScore, manualScore);
}

/**
 * Writes a record, with the next turn where something else makes the entry malicious than before. Lists and
 * reports that make nothing malicious leave the turn, or the feeds would tell all bouncers of the entry once
 * more. The former values are all read before the first is written.
 */
function writeRecord(
  records: Records,
  entry: number,
  { listScore, flags, listReports, listSource, listedBy, reporters }: Sums,
  { ceiling, strength }: { readonly ceiling: number; readonly strength: number },
): void {
  const former = metaOf(records, entry);
  const halfLives = halfLivesAt(lastReportedAtOf(records, entry) * 1_000);
  const isByReports = (ceiling: number, reported: number) =>
    ceiling >= maliciousScore && entryScore(0, ceiling, reported, halfLives) >= maliciousScore;
  const meta = packMeta(listScore, flags, ceiling, listReports);
  const isListed = listScoreOf(meta) >= maliciousScore;
  const isSame =
    (!isListed || listedByOf(records, entry) === listedBy) &&
    ((flagsOf(former) ^ flagsOf(meta)) & entryFlags.listed) === 0 &&
    listScoreOf(former) >= maliciousScore === isListed &&
    isByReports(ceilingOf(former), strengthOf(records, entry)) ===
      isByReports(ceilingOf(meta), Math.fround(strength));
  setMeta(records, entry, withTurn(meta, turnOf(former) + (isSame ? 0 : 1)));
  setListSource(records, entry, listSource);
  setListedBy(records, entry, listedBy);
  setReporters(records, entry, reporters);
  setStrength(records, entry, strength);
}

/** Writes the contributions of an entry, as `readEntryRow` reads them. */
function writeNodes(
  page: ReturnType<typeof createPageWriter>,
  { first, tag, listed, newest, detail, vote, next }: Contributions,
  entry: number,
): void {
  let nodes = 0;
  for (let n = first(entry); n !== 0; n = next[n]!) nodes++;
  page.varint(nodes);
  for (let n = first(entry); n !== 0; n = next[n]!) {
    page.u32(tag[n]!);
    page.u32(listed[n]!);
    page.u32(newest[n]!);
    page.varint(detail[n]!);
    if (hasVote(tag[n]!)) page.u32(vote[n]!);
  }
}

export function createEntries(options: {
  index: IpIndex;
  /** Largest entry number. */
  entriesMax: number;
  contributionsMax: number;
  touchPage: (page: number) => void;
  /** Returns the present policy of votes. */
  policy: () => Policy;
  /** Called before the terms or the budget of a peer change. */
  touchPeers?: { readonly terms: () => void; readonly budget: (peer: number) => void };
  /** True when other nodes apply the same journal and compare digests. */
  isDigested?: boolean;
  /** Entries and contributions kept free for reports that are committed and not yet applied. */
  reserve?: number;
}) {
  const { index, touchPage, policy } = options;
  const { records } = index;
  const contributions = createContributions(options.entriesMax, options.contributionsMax);
  const peers = createPeerVotes({
    contributions,
    contributionsMax: options.contributionsMax,
    policy,
    touch: options.touchPeers?.budget ?? (() => {}),
    touchTerms: options.touchPeers?.terms ?? (() => {}),
  });
  const pages = createPageLists(options.entriesMax);
  const digest = options.isDigested
    ? createEntryDigest({ index, contributions, pages, entriesMax: options.entriesMax })
    : undefined;
  const count = createVoteTally();
  /** Ceilings above those of the present quorum; see votes/quorum.ts. */
  const held = new Uint8Array(options.entriesMax + 1);
  /** Largest entry number that ever held one. */
  let heldTop = 0;
  /** Used again for each entry: a start adds up a million. */
  const sums = { ...noSums };
  const row = createEntryRow();
  const page = createPageWriter();
  /** Used again for each row, so that a million of them are no work for the garbage collector. */
  const sought = { family: 4 as IpFamily, words: row.words, length: 0 };

  /**
   * Returns the entry of exactly this prefix, made if absent, and marks its page as changing. 0: the index is
   * full.
   */
  function claim(family: IpFamily, words: Uint32Array, length: number): number {
    const page = pageOf(family, words[0]!, words[1]!);
    touchPage(page);
    sought.family = family;
    sought.words = words;
    sought.length = length;
    const before = index.size();
    const entry = index.insert(sought);
    if (index.size() !== before) pages.add(entry, page);
    digest?.before(entry);
    return entry;
  }

  /** Returns true when a report of the address can be recorded after those that are under way. */
  function hasRoomFor(family: IpFamily, words: Uint32Array): boolean {
    const reserve = options.reserve ?? reportsUnderWayMax;
    if (contributions.count() + reserve > options.contributionsMax) return false;
    if (index.size() + reserve <= options.entriesMax) return true;
    return index.get({ family, words, length: widthOf(family) }) !== 0;
  }

  /** Adds up the votes of the 30 days up to the entry's last report. Returns the same object each time. */
  function voteCountOf(entry: number): Readonly<VoteCount> {
    peers.count(count, entry, voteDay(peers.newestOn(entry, lastReportedAtOf(records, entry))));
    return count.counts;
  }

  /** Writes what the contributions add up to into the record; removes an entry that has none. */
  function publish(entry: number, after?: SettleAfter): void {
    if (contributions.first(entry) === 0 && reportsOf(records, entry) === 0) {
      const prefix = index.prefixOf(entry);
      pages.remove(entry);
      held[entry] = 0;
      if (prefix !== undefined) index.remove(prefix);
      return;
    }
    addUp(sums, contributions, index, entry);
    addManualEntry(sums, index);
    const { reporters, strongest, rising } = sums;
    let strength = reporters < 2 ? strongest : sumOfStrengths(contributions, entry, strongest);
    if (rising !== 0 && reporters > 0) strength += contributions.strength[rising]!;
    if (sums.peers > 0) strength = sumOfTwo(strength, peers.evidenceOf(entry));
    const isReported = reporters > 0 || sums.peers > 0;
    let ceiling = isReported ? ceilingOfEntry(entry, sums.listScore, strength, after) : 0;
    if (!isReported) held[entry] = 0;
    // A group that votes is one more that names the address, as a list is: the ceiling has just counted them.
    if (sums.peers > 0) sums.listReports += count.counts.groups;
    // An IPv4 /24: nobody reports it, its hosts made that of it.
    if (rising !== 0 && refOf(contributions.tag[rising]!) === risingLengths[4]) {
      strength = contributions.strength[rising]!;
      ceiling = ceilings.some;
    }
    writeRecord(records, entry, sums, { ceiling, strength });
  }

  /** Updates the time of the newest manual entry, after one was removed. */
  function updateManualTime(): void {
    const { manualNodes, newest } = contributions;
    const latest = [...manualNodes].reduce((time, node) => Math.max(time, newest[node]!), 0);
    index.listTimes[manualEntriesList] = latest;
  }

  /**
   * Returns the ceiling of the present quorum, or a higher one held from before. The record still
   * has the former one.
   */
  function ceilingOfEntry(
    entry: number,
    listScore: number,
    strength: number,
    after: SettleAfter | undefined,
  ): number {
    const { ceiling } = ceilingFor(voteCountOf(entry), listScore, policy());
    if (after?.kind === 'report') {
      hold(entry, heldAfterReport(records, entry, { ceiling, strength, ...after }));
    } else if (after?.kind === 'taking_back' && held[entry] !== 0) {
      const best = ceilingFor(bestCount(contributions, entry, peers), listScore, policy());
      hold(entry, best.ceiling > ceiling ? Math.min(held[entry]!, best.ceiling) : 0);
    }
    return Math.max(ceiling, held[entry]!);
  }

  function hold(entry: number, ceiling: number): void {
    if (held[entry] === ceiling) return;
    held[entry] = ceiling;
    if (entry > heldTop) heldTop = entry;
  }

  function encodePage(number: number): Uint8Array {
    page.clear();
    pages.visit(number, (entry) => {
      const prefix = index.prefixOf(entry);
      if (prefix === undefined) throw new Error(`entry ${entry} of page ${number} has no prefix`);
      const reports = reportsOf(records, entry);
      page.prefix(prefix, reports === 0 ? held[entry]! : 0);
      page.varint(reports);
      if (reports > 0) {
        page.f32(strengthOf(records, entry));
        page.u16(reportersOf(records, entry));
        page.u32(firstReportedAtOf(records, entry));
        page.u32(lastReportedAtOf(records, entry));
        page.u8(held[entry]!);
      }
      writeNodes(page, contributions, entry);
    });
    return page.copy();
  }

  function loadPage(page: number, bytes: Uint8Array): boolean {
    if (bytes.length > 0 && bytes[0] !== pageTag) return false;
    for (let at = 1; at < bytes.length; ) {
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
      setReporters(records, entry, row.reporters);
    }
    if (row.heldCeiling !== 0) hold(entry, row.heldCeiling);
    const add = (ofLists: boolean) => addNodes(contributions, entry, row, ofLists);
    if (!add(false) || !add(true)) return false;
    publish(entry);
    return true;
  }

  /** Marks the entry's page as changing. Must come before the change. */
  function touch(entry: number): void {
    touchPage(pages.page(entry));
    digest?.before(entry);
  }

  const ofPages = { firstPage: 0, pages: entryPages };
  const section: PageSection = { ...ofPages, encode: encodePage, load: loadPage };
  const rise = createNetworkRise({ index, contributions, claim, touch, publish, policy });
  return {
    contributions,
    /** The votes of peers, and their budgets. */
    peers,
    /**
     * Charges the votes of the entry's peers that lift its ceiling. It comes before `settle`. @param at the
     * event's own time, ms
     */
    reviewPeers: (entry: number, at: number) =>
      peers.review(entry, lastReportedAtOf(records, entry), at),
    claim,
    hasRoomFor,
    /** Returns true while a peer's word may bring an address that nobody else names: a third is kept for ours. */
    hasRoomForPeers: () => index.size() <= (2 / 3) * options.entriesMax,
    /** Returns the entry of exactly this prefix, 0 for none. */
    get: (family: IpFamily, words: Uint32Array, length: number) =>
      index.get({ family, words, length }),
    touch,
    /**
     * Publishes what the contributions add up to; removes an entry that has none. After a
     * report no score is lower than before (`nowHalfLives`: of the report); after reports were taken
     * back, nothing is held that was reached with them.
     */
    settle: rise.settle,
    /** Takes back what a network has risen to, once the policy says that none does. */
    sink: rise.sink,
    updateManualTime,
    voteCountOf,
    /** Returns the ceiling that the entry keeps though its quorum has lapsed, 0 for none. */
    heldCeiling: (entry: number) => held[entry]!,
    /** Present when `isDigested` was set. */
    digest,
    section,
    image: (): ArrayImage =>
      new Map([
        ...contributions.image(),
        ...pages.image(),
        ['held.ceilings', bytesOf(held.subarray(0, heldTop + 1))],
      ]),
    /**
     * Loads an image into an empty state, over an index from the same snapshot. @returns false when it is
     * unusable
     */
    restore(image: ArrayImage): boolean {
      if (!restoreArray(image, 'held.ceilings', held)) return false;
      heldTop = image.get('held.ceilings')!.byteLength - 1;
      if (!contributions.restore(image)) return false;
      updateManualTime();
      return pages.restore(image);
    },
  };
}

export type Entries = ReturnType<typeof createEntries>;
