/**
 * The reducer of reports: decides what a report does to an address and to its account when the event is applied.
 *
 * An account's reports fill its contribution to an entry towards a cap: with weight w, by its
 * standing and trust, the cap is 1.5·w, and each report adds two thirds of what is missing, so the
 * first adds w. How far the evidence of all goes is another matter: see quorum.ts.
 * An IPv6 report also counts, at half weight, for the /64 as an entry of its own: rotating
 * addresses inside a /64 fills that one contribution and no more. Not so under 64:ff9b::/96, where one
 * /64 has all of IPv4: such an address says nothing of others, and is known good with its IPv4 one.
 *
 * Evidence of the entry is the sum over its contributions, all decaying alike, recomputed from
 * the list each time, so that withdrawing one leaves exactly the others.
 *
 * Reports of an allowed or known-good address are counted and have no other effect.
 */

import { createHash } from 'node:crypto';
import { entryFlags } from '../../contracts/reputation.ts';
import type { IpIndex } from '../../index/ip-index.ts';
import type { IndexPrefix } from '../../index/prefix.ts';
import {
  firstReportedAtOf,
  flagsOf,
  lastReportedAtOf,
  listScoreOf,
  metaOf,
  reportsOf,
  setReportedAt,
  setReports,
} from '../../index/records.ts';
import { COVERING_MAX } from '../../index/trie/layout.ts';
import type { IpFamily } from '../../ip/address.ts';
import { widthOf } from '../../ip/prefix.ts';
import { nat64Address } from '../../ip/special.ts';
import { communityEvidence, halfLivesAt, strengthOfEvidence } from '../check/score.ts';
import type { Refusals } from '../reports/refusals.ts';
import { addressBytes } from '../reports/store/report-rows.ts';
import { type Policy, unitsOf, voteNetworkOf } from '../votes/quorum.ts';
import {
  chargedPart,
  confirmedWithinMs,
  createConfirmation,
  createVotes,
  type Reporters,
  type Vote,
  type VoteRequest,
} from '../votes/votes.ts';
import { contributionKinds, countIn, kindOf, reportDetail, tagOf } from './contributions.ts';
import type { Entries } from './entries.ts';
import type { AddedReport, ExpiredReports, ReportOrigin, WithdrawnReports } from './events.ts';

/** The cap of one account's evidence on an entry, per unit of its weight. */
export const capPerWeight = 1.5;
/** Share of what is missing to the cap that one report adds. */
export const fillShare = 2 / 3;
/** IPv6 reports count for the network of this length too, */
const networkLength = 64;
/** at this share of their weight. */
const networkShare = 0.5;
/** Reports of one account and address that are counted, at most: 22 bits. */
const reportsMax = 0x3f_ffff;

/** The part of a report that changes an entry. */
interface OneReport {
  /** Slot of the account. */
  readonly slot: number;
  readonly weight: number;
  /** The times at which it was recorded and at which it happened, ms since 1970. */
  readonly at: number;
  readonly happenedAt: number;
  /** The time in the report's row, seconds since 1970. */
  readonly second: number;
  readonly vote: Vote | undefined;
}

/** The state of an address over all entries that cover it. */
interface Cover {
  readonly isImmune: boolean;
  /** Highest score of a list. */
  readonly listScore: number;
}

type ReportStart = Pick<VoteRequest, 'slot' | 'rank' | 'at' | 'second' | 'listScore'>;

