/**
 * Computes how far votes count: their units, the quorum of an entry, and the ceiling that follows. Pure. Evidence
 * says how much was reported (score.ts). Many accounts that anybody can make add much evidence but no quorum, so they
 * never block an address.
 *
 * A vote is a report of an account with standing: staff 12 units, a member 6, an earned one 4; newcomers have none.
 * Votes of earned accounts count once per network. A list adds up to 12 by its score. The quorum Q is the sum over
 * votes of the 30 days up to the entry's last report. It depends on the contributions alone, so removing one leaves
 * what the others make.
 *
 * Peers, servers of other owners, have up to a member's units each by their weight. They count whole next to half a
 * quorum of our own, or when enough groups of them agree. Otherwise they stop short of a quorum, and one alone counts
 * nothing. An own server counts as staff.
 *
 * When a quorum has lapsed, the next report would find a lower ceiling, and evidence that was shown as 90 would
 * suddenly show 40: a newcomer could clear an address. So the entry holds a ceiling: the lowest one under which the
 * report lowers nothing. It sinks with the evidence, report by report, so that many newcomers never find a ceiling of
 * 100 left by somebody who vouched against the address months ago.
 */

import type { Rank } from '../../access/quota/points.ts';
import { bandStarts } from '../../contracts/reputation.ts';
import { daySeconds } from '../../core/time.ts';
import { communityScore } from '../check/score.ts';
import { type Contributions, contributionKinds, kindOf, unitsIn } from '../state/contributions.ts';

/** The operator's policy of votes, written to the journal as `policy.changed`. */
export interface Policy {
  /** Private: reports come from the operator's own machines; earned votes count nothing. */
  readonly isPrivate: boolean;
  /** Earned votes give no more than 8 of the 12 units: a list or somebody vouched must agree. */
  readonly isAnchored: boolean;
  /** Groups of peers that must vote alike before peers alone block; `groupsAgree` when absent. */
  readonly agree?: number;
  /** True: peers alone never block, however many agree. */
  readonly neverByPeers?: boolean;
  /** Networks rise by their hosts (network-rise.ts); absent: none does. */
  readonly isRising?: boolean;
}

export const defaultPolicy: Policy = { isPrivate: false, isAnchored: false };

/** Groups of peers that must agree: least, and the default, and most. */
export const groupsAgree = { least: 3, most: 8 } as const;

export const unitsOf: Readonly<Record<Rank, number>> = {
  newcomer: 0,
  earned: 4,
  member: 6,
  staff: 12,
};

/** Units from which reports alone can make an address malicious. */
const quorumFull = 12;
const anchoredEarnedMax = 8;
/** Peers' units are whole numbers in quarters: a peer of full weight has 24 of them. */
export const quartersPerUnit = 4;
export const quartersOfPeer = quartersPerUnit * unitsOf.member;
/** Half a quorum of our own: next to it peers count whole. */
const halfQuorum = quorumFull / 2;
/** Short of a quorum by as little as can't be missed. */
const almostFull = quorumFull - 0.5;
/** Days for which a vote counts, including the day of the entry's last report. */
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
const listFullScore = bandStarts.malicious;

/** @param listScore 0..100 */
function listUnits(listScore: number): number {
  return Math.min(quorumFull, Math.floor((quorumFull * listScore) / listFullScore));
}

/** Votes of an entry, added up. */
export interface VoteCount {
  /** Units of staff and members. */
  anchors: number;
  /** Networks with an earned vote. */
  networks: number;
  /** Groups of peers that vote, and their units in quarters: a group has those of its heaviest peer. */
  groups: number;
  quarters: number;
}

/** Returns the units that count of those that peers give. `ours`: the units of reports and list. */
function peerUnits(
  { groups, quarters }: Pick<VoteCount, 'groups' | 'quarters'>,
  ours: number,
  { agree = groupsAgree.least, neverByPeers = false }: Policy,
): number {
  const units = quarters / quartersPerUnit;
  if (ours >= halfQuorum || (groups >= agree && !neverByPeers)) return units;
  if (groups < 2 && ours === 0) return 0;
  return Math.min(units, almostFull - ours);
}

/** Returns the units of reports and list, and the ceiling that they give. */
export function ceilingFor(
  { anchors, networks, groups, quarters }: VoteCount,
  listScore: number,
  policy: Policy,
): { quorum: number; ceiling: number } {
  const { isPrivate, isAnchored } = policy;
  const all = isPrivate ? 0 : unitsOf.earned * networks;
  const earned = isAnchored ? Math.min(all, anchoredEarnedMax) : all;
  const ours = anchors + earned + listUnits(listScore);
  const isBacked = anchors > 0 || listScore >= listAnchorScore;
  let peers = groups === 0 ? 0 : peerUnits({ groups, quarters }, ours, policy);
  if (isAnchored && !isBacked) peers = Math.min(peers, almostFull - earned);
  const quorum = ours + peers;
  if (quorum === 0) return { quorum, ceiling: ceilings.none };
  if (quorum < quorumFull) return { quorum, ceiling: ceilings.some };
  return { quorum, ceiling: isBacked ? ceilings.full : ceilings.earned };
}

