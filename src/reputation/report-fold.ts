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
import type { Reported } from './events.ts';
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
  penalise(slot: number): void;
}

export interface ReportFold {
  add(event: Reported & { ageSeconds: number }, at: number): void;
  withdraw(event: Reported & { penalty: boolean }): void;
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
    slot: number,
    weight: number,
    at: number,
    happenedAt: number,
  ): boolean {
    const tag = tagOf(contributionKinds.reports, slot);
    const node = c.find(entry, tag) || c.add(entry, tag);
    if (node === 0) return false;
    const now = halfLivesAt(at);
    const isFirst = c.z[node] === 0;
    const held = isFirst ? 0 : communityEvidence(c.strength[node]!, now);
    // An old report adds what is left today of what it would have added then.
    const share = fillShare * 2 ** -(now - halfLivesAt(happenedAt));
    const added = Math.max(0, capPerWeight * weight - held) * share;
    // Left alone when nothing is added: another rounding must not lower it.
    if (isFirst || added > 0) c.strength[node] = strengthOf(held + added, now);
    const seconds = Math.floor(happenedAt / 1_000);
    c.y[node] = Math.max(c.y[node]!, seconds);
    c.z[node]! += 2;
    const first = firstReportedAtOf(records, entry);
    const last = lastReportedAtOf(records, entry);
    setReportedAt(
      records,
      entry,
      first === 0 ? seconds : Math.min(first, seconds),
      Math.max(last, seconds),
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

  function add(event: Reported & { ageSeconds: number }, at: number): void {
    const { family, words } = event;
    const slot = reporters.slotOf(event.account);
    if (slot < 0) return;
    const entry = entries.claim(family, words, family === 4 ? 32 : 128);
    if (entry === 0) {
      refused++;
      return;
    }
    const happenedAt = at - event.ageSeconds * 1_000;
    const counts = !isAllowlisted(family, words);
    const weight = counts ? reporters.weight(slot) : 0;
    if (counts && reporters.mayCorroborate(slot, at)) corroborate(entry, at, corroborationMs, slot);
    if (!fill(entry, slot, weight, at, happenedAt)) refused++;
    if (family === 6) {
      const network = entries.claim(6, networkOf(words), networkLength);
      if (network === 0 || !fill(network, slot, weight * networkShare, at, happenedAt)) refused++;
    }
    if (counts) reporters.earnAccepted(slot, at);
  }

  /** Takes `reports` of an account off an entry; all of them, evidence too, when undefined. */
  function take(
    family: 4 | 6,
    words: Uint32Array,
    length: number,
    slot: number,
    reports?: number,
  ): void {
    const entry = entries.get(family, words, length);
    const node = entry === 0 ? 0 : c.find(entry, tagOf(contributionKinds.reports, slot));
    if (node === 0) return;
    entries.touch(entry);
    const held = c.z[node]! >>> 1;
    const taken = reports === undefined ? held : Math.min(held, reports);
    setReports(records, entry, Math.max(0, reportsOf(records, entry) - taken));
    if (taken === held) c.remove(node);
    else c.z[node]! -= 2 * taken;
    if (reportsOf(records, entry) === 0) setReportedAt(records, entry, 0, 0);
    else if (taken === held) {
      const first = firstReportedAtOf(records, entry);
      setReportedAt(records, entry, first, newestReportOf(entry));
    }
    entries.settle(entry);
  }

  /** Of the accounts that still say something of it: seconds since 1970. */
  function newestReportOf(entry: number): number {
    let newest = firstReportedAtOf(records, entry);
    for (let node = c.first(entry); node !== 0; node = c.next[node]!) {
      if (kindOf(c.tag[node]!) === contributionKinds.reports) newest = Math.max(newest, c.y[node]!);
    }
    return newest;
  }

  /** How many reports the account's contribution to this address stands for. */
  function heldBy(event: Reported, slot: number): number {
    const entry = entries.get(event.family, event.words, event.family === 4 ? 32 : 128);
    const node = entry === 0 ? 0 : c.find(entry, tagOf(contributionKinds.reports, slot));
    return node === 0 ? 0 : c.z[node]! >>> 1;
  }

  return {
    add,
    withdraw(event) {
      const slot = reporters.slotOf(event.account);
      if (slot < 0) return;
      const held = heldBy(event, slot);
      if (held === 0) return;
      take(event.family, event.words, event.family === 4 ? 32 : 128, slot);
      // The /64 may hold this account's word on its other addresses too: those stay counted.
      if (event.family === 6) take(6, networkOf(event.words), networkLength, slot, held);
      if (event.penalty) reporters.penalise(slot);
    },
    expire(event) {
      const slot = reporters.slotOf(event.account);
      if (slot < 0) return;
      take(event.family, event.words, event.family === 4 ? 32 : 128, slot, event.reports);
      if (event.family === 6) take(6, networkOf(event.words), networkLength, slot, event.reports);
    },
    corroboratedByList: (entry, at) => corroborate(entry, at, Number.POSITIVE_INFINITY, -1),
    refused: () => refused,
  };
}

function networkOf(words: Uint32Array): Uint32Array {
  return Uint32Array.of(words[0]!, words[1]!, 0, 0);
}