export function createReportReducer(options: {
  entries: Entries;
  index: IpIndex;
  reporters: Reporters;
  policy: () => Policy;
  refusals: Refusals;
}) {
  const { entries, index, reporters, refusals } = options;
  const { contributions } = entries;
  const { records } = index;
  const covering = new Int32Array(COVERING_MAX);
  const confirmation = createConfirmation({ entries, reporters, prefixOf: index.prefixOf });
  const votes = createVotes({ contributions, reporters, policy: options.policy });

  function coverOf(family: IpFamily, words: Uint32Array): Cover {
    const count = index.covering(family, words, covering);
    let flags = 0;
    let listScore = 0;
    for (let i = 0; i < count; i++) {
      const meta = metaOf(records, covering[i]!);
      flags |= flagsOf(meta);
      listScore = Math.max(listScore, listScoreOf(meta));
    }
    const isImmune = (flags & (entryFlags.allowlisted | entryFlags.knownGood)) !== 0;
    const stoodFor = nat64Address(family, words);
    if (isImmune || stoodFor === undefined) return { isImmune, listScore };
    return { isImmune: coverOf(4, stoodFor).isImmune, listScore };
  }

  /** Adds one report of `slot` to an entry; `weight` 0 records it without evidence. */
  function fill(
    entry: number,
    prefix: IndexPrefix,
    { slot, weight, at, happenedAt, second, vote }: OneReport,
  ): boolean {
    const tag = tagOf(contributionKinds.reports, slot);
    const node = contributions.find(entry, tag) || addNode(entry, tag);
    if (node === 0) {
      // This removes an entry that was claimed for this report only.
      entries.settle(entry);
      return false;
    }
    const now = halfLivesAt(at);
    const isFirst = countIn(contributions.detail[node]!) === 0;
    if (isFirst && reporters.hasWithdrawn(slot, () => addressHashOf(prefix), at)) {
      contributions.detail[node]! |= reportDetail.confirmed;
    }
    const held = isFirst ? 0 : communityEvidence(contributions.strength[node]!, now);
    // An old report adds what is left today of what it would have added then.
    const share = fillShare * 2 ** -(now - halfLivesAt(happenedAt));
    const added = Math.max(0, capPerWeight * weight - held) * share;
    // Left alone when nothing is added: another rounding must not lower it.
    if (isFirst || added > 0) contributions.strength[node] = strengthOfEvidence(held + added, now);
    contributions.newest[node] = Math.max(contributions.newest[node]!, second);
    if (countIn(contributions.detail[node]!) < reportsMax)
      contributions.detail[node]! += reportDetail.report;
    if (vote !== undefined) putVote(node, vote);
    const first = firstReportedAtOf(records, entry);
    const last = lastReportedAtOf(records, entry);
    setReportedAt(
      records,
      entry,
      first === 0 ? second : Math.min(first, second),
      Math.max(last, second),
    );
    setReports(records, entry, reportsOf(records, entry) + 1);
    entries.reviewPeers(entry, at);
    entries.settle(entry, { kind: 'report', nowHalfLives: now });
    return true;
  }

  /** Adds a node, with the account's rank among those who reported the entry. */
  function addNode(entry: number, tag: number): number {
    let rank = 1;
    for (
      let node = contributions.first(entry);
      node !== 0 && rank < reportDetail.rankMax;
      node = contributions.next[node]!
    ) {
      if (kindOf(contributions.tag[node]!) === contributionKinds.reports) rank++;
    }
    const node = contributions.add(entry, tag);
    if (node !== 0) contributions.detail[node] = rank << reportDetail.rankShift;
    return node;
  }

  function putVote(node: number, { units, vote, isCharged }: Vote): void {
    contributions.vote[node] = vote;
    const kept = contributions.detail[node]! & ~(reportDetail.unitsMask | reportDetail.charged);
    contributions.detail[node] =
      (kept | (units << reportDetail.unitsShift) | (isCharged ? reportDetail.charged : 0)) >>> 0;
  }

  function voteOf(
    { network, categories }: AddedReport,
    entry: number,
    { slot, rank, at, second, listScore }: ReportStart,
  ): Vote | undefined {
    const node = contributions.find(entry, tagOf(contributionKinds.reports, slot));
    return votes.castVote(node, { slot, rank, at, second, network, categories, listScore });
  }

  /** @returns true when the report stands on the address now */
  function add(event: AddedReport, at: number): boolean {
    const { family, words } = event;
    const slot = reporters.slotOf(event.account);
    if (slot < 0) return false;
    const sizeBefore = index.size();
    const entry = entries.claim(family, words, widthOf(family));
    if (entry === 0) {
      refusals.count('reports');
      return false;
    }
    if (index.size() !== sizeBefore) reporters.countNewAddress(slot, at);
    const cover = coverOf(family, words);
    const counts = !cover.isImmune;
    const rank = reporters.rank(slot, at);
    const second = event.reportedSecond;
    const { listScore } = cover;
    const start = { slot, rank, at, second, listScore };
    const vote = counts ? voteOf(event, entry, start) : undefined;
    if (vote !== undefined && vote.units >= unitsOf.member) {
      confirmation.confirm(entry, at, confirmedWithinMs.account, slot);
    }
    const weight = counts ? reporters.weight(slot, rank) : 0;
    // The clock may have been set back: no report adds more than a report of now.
    const report = { slot, weight, at, second, happenedAt: Math.min(at, second * 1_000), vote };
    const isRecorded = fill(entry, addressOf(event), report);
    if (!isRecorded) refusals.count('reports');
    if (family === 6 && nat64Address(family, words) === undefined) {
      const prefix = networkOf(event);
      const network = entries.claim(6, prefix.words, prefix.length);
      const half = { ...report, weight: weight * networkShare, vote: uncharged(vote) };
      if (network === 0 || !fill(network, prefix, half)) refusals.count('reports');
    }
    if (counts && isRecorded) reporters.earnAccepted(slot, at);
    return isRecorded;
  }

  function nodeOf(prefix: IndexPrefix, slot: number): number {
    const entry = entries.get(prefix.family, prefix.words, prefix.length);
    return entry === 0 ? 0 : contributions.find(entry, tagOf(contributionKinds.reports, slot));
  }

  /** Removes reports of an account from an entry; with the last one its evidence is removed. */
  function take(
    prefix: IndexPrefix,
    slot: number,
    reports: number,
    evidence: 'kept' | 'shrunk',
  ): void {
    const node = nodeOf(prefix, slot);
    if (node === 0) return;
    const entry = contributions.owner[node]!;
    entries.touch(entry);
    const held = countIn(contributions.detail[node]!);
    const taken = Math.min(held, reports);
    setReports(records, entry, Math.max(0, reportsOf(records, entry) - taken));
    if (taken === held) contributions.remove(node);
    else {
      contributions.detail[node]! -= taken * reportDetail.report;
      if (evidence === 'shrunk') contributions.strength[node]! += shrinkOf(held, held - taken);
    }
    if (reportsOf(records, entry) === 0) setReportedAt(records, entry, 0, 0);
    else if (taken === held) {
      const first = firstReportedAtOf(records, entry);
      setReportedAt(records, entry, first, newestReportOf(entry));
    }
    entries.settle(entry, evidence === 'shrunk' ? { kind: 'taking_back' } : undefined);
  }

  /**
   * Does the same as `take` for withdrawn reports, as opposed to expired ones: the points that they earned are
   * remembered.
   */
  function retract(
    prefix: IndexPrefix,
    slot: number,
    { reports, at, isPaid }: { reports: number; at: number; isPaid: boolean },
  ): void {
    const node = nodeOf(prefix, slot);
    if (node === 0) return;
    entries.touch(contributions.owner[node]!);
    const detail = contributions.detail[node]!;
    const isLast = countIn(detail) <= reports;
    if ((detail & reportDetail.confirmed) !== 0 && isLast)
      reporters.rememberWithdrawn(slot, addressHashOf(prefix), at);
    confirmation.retract(node, at);
    if ((detail & reportDetail.charged) !== 0 && !isPaid) {
      reporters.refund(slot, chargedPart(contributions.vote[node]!, at), at);
    }
    // Only older reports of an address are left; those of a /64 may be as new as the ones that go.
    if (prefix.length !== networkLength) {
      contributions.vote[node] = 0;
      contributions.detail[node]! &= ~(reportDetail.unitsMask | reportDetail.charged);
    }
    take(prefix, slot, reports, 'shrunk');
  }

  /** Returns the time of the newest report that is left, seconds since 1970. */
  function newestReportOf(entry: number): number {
    let newest = firstReportedAtOf(records, entry);
    for (let node = contributions.first(entry); node !== 0; node = contributions.next[node]!) {
      if (kindOf(contributions.tag[node]!) === contributionKinds.reports)
        newest = Math.max(newest, contributions.newest[node]!);
    }
    return newest;
  }

  return {
    add,
    withdraw(event: WithdrawnReports, at: number): void {
      const slot = reporters.slotOf(event.account);
      if (slot < 0) return;
      const node = nodeOf(addressOf(event), slot);
      if (node === 0) return;
      const held = Math.min(
        countIn(contributions.detail[node]!),
        event.reports ?? Number.POSITIVE_INFINITY,
      );
      if (held === 0) return;
      // The /64 may hold this account's reports of its other addresses too: those stay counted, and
      // while its vote stays there, the address's charge for it is not given back.
      let isPaid = false;
      if (event.family === 6) {
        const network = networkOf(event);
        retract(network, slot, { reports: held, at, isPaid });
        const left = nodeOf(network, slot);
        isPaid = left !== 0 && contributions.vote[left] !== 0;
      }
      retract(addressOf(event), slot, { reports: held, at, isPaid });
      if (event.penalty) reporters.penalise(slot);
    },
    expire(event: ExpiredReports): void {
      const slot = reporters.slotOf(event.account);
      if (slot < 0) return;
      // After a year nothing is left of the evidence: it has halved 26 times.
      take(addressOf(event), slot, event.reports, 'kept');
      if (event.family === 6) take(networkOf(event), slot, event.reports, 'kept');
    },
    /** Returns the network of the account's vote on an address; 0: it has none. */
    networkOfVote(account: string, family: IpFamily, words: Uint32Array): number {
      const slot = reporters.slotOf(account);
      const node = slot < 0 ? 0 : nodeOf({ family, words, length: widthOf(family) }, slot);
      return node === 0 ? 0 : voteNetworkOf(contributions.vote[node]!);
    },
    /** Returns true for an address on which no report and no peer's word has an effect. */
    isImmune: (family: IpFamily, words: Uint32Array): boolean => coverOf(family, words).isImmune,
    /** Confirms the earlier reports of an entry that a seed list has named. */
    confirmedByList: (entry: number, at: number): void =>
      confirmation.confirm(entry, at, confirmedWithinMs.list, -1),
    /** Counts votes that did not count because their account's budget was used up. */
    refusedVotes: votes.refused,
  };
}

