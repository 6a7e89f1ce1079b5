/**
 * What a report does to an address and to whoever made it, decided when the event is applied.
 *
 * An account's reports fill its contribution to an entry towards a cap: with weight
 * w = 0.5 + 1.5·trust/100 the cap is 1.5·w, and each report adds two thirds of what is missing,
 * so the first adds w. One account alone tops out at a score of 26 (new) to 70 (fully trusted).
 * An IPv6 report also counts, at half weight, for the /64 as an entry of its own: rotating
 * addresses inside a /64 fills that one contribution and no more.
 *
 * Evidence of the entry is the sum over its contributions, all decaying alike, recomputed from
 * the list each time, so that withdrawing one leaves exactly the others.
 */

import { createHash } from 'node:crypto';
import type { IpIndex } from '../index/ip-index.ts';
import { COVERING_MAX } from '../index/layout.ts';
import {
  firstReportedAtOf,
  flagsOf,
  lastReportedAtOf,
  metaOf,
  reportsOf,
  setReportedAt,
  setReports,
} from '../index/records.ts';
import { contributionKinds, kindOf, refOf, tagOf } from './contributions.ts';
import type { Entries } from './entries.ts';
import { entryFlags } from './entry-flags.ts';
import type { AddedReport, Reported } from './events.ts';
import { addressBytes } from './report-store.ts';
import { communityEvidence, halfLivesAt, strengthOf } from './score.ts';

/** The accounts behind the reports, as far as reports touch them. */
export interface Reporters {
  /** Account slot, or -1 if the journal doesn't know the account. */
  slotOf(account: string): number;
  /** w of a report applied now: 0.5 (no trust) to 2 (full trust). */
  weight(slot: number): number;
  /** Verified and old enough that its word confirms another's. */
  mayCorroborate(slot: number, at: number): boolean;
  earnAccepted(slot: number, at: number): void;
  /** @returns false when the day's cap leaves nothing */
  earnCorroborated(slot: number, at: number): boolean;
  /** A report of the account has brought an address into the index. */
  countNewAddress(slot: number, at: number): void;
  penalise(slot: number): void;
  /** Keeps in mind that a withdrawn report has earned, see `hasWithdrawn`. */
  rememberWithdrawn(slot: number, mark: number, at: number): void;
  /** Whether the account's report of the entry with this mark earned before it was withdrawn. */
  hasWithdrawn(slot: number, mark: () => number, at: number): boolean;
}

export interface ReportFold {
  add(event: AddedReport, at: number): void;
  withdraw(event: Reported & { penalty: boolean }, at: number): void;
  expire(event: Reported & { reports: number }): void;
  /** A seed list has named this entry: earlier reports of it were right. */
  corroboratedByList(entry: number, at: number): void;
  /** Reports without effect because a table was full. */
  refused(): number;
}

const dayMs = 86_400_000;
/** How long after a report another account's report confirms it. */
const corroborationMs = 7 * dayMs;
const capPerWeight = 1.5;
/** Share of what is missing to the cap that one report adds. */
const fillShare = 2 / 3;
/** IPv6 reports count for the network of this length too, */
const networkLength = 64;
/** at this share of their weight. */
const networkShare = 0.5;

/** What a report adds to a place. */
interface OneReport {
  /** Of the account. */
  readonly slot: number;
  readonly weight: number;
  /** When it was recorded, and when it happened, ms. */
  readonly at: number;
  readonly happenedAt: number;
  /** As its row shows it: seconds since 1970. */
  readonly second: number;
}

/** Exactly one prefix of the index. */
interface Place {
  readonly family: 4 | 6;
  readonly words: Uint32Array;
  readonly length: number;
}

