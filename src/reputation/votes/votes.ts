/**
 * Decides which report carries a vote, and what that costs its account.
 *
 * A vote lets evidence go further (quorum.ts), so it is scarce: on an address that no list rates
 * as malicious it is charged to the account's budget, and given back when somebody confirms it.
 * Renewed later it is charged what has come free since. Without budget the report counts as evidence
 * and the vote does not.
 *
 * A report is confirmed when a list, staff or a member names an address that others had reported before: these
 * get credit, which makes standing, and the charge of their open votes back. Accounts that anybody can make
 * confirm nothing. The first reporter of an address gets half of the points, the second a quarter, and so on:
 * more accounts gain nothing. A confirmation is taken back with the vote that gave it, unless a list or
 * another vouched account still supports it.
 */

import type { Rank } from '../../access/quota/points.ts';
import { dayMs } from '../../core/time.ts';
import type { IndexPrefix } from '../../index/prefix.ts';
import { maliciousScore } from '../check/score.ts';
import {
  type Contributions,
  contributionKinds,
  kindOf,
  rankIn,
  refOf,
  reportDetail,
  unitsIn,
} from '../state/contributions.ts';
import type { Entries } from '../state/entries.ts';
import { voteNetworkNumber } from './peer-votes.ts';
import {
  isSpoofable,
  type Policy,
  packVote,
  unitsOf,
  voteDay,
  voteDayOf,
  voteDays,
} from './quorum.ts';

/** The accounts behind the reports, as far as the reducer of reports touches them. */
export interface Reporters {
  /** Returns the account's slot, or -1 if the journal doesn't know the account. */
  slotOf(account: string): number;
  /** Returns the account's standing at `at` (ms). */
  rank(slot: number, at: number): Rank;
  /** Returns the evidence that a first report adds: 0.5 (newcomer, no trust) to 6 (staff). */
  weight(slot: number, rank: Rank): number;
  earnAccepted(slot: number, at: number): void;
  /**
   * Confirms a report of the account.
   * @param rank 1 for the first account that reported the address
   * @returns true when it earned its points; undefined when it can't be counted
   */
  confirm(slot: number, rank: number, at: number): boolean | undefined;
  /** Undoes a confirmation, by what it gave at most. `reportedAt` in ms. */
  unconfirm(
    slot: number,
    confirmed: { readonly rank: number; readonly isPaid: boolean; readonly reportedAt: number },
    at: number,
  ): void;
  /** Charges an open vote, or a part of one. @returns false when the budget does not allow it */
  charge(slot: number, cost: number, base: number, at: number): boolean;
  refund(slot: number, cost: number, at: number): void;
  /** Counts an address that a report of the account has brought into the index. */
  countNewAddress(slot: number, at: number): void;
  penalise(slot: number): void;
  /** Records that a withdrawn report had earned points, see `hasWithdrawn`. */
  rememberWithdrawn(slot: number, addressHash: number, at: number): void;
  /** Returns true when the account's withdrawn report of the entry with this hash had earned points. */
  hasWithdrawn(slot: number, addressHash: () => number, at: number): boolean;
}

/** Votes that an account may have open while none of its votes was confirmed. */
const budgetBase: Readonly<Record<'public' | 'private', Readonly<Record<Rank, number>>>> = {
  public: { newcomer: 0, earned: 30, member: 300, staff: 1_000 },
  private: { newcomer: 0, earned: 30, member: 5_000, staff: 20_000 },
};

export function budgetBaseOf(rank: Rank, { isPrivate }: Policy): number {
  return budgetBase[isPrivate ? 'private' : 'public'][rank];
}

export interface VoteRequest {
  readonly slot: number;
  readonly rank: Rank;
  /** The time at which it was recorded, ms, and the one at which it happened, seconds since 1970. */
  readonly at: number;
  readonly second: number;
  readonly network: number;
  readonly categories: number;
  /** Highest score that a list gives the address. */
  readonly listScore: number;
}

export interface Vote {
  readonly units: number;
  /** As `packVote` makes it. */
  readonly vote: number;
  readonly isCharged: boolean;
}

export function createVotes(options: {
  contributions: Contributions;
  reporters: Pick<Reporters, 'charge'>;
  policy: () => Policy;
}) {
  const { contributions, reporters, policy } = options;
  /** Votes that did not count for want of budget, since the start. */
  let refused = 0;

  /** Returns undefined when the report carries no vote. @param node the account's node at the entry, 0 for none */
  function castVote(node: number, request: VoteRequest): Vote | undefined {
    const units = unitsOf[request.rank];
    if (units === 0 || isSpoofable(request.categories)) return undefined;
    const day = voteDay(request.second);
    // Too old to count for anything.
    if (day <= voteDay(request.at / 1_000) - voteDays) return undefined;
    const former = node === 0 ? 0 : contributions.vote[node]!;
    const detail = node === 0 ? 0 : contributions.detail[node]!;
    const isAlive = former !== 0 && voteDayOf(former) > day - voteDays;
    // Nothing is gained: the vote is as young as this one, or has more units than the account may
    // give now.
    if (isAlive && unitsIn(detail) > units) return undefined;
    if (former !== 0 && voteDayOf(former) >= day && unitsIn(detail) === units) return undefined;
    const vote = packVote(day, request.network);
    const isFree =
      request.listScore >= maliciousScore || (isAlive && (detail & reportDetail.confirmed) !== 0);
    if (isFree) return { units, vote, isCharged: false };
    const isOpen = (detail & reportDetail.charged) !== 0;
    const cost = isOpen ? 1 - chargedPart(former, request.at) : 1;
    if (!reporters.charge(request.slot, cost, budgetBaseOf(request.rank, policy()), request.at)) {
      refused++;
      return undefined;
    }
    return { units, vote, isCharged: true };
  }

  return { castVote, refused: () => refused };
}