export type ReportReducer = ReturnType<typeof createReportReducer>;

/** Makes the vote free for the /64: the address has paid for it. */
function uncharged(vote: Vote | undefined): Vote | undefined {
  return vote === undefined ? undefined : { ...vote, isCharged: false };
}

function addressOf({ family, words }: ReportOrigin): IndexPrefix {
  return { family, words, length: widthOf(family) };
}

function networkOf({ words }: ReportOrigin): IndexPrefix {
  return { family: 6, words: Uint32Array.of(words[0]!, words[1]!, 0, 0), length: networkLength };
}

/**
 * Reports of a moment fill 1 − (1 − `fillShare`)^n of the cap. Without some of them the others
 * would have filled less: the difference, in halvings, at most 0.
 */
export function shrinkOf(reports: number, left: number): number {
  const filled = (n: number): number => 1 - (1 - fillShare) ** n;
  return Math.log2(filled(left) / filled(reports));
}

/**
 * Returns a number below 2^48 for a prefix. Two prefixes with one number are unlikely, and cost a
 * few points at most.
 */
function addressHashOf({ family, words, length }: IndexPrefix): number {
  const hash = createHash('sha256').update(addressBytes(family, words));
  return hash.update(Uint8Array.of(length)).digest().readUIntBE(0, 6);
}
