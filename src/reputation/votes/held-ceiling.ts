/**
 * The held ceiling, which keeps a report from lowering a score. Pure.
 *
 * A quorum is made of the votes of 30 days. When it has lapsed, the next report finds a lower
 * ceiling, and evidence that was allowed to go to 90 would suddenly show 40: a newcomer could clear
 * an address. So the entry holds a ceiling: the lowest one under which the report lowers nothing.
 * It sinks with the evidence, report by report, so that many newcomers find no open ceiling of 100 above
 * an address that somebody vouched against months ago.
 */

import { communityScore } from '../check/score.ts';
import { type Contributions, unitsIn } from '../state/contributions.ts';
import { createCount, type VoteCount, voteDayOf, voteDays, voteNetworkOf } from './quorum.ts';

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