/** A report is confirmed only while it is younger than this, by what confirms it. */
export const confirmedWithinMs = { list: 14 * dayMs, account: 7 * dayMs } as const;
/** Half-life of the charge of an open vote. */
const budgetHalfLifeDays = 14;
/**
 * Reporters of one address that are looked at, the first ones: those behind them would get less
 * than a hundredth of a point, and an address may have thousands.
 */
const confirmedMax = 64;

export function createConfirmation(options: {
  entries: Entries;
  reporters: Reporters;
  /** Returns the prefix of an entry. */
  prefixOf: (entry: number) => IndexPrefix | undefined;
}) {
  const { entries, reporters, prefixOf } = options;
  const { contributions, peers } = entries;

  function confirmNode(node: number, at: number): void {
    const slot = refOf(contributions.tag[node]!);
    const detail = contributions.detail[node]!;
    if ((detail & reportDetail.charged) !== 0) {
      reporters.refund(slot, chargedPart(contributions.vote[node]!, at), at);
      contributions.detail[node]! &= ~reportDetail.charged;
    }
    if ((detail & reportDetail.confirmed) !== 0) return;
    const isPaid = reporters.confirm(slot, Math.max(1, rankIn(detail)), at);
    if (isPaid !== undefined)
      contributions.detail[node]! |= reportDetail.confirmed | (isPaid ? 0 : reportDetail.unpaid);
  }

  /**
   * Confirms reports of the entry that are at most `withinMs` old. `except`: slot of the
   * confirming account, -1: a list.
   */
  function confirm(entry: number, at: number, withinMs: number, except: number): void {
    if (peers.size() > 0) {
      const prefix = prefixOf(entry);
      const network = prefix && voteNetworkNumber(prefix.family, prefix.words);
      peers.confirm(entry, network, { at, withinMs });
    }
    let looked = 0;
    for (
      let node = contributions.first(entry);
      node !== 0 && looked < confirmedMax;
      node = contributions.next[node]!
    ) {
      const tag = contributions.tag[node]!;
      if (kindOf(tag) !== contributionKinds.reports) continue;
      looked++;
      // It had no effect when it was made: a report of a known-good address earns nothing.
      if (contributions.strength[node] === Number.NEGATIVE_INFINITY) continue;
      if (refOf(tag) === except || at - contributions.newest[node]! * 1_000 > withinMs) continue;
      confirmNode(node, at);
    }
  }

  /**
   * Returns true when a list, the operator, or a vote of staff or a member other than `node` and
   * `own` names the entry.
   */
  function isSupported(entry: number, node: number, own: number): boolean {
    let looked = 0;
    for (
      let other = contributions.first(entry);
      other !== 0 && looked < confirmedMax;
      other = contributions.next[other]!
    ) {
      const kind = kindOf(contributions.tag[other]!);
      if (kind === contributionKinds.seed || kind === contributionKinds.manual) return true;
      if (kind !== contributionKinds.reports) continue;
      looked++;
      if (
        other !== node &&
        other !== own &&
        unitsIn(contributions.detail[other]!) >= unitsOf.member
      )
        return true;
    }
    return false;
  }

  /** Takes back the confirmations that rest on `node`, a vote that is about to go. */
  function retract(node: number, at: number): void {
    if (unitsIn(contributions.detail[node]!) < unitsOf.member) return;
    const entry = contributions.owner[node]!;
    if (peers.size() > 0 && !isSupported(entry, node, node)) peers.unconfirm(entry, at);
    let looked = 0;
    for (
      let other = contributions.first(entry);
      other !== 0 && looked < confirmedMax;
      other = contributions.next[other]!
    ) {
      if (kindOf(contributions.tag[other]!) !== contributionKinds.reports) continue;
      looked++;
      const detail = contributions.detail[other]!;
      if (
        other === node ||
        (detail & reportDetail.confirmed) === 0 ||
        isSupported(entry, node, other)
      )
        continue;
      contributions.detail[other]! &= ~(reportDetail.confirmed | reportDetail.unpaid);
      const given = {
        rank: Math.max(1, rankIn(detail)),
        isPaid: (detail & reportDetail.unpaid) === 0,
        reportedAt: contributions.newest[other]! * 1_000,
      };
      reporters.unconfirm(refOf(contributions.tag[other]!), given, at);
    }
  }

  return { confirm, retract };
}

/** Returns the part of a vote's charge of 1 that is left at `at` (ms), by the day on which it was cast. */
export function chargedPart(vote: number, at: number): number {
  const days = Math.max(0, at / dayMs - voteDayOf(vote));
  return 2 ** -(days / budgetHalfLifeDays);
}