function noVotes(): VoteCount {
  return { anchors: 0, networks: 0, groups: 0, quarters: 0 };
}

/** A group has the number of one of its peers. */
const groupsMax = 32;

export type VoteTally = ReturnType<typeof createVoteTally>;

/** Adds votes up. One object, used again for each entry. */
export function createVoteTally() {
  const counts = noVotes();
  /** Quarters of each group that votes, and the groups among them that do. */
  const heaviest = new Uint8Array(groupsMax + 1);
  const voting = new Uint8Array(groupsMax + 1);
  let votes = 0;
  /** As many networks as can matter: more don't change a ceiling. */
  const networks = new Int32Array(quorumFull / unitsOf.earned);
  function clear(): void {
    counts.anchors = counts.networks = counts.groups = counts.quarters = 0;
    for (; votes > 0; votes--) heaviest[voting[votes - 1]!] = 0;
  }

  function add(units: number, network: number): void {
    if (units !== unitsOf.earned) {
      counts.anchors += units;
      return;
    }
    const known = counts.networks;
    if (known === networks.length) return;
    for (let i = 0; i < known; i++) if (networks[i] === network) return;
    networks[known] = network;
    counts.networks = known + 1;
  }

  /** Adds a peer's vote. `group` 0: of an own server, which counts as staff, once. */
  function addPeer(quarters: number, group: number): void {
    const before = heaviest[group]!;
    if (quarters <= before) return;
    if (before === 0) voting[votes++] = group;
    heaviest[group] = quarters;
    if (group === 0) counts.anchors += before === 0 ? unitsOf.staff : 0;
    else {
      counts.groups += before === 0 ? 1 : 0;
      counts.quarters += quarters - before;
    }
  }

  /** `count` is the same object each time. */
  return { counts: counts as Readonly<VoteCount>, clear, add, addPeer };
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

export function voteDay(second: number): number {
  return Math.min(0xffff, Math.floor(second / daySeconds));
}

/** Reports whose source address can be forged: a packet proves nothing about who sent it. */
const spoofable = (1 << 4) | (1 << 6) | (1 << 14);

/** Returns true for DDoS, Ping of Death, Port Scan and nothing else. @param categories bit n for category n */
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
export function lowestCeiling(change: {
  ceiling: number;
  former: number;
  before: number;
  evidence: number;
}): number {
  const { ceiling, former, before, evidence } = change;
  const shown = communityScore(before, former);
  for (let least = ceiling; least < former; least++) {
    if (communityScore(evidence, least) >= shown) return least === ceiling ? 0 : least;
  }
  return former > ceiling ? former : 0;
}

/** Reads a peer's vote of a node: its day, 0 for none, and the peer's present quarters and group. */
export interface PeerVotes {
  voteOf(node: number): { readonly day: number; readonly quarters: number; readonly group: number };
}

/**
 * Returns the best count that the remaining votes of an entry ever made within 30 days.
 * @param without a node that is left out
 */
export function bestCount(
  contributions: Contributions,
  entry: number,
  peers: PeerVotes,
  without = 0,
): VoteCount {
  const { vote, detail, next, tag } = contributions;
  const votes: { day: number; add: (count: VoteTally) => void }[] = [];
  for (let node = contributions.first(entry); node !== 0; node = next[node]!) {
    if (vote[node] === 0 || node === without) continue;
    if (kindOf(tag[node]!) === contributionKinds.peer) {
      const { day, quarters, group } = peers.voteOf(node);
      votes.push({ day, add: (count) => count.addPeer(quarters, group) });
      continue;
    }
    const units = unitsIn(detail[node]!);
    const network = voteNetworkOf(vote[node]!);
    votes.push({ day: voteDayOf(vote[node]!), add: (count) => count.add(units, network) });
  }
  votes.sort((a, b) => a.day - b.day);
  const count = createVoteTally();
  const best = noVotes();
  let from = 0;
  for (const [last, { day }] of votes.entries()) {
    while (votes[from]!.day <= day - voteDays) from++;
    // A few dozen votes decide anything: of an address with thousands the newest are enough.
    count.clear();
    for (let i = Math.max(from, last - votesMax); i <= last; i++) votes[i]!.add(count);
    for (const part of ['anchors', 'networks', 'groups', 'quarters'] as const) {
      best[part] = Math.max(best[part], count.counts[part]);
    }
  }
  return best;
}

const votesMax = 64;
