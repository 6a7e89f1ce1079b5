/**
 * Decides which report carries a vote, and what that costs its account.
 *
 * A vote lets evidence go further (quorum.ts), so it is scarce: on an address that no list rates
 * as malicious it is charged to the account's budget, and given back when somebody confirms it
 * (confirmation.ts). Renewed later it is charged what has come free since. Without budget the
 * report counts as evidence and the vote does not.
 */

import type { Rank } from '../../access/quota/points.ts';
import { maliciousScore } from '../check/score.ts';
import { type Contributions, said, unitsIn } from '../state/contributions.ts';
import type { Reporters } from '../state/reporters.ts';
import { chargedPart } from './confirmation.ts';
import {
  dayOf,
  isSpoofable,
  type Policy,
  packVote,
  unitsOf,
  voteDayOf,
  voteDays,
} from './quorum.ts';

/** Votes that an account may have open while none of its votes was confirmed. */
const budgetBase: Readonly<Record<'public' | 'private', Readonly<Record<Rank, number>>>> = {
  public: { newcomer: 0, earned: 30, member: 300, staff: 1_000 },
  private: { newcomer: 0, earned: 30, member: 5_000, staff: 20_000 },
};

export function budgetBaseOf(rank: Rank, { isPrivate }: Policy): number {
  return budgetBase[isPrivate ? 'private' : 'public'][rank];
}

/** A report that asks for a vote. */
export interface Wish {
  readonly slot: number;
  readonly rank: Rank;
  /**
   * The time at which it was recorded, ms, and the one at which it happened, seconds since 1970.
   */
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

export interface Votes {
  /**
   * Returns undefined when the report carries no vote. @param node the account's node at the
   * entry, 0 for none
   */
  castVote(node: number, wish: Wish): Vote | undefined;
  /** Counts votes that did not count for want of budget, since the start. */
  refused(): number;
}

export function createVotes(options: {
  contributions: Contributions;
  reporters: Pick<Reporters, 'charge'>;
  policy: () => Policy;
}): Votes {
  const { contributions: c, reporters, policy } = options;
  let refused = 0;

  function castVote(node: number, wish: Wish): Vote | undefined {
    const units = unitsOf[wish.rank];
    if (units === 0 || isSpoofable(wish.categories)) return undefined;
    const day = dayOf(wish.second);
    // Too old to count for anything.
    if (day <= dayOf(wish.at / 1_000) - voteDays) return undefined;
    const former = node === 0 ? 0 : c.vote[node]!;
    const z = node === 0 ? 0 : c.detail[node]!;
    const isAlive = former !== 0 && voteDayOf(former) > day - voteDays;
    // Nothing is gained: the vote is as young as this one, or has more units than the account may
    // give now.
    if (isAlive && unitsIn(z) > units) return undefined;
    if (former !== 0 && voteDayOf(former) >= day && unitsIn(z) === units) return undefined;
    const vote = packVote(day, wish.network);
    const isFree = wish.listScore >= maliciousScore || (isAlive && (z & said.confirmed) !== 0);
    if (isFree) return { units, vote, isCharged: false };
    const isOpen = (z & said.charged) !== 0;
    const cost = isOpen ? 1 - chargedPart(former, wish.at) : 1;
    if (!reporters.charge(wish.slot, cost, budgetBaseOf(wish.rank, policy()), wish.at)) {
      refused++;
      return undefined;
    }
    return { units, vote, isCharged: true };
  }

  return { castVote, refused: () => refused };
}
