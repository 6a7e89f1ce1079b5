/**
 * Chooses the rows that this server publishes, from its own reports only. An address, or an IPv6 /64, is published
 * when its own reports (without lists, manual entries and other servers) reach a score of 75, with a vote of staff or
 * a member among them, and enough accounts reported it. It stays until the score falls below 50, no such vote is
 * left, it is allowed or known good, or its last report is 30 days old.
 */

import { entryFlags } from '../../../contracts/reputation.ts';
import { dayMs, hourSeconds } from '../../../core/time.ts';
import type { IpIndex } from '../../../index/ip-index.ts';
import {
  firstReportedAtOf,
  flagsOf,
  lastReportedAtOf,
  metaOf,
  reportsOf,
} from '../../../index/records.ts';
import { COVERING_MAX } from '../../../index/trie/layout.ts';
import type { IpFamily } from '../../../ip/address.ts';
import { nat64Address } from '../../../ip/special.ts';
import {
  communityEvidence,
  communityScore,
  halfLivesAt,
  maliciousScore,
} from '../../check/score.ts';
import {
  type Contributions,
  contributionKinds,
  kindOf,
  unitsIn,
} from '../../state/contributions.ts';
import {
  ceilingFor,
  createVoteTally,
  type Policy,
  unitsOf,
  voteDay,
  voteDayOf,
  voteDays,
  voteNetworkOf,
} from '../../votes/quorum.ts';
import { type AddressRef, type CountedRow, reportsShown } from '../document/segment.ts';

/** It leaves below this score. */
const leavesBelow = 50;
export const keptMs = 30 * dayMs;
const immune = entryFlags.allowlisted | entryFlags.knownGood;
const shownMax = 3;

export function createSelection(options: {
  readonly index: Pick<IpIndex, 'records' | 'covering' | 'prefixOf' | 'get'>;
  readonly contributions: Contributions;
  readonly policy: () => Policy;
  /** Accounts behind a row at least; one of the staff is always enough. */
  readonly least: number;
}) {
  const { index, contributions, policy, least } = options;
  const { records } = index;
  const covering = new Int32Array(COVERING_MAX);
  const count = createVoteTally();

  function isImmune(family: IpFamily, words: Uint32Array): boolean {
    const found = index.covering(family, words, covering);
    for (let i = 0; i < found; i++) {
      if ((flagsOf(metaOf(records, covering[i]!)) & immune) !== 0) return true;
    }
    const stoodFor = nat64Address(family, words);
    return stoodFor !== undefined && isImmune(4, stoodFor);
  }

  /**
   * Returns what goes out of an entry, undefined when nothing does.
   * @param isOut it went out before and was not taken back
   */
  function judge(entry: number, isOut: boolean, now: number): CountedRow | undefined {
    const reports = reportsOf(records, entry);
    const lastSecond = lastReportedAtOf(records, entry);
    if (reports === 0 || lastSecond * 1_000 <= now - keptMs) return undefined;
    const oldest = voteDay(lastSecond) - voteDays;
    const halfLives = halfLivesAt(now);
    let evidence = 0;
    const votes = { staff: 0, members: 0, earned: 0 };
    count.clear();
    for (let node = contributions.first(entry); node !== 0; node = contributions.next[node]!) {
      if (kindOf(contributions.tag[node]!) !== contributionKinds.reports) continue;
      evidence += communityEvidence(contributions.strength[node]!, halfLives);
      const vote = contributions.vote[node]!;
      if (vote === 0 || voteDayOf(vote) <= oldest) continue;
      const units = unitsIn(contributions.detail[node]!);
      count.add(units, voteNetworkOf(vote));
      if (units === unitsOf.staff) votes.staff++;
      else if (units === unitsOf.member) votes.members++;
      else votes.earned++;
    }
    if (count.counts.anchors === 0) return undefined;
    const accounts = votes.staff + votes.members + votes.earned;
    if (votes.staff === 0 && accounts < least) return undefined;
    const { ceiling } = ceilingFor(count.counts, 0, policy());
    const score = Math.round(communityScore(evidence, ceiling));
    if (score < (isOut ? leavesBelow : maliciousScore)) return undefined;
    const prefix = index.prefixOf(entry);
    if (prefix === undefined || isImmune(prefix.family, prefix.words)) return undefined;
    return {
      firstHour: Math.floor(firstReportedAtOf(records, entry) / hourSeconds),
      lastHour: Math.floor(lastSecond / hourSeconds),
      reports: reportsShown(reports),
      staff: Math.min(shownMax, votes.staff),
      members: Math.min(shownMax, votes.members),
      earned: Math.min(shownMax, votes.earned),
    };
  }

  return {
    judge,
    /** Does the same for an address that went out before, whatever became of its entry. */
    judgeOut({ family, words, length }: AddressRef, now: number): CountedRow | undefined {
      const entry = index.get({ family, words, length });
      return entry === 0 ? undefined : judge(entry, true, now);
    },
  };
}

export type Selection = ReturnType<typeof createSelection>;