export function createReportFold(options: {
  entries: Entries;
  index: IpIndex;
  reporters: Reporters;
}): ReportFold {
  const { entries, index, reporters } = options;
  const { contributions: c } = entries;
  const { records } = index;
  const covering = new Int32Array(COVERING_MAX);
  let refused = 0;

  function isAllowlisted(family: 4 | 6, words: Uint32Array): boolean {
    const count = index.covering(family, words, covering);
    for (let i = 0; i < count; i++) {
      if (flagsOf(metaOf(records, covering[i]!)) & entryFlags.allowlisted) return true;
    }
    return false;
  }

  /** Adds one report of `slot` to an entry; `weight` 0 records it without evidence. */
  function fill(
    entry: number,
    place: Place,
    { slot, weight, at, happenedAt, second }: OneReport,
  ): boolean {
    const tag = tagOf(contributionKinds.reports, slot);
    const node = c.find(entry, tag) || c.add(entry, tag);
    if (node === 0) {
      // An entry claimed for this report alone goes again.
      entries.settle(entry);
      return false;
    }
    const now = halfLivesAt(at);
    const isFirst = c.z[node] === 0;
    if (isFirst && reporters.hasWithdrawn(slot, () => markOf(place), at)) c.z[node] = 1;
    const held = isFirst ? 0 : communityEvidence(c.strength[node]!, now);
    // An old report adds what is left today of what it would have added then.
    const share = fillShare * 2 ** -(now - halfLivesAt(happenedAt));
    const added = Math.max(0, capPerWeight * weight - held) * share;
    // Left alone when nothing is added: another rounding must not lower it.
    if (isFirst || added > 0) c.strength[node] = strengthOf(held + added, now);
    c.y[node] = Math.max(c.y[node]!, second);
    c.z[node]! += 2;
    const first = firstReportedAtOf(records, entry);
    const last = lastReportedAtOf(records, entry);
    setReportedAt(
      records,
      entry,
      first === 0 ? second : Math.min(first, second),
      Math.max(last, second),
    );
    setReports(records, entry, reportsOf(records, entry) + 1);
    entries.settle(entry);
    return true;
  }

  /** Rewards the accounts that reported the entry before, once each. */
  function corroborate(entry: number, at: number, withinMs: number, except: number): void {
    for (let node = c.first(entry); node !== 0; node = c.next[node]!) {
      const tag = c.tag[node]!;
      if (kindOf(tag) !== contributionKinds.reports) continue;
      const slot = refOf(tag);
      const z = c.z[node]!;
      const isEarned = (z & 1) !== 0 || c.strength[node] === Number.NEGATIVE_INFINITY;
      if (slot === except || isEarned || at - c.y[node]! * 1_000 > withinMs) continue;
      if (reporters.earnCorroborated(slot, at)) c.z[node] = z | 1;
    }
  }

  function add(event: AddedReport, at: number): void {
    const { family, words } = event;
    const slot = reporters.slotOf(event.account);
    if (slot < 0) return;
    const sizeBefore = index.size();
    const entry = entries.claim(family, words, family === 4 ? 32 : 128);
    if (entry === 0) {
      refused++;
      return;
    }
    if (index.size() !== sizeBefore) reporters.countNewAddress(slot, at);
    const counts = !isAllowlisted(family, words);
    const weight = counts ? reporters.weight(slot) : 0;
    const second = secondOf(event, at);
    // The clock may have been set back: no report adds more than one of this moment.
    const report = { slot, weight, at, second, happenedAt: Math.min(at, second * 1_000) };
    if (counts && reporters.mayCorroborate(slot, at)) corroborate(entry, at, corroborationMs, slot);
    const isRecorded = fill(entry, addressOf(event), report);
    if (!isRecorded) refused++;
    if (family === 6) {
      const place = networkOf(event);
      const network = entries.claim(6, place.words, place.length);
      const half = { ...report, weight: weight * networkShare };
      if (network === 0 || !fill(network, place, half)) refused++;
    }
    if (counts && isRecorded) reporters.earnAccepted(slot, at);
  }

  function nodeOf(place: Place, slot: number): number {
    const entry = entries.get(place.family, place.words, place.length);
    return entry === 0 ? 0 : c.find(entry, tagOf(contributionKinds.reports, slot));
  }

  /** Takes so many reports of an account off an entry, with the last of them what they amount to. */
  function take(place: Place, slot: number, reports: number, evidence: 'kept' | 'shrunk'): void {
    const node = nodeOf(place, slot);
    if (node === 0) return;
    const entry = c.owner[node]!;
    entries.touch(entry);
    const held = c.z[node]! >>> 1;
    const taken = Math.min(held, reports);
    setReports(records, entry, Math.max(0, reportsOf(records, entry) - taken));
    if (taken === held) c.remove(node);
    else {
      c.z[node]! -= 2 * taken;
      if (evidence === 'shrunk') c.strength[node]! += shrinkOf(held, held - taken);
    }
    if (reportsOf(records, entry) === 0) setReportedAt(records, entry, 0, 0);
    else if (taken === held) {
      const first = firstReportedAtOf(records, entry);
      setReportedAt(records, entry, first, newestReportOf(entry));
    }
    entries.settle(entry);
  }

  /** As `take`, of reports that were taken back, not outlived: what they earned is remembered. */
  function takeBack(place: Place, slot: number, reports: number, at: number): void {
    const z = c.z[nodeOf(place, slot)]!;
    const isLast = z >>> 1 <= reports;
    if ((z & 1) !== 0 && isLast) reporters.rememberWithdrawn(slot, markOf(place), at);
    take(place, slot, reports, 'shrunk');
  }

  /** Of the accounts that still say something of it: seconds since 1970. */
  function newestReportOf(entry: number): number {
    let newest = firstReportedAtOf(records, entry);
    for (let node = c.first(entry); node !== 0; node = c.next[node]!) {
      if (kindOf(c.tag[node]!) === contributionKinds.reports) newest = Math.max(newest, c.y[node]!);
    }
    return newest;
  }

  return {
    add,
    withdraw(event, at) {
      const slot = reporters.slotOf(event.account);
      if (slot < 0) return;
      const held = c.z[nodeOf(addressOf(event), slot)]! >>> 1;
      if (held === 0) return;
      takeBack(addressOf(event), slot, held, at);
      // The /64 may hold this account's word on its other addresses too: those stay counted.
      if (event.family === 6) takeBack(networkOf(event), slot, held, at);
      if (event.penalty) reporters.penalise(slot);
    },
    expire(event) {
      const slot = reporters.slotOf(event.account);
      if (slot < 0) return;
      // What is left of the evidence after a year is nothing: it has halved 26 times.
      take(addressOf(event), slot, event.reports, 'kept');
      if (event.family === 6) take(networkOf(event), slot, event.reports, 'kept');
    },
    corroboratedByList: (entry, at) => corroborate(entry, at, Number.POSITIVE_INFINITY, -1),
    refused: () => refused,
  };
}

function secondOf(event: AddedReport, at: number): number {
  return 'reportedSecond' in event
    ? event.reportedSecond
    : Math.floor(at / 1_000) - event.ageSeconds;
}

function addressOf({ family, words }: Reported): Place {
  return { family, words, length: family === 4 ? 32 : 128 };
}

function networkOf({ words }: Reported): Place {
  return { family: 6, words: Uint32Array.of(words[0]!, words[1]!, 0, 0), length: networkLength };
}

/**
 * Reports of a moment fill 1 − (1 − `fillShare`)^n of the cap. Without some of them the others
 * would have filled less: the difference, in halvings, at most 0.
 */
function shrinkOf(reports: number, left: number): number {
  const filled = (n: number): number => 1 - (1 - fillShare) ** n;
  return Math.log2(filled(left) / filled(reports));
}

/** Below 2^48. Two places with one mark are unlikely, and cost no more than a few points. */
function markOf({ family, words, length }: Place): number {
  const hash = createHash('sha256').update(addressBytes(family, words));
  return hash.update(Uint8Array.of(length)).digest().readUIntBE(0, 6);
}
