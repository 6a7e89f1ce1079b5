/**
 * Computes how far votes count: their units, the quorum of an entry, and the ceiling that follows.
 * Pure. Evidence says how much was reported (score.ts); many accounts that anybody can make are
 * much evidence and no quorum, so they never block an address.
 *
 * A vote is a report of an account with standing: staff 12 units, a member 6, one that has earned
 * it 4; newcomers have none. Votes of earned accounts count once per network. A list gives up to
 * 12 by its score. The quorum Q is the sum over votes of the 30 days up to the entry's last
 * report: it depends on the contributions alone, so taking one away leaves what the others make.
 *
 * When a quorum has lapsed, the next report finds a lower ceiling, and evidence that was allowed to go to 90
 * would suddenly show 40: a newcomer could clear an address. So the entry holds a ceiling: the lowest one under
 * which the report lowers nothing. It sinks with the evidence, report by report, so that many newcomers find no
 * open ceiling of 100 above an address that somebody vouched against months ago.
 */

import type { Rank } from '../../access/quota/points.ts';
import { daySeconds } from '../../core/time.ts';
import { communityScore } from '../check/score.ts';
import { type Contributions, unitsIn } from '../state/contributions.ts';

/** The operator's policy of votes, written to the journal as `policy.changed`. */
export interface Policy {
  /** Private: reports come from the operator's own machines; earned votes count nothing. */
  readonly isPrivate: boolean;
  /** Earned votes give no more than 8 of the 12 units: a list or somebody vouched must agree. */
  readonly isAnchored: boolean;
}

export const defaultPolicy: Policy = { isPrivate: false, isAnchored: false };

export const unitsOf: Readonly<Record<Rank, number>> = {
  newcomer: 0,
  earned: 4,
  member: 6,
  staff: 12,
};

/** Units from which reports alone can make an address malicious. */
const quorumFull = 12;
const anchoredEarnedMax = 8;
/** A vote counts so many days, the day of the entry's last report included. */
export const voteDays = 30;

/** Highest scores that reports can give. */
export const ceilings = {
  /** The ceiling without a vote and without a list. */
  none: 49,
  /** Some units, no quorum. */
  some: 74,
  /** A quorum of accounts that have earned their standing. */
  earned: 84,
  /** A quorum with staff, a member, or a list that rates it `listAnchorScore` or more. */
  full: 100,
} as const;

/** A list with this score has as many units as a member. */
const listAnchorScore = 38;
const listFullScore = 75;

/** @param seedScore 0..100 */
function listUnits(seedScore: number): number {
  return Math.min(quorumFull, Math.floor((quorumFull * seedScore) / listFullScore));
}

/** Votes of an entry, added up. */
export interface VoteCount {
  /** Units of staff and members. */
  anchors: number;
  /** Networks with an earned vote. */
  networks: number;
}

/** Returns the units of reports and list, and the ceiling that they give. */
export function ceilingFor(
  { anchors, networks }: VoteCount,
  seedScore: number,
  { isPrivate, isAnchored }: Policy,
): { quorum: number; ceiling: number } {
  const all = isPrivate ? 0 : unitsOf.earned * networks;
  const earned = isAnchored ? Math.min(all, anchoredEarnedMax) : all;
  const quorum = anchors + earned + listUnits(seedScore);
  if (quorum === 0) return { quorum, ceiling: ceilings.none };
  if (quorum < quorumFull) return { quorum, ceiling: ceilings.some };
  const isBacked = anchors > 0 || seedScore >= listAnchorScore;
  return { quorum, ceiling: isBacked ? ceilings.full : ceilings.earned };
}

/** Adds votes up. One object, used again for each entry. */
export interface Count {
  clear(): void;
  add(units: number, network: number): void;
  /** The same object each time. */
  readonly count: VoteCount;
}

export function createCount(): Count {
  const count: VoteCount = { anchors: 0, networks: 0 };
  /** As many networks as can matter: more don't change a ceiling. */
  const networks = new Int32Array(quorumFull / unitsOf.earned);
  return {
    count,
    clear() {
      count.anchors = 0;
      count.networks = 0;
    },
    add(units, network) {
      if (units !== unitsOf.earned) {
        count.anchors += units;
        return;
      }
      const known = count.networks;
      if (known === networks.length) return;
      for (let i = 0; i < known; i++) if (networks[i] === network) return;
      networks[known] = network;
      count.networks = known + 1;
    },
  };
}

/** Packs the day and network of a vote into one word; 0 stands for no vote. */
export function packVote(day: number, network: number): number {
  return ((day << 16) | (network & 0xffff)) >>> 0;
}

/** Returns the UTC day, days since 1970; up to the year 2149. */
export function voteDayOf(vote: number): number {
  return vote >>> 16;
}

export function voteNetworkOf(vote: number): number {
  return vote & 0xffff;
}

export function dayOf(second: number): number {
  return Math.min(0xffff, Math.floor(second / daySeconds));
}

/** Reports whose source address can be forged: a packet proves nothing about who sent it. */
const spoofable = (1 << 4) | (1 << 6) | (1 << 14);

/**
 * Returns true for DDoS, Ping of Death, Port Scan and nothing else. @param categories bit n for
 * category n
 */
export function isSpoofable(categories: number): boolean {
  return (categories & ~spoofable) === 0;
}

/**
 * Returns the ceiling to hold, 0 when the present one lowers nothing.
 * @param ceiling of the present quorum
 * @param former the ceiling before the report
 * @param before evidence without the report, now
 * @param evidence with it
 */
export function leastCeiling(of: {
  ceiling: number;
  former: number;
  before: number;
  evidence: number;
}): number {
  const { ceiling, former, before, evidence } = of;
  const shown = communityScore(before, former);
  for (let least = ceiling; least < former; least++) {
    if (communityScore(evidence, least) >= shown) return least === ceiling ? 0 : least;
  }
  return former > ceiling ? former : 0;
}

/** Returns the best count that the remaining votes of an entry ever made within 30 days. */
export function bestCount(contributions: Contributions, entry: number): VoteCount {
  const { vote, detail, next } = contributions;
  const votes: { day: number; units: number; network: number }[] = [];
  for (let node = contributions.first(entry); node !== 0; node = next[node]!) {
    if (vote[node] === 0) continue;
    votes.push({
      day: voteDayOf(vote[node]!),
      units: unitsIn(detail[node]!),
      network: voteNetworkOf(vote[node]!),
    });
  }
  votes.sort((a, b) => a.day - b.day);
  const count = createCount();
  let best: VoteCount = { anchors: 0, networks: 0 };
  let from = 0;
  for (const [last, { day }] of votes.entries()) {
    while (votes[from]!.day <= day - voteDays) from++;
    // A few dozen votes decide anything: of an address with thousands the newest are enough.
    count.clear();
    for (let i = Math.max(from, last - votesMax); i <= last; i++) {
      count.add(votes[i]!.units, votes[i]!.network);
    }
    const { anchors, networks } = count.count;
    best = {
      anchors: Math.max(best.anchors, anchors),
      networks: Math.max(best.networks, networks),
    };
  }
  return best;
}

const votesMax = 64;
