/**
 * Divides the score of an entry's reports by the standing of the accounts and the age of the reports.
 * Each part has the fraction of the score that it has of the evidence.
 */

import { dayMs } from '../../../core/time.ts';
import { communityEvidence } from '../../check/score.ts';
import {
  type Contributions,
  contributionKinds,
  kindOf,
  unitsIn,
} from '../../state/contributions.ts';
import { unitsOf } from '../../votes/quorum.ts';

/** Standing of an account at its newest vote; `none`: its reports carry no vote. */
export const voteKinds = ['staff', 'member', 'earned', 'none'] as const;
export type VoteKind = (typeof voteKinds)[number];

/** Age of an account's newest report: within 24 hours, 7 days, 30 days, or older. */
export const reportAges = ['day', 'week', 'month', 'older'] as const;
export type ReportAge = (typeof reportAges)[number];

export interface ReportPart {
  readonly voice: VoteKind;
  readonly age: ReportAge;
  readonly reporters: number;
  /** Part of the score that the reports give, 0 to 100; the parts add up to it. */
  readonly score: number;
}

const ageEnds: readonly (readonly [ReportAge, number])[] = [
  ['day', dayMs],
  ['week', 7 * dayMs],
  ['month', 30 * dayMs],
];

function voteKindOf(units: number): VoteKind {
  if (units >= unitsOf.staff) return 'staff';
  if (units >= unitsOf.member) return 'member';
  return units >= unitsOf.earned ? 'earned' : 'none';
}

/**
 * @param score what the entry's reports give together, 0 to 100
 * @returns the largest share first
 */
export function partsOf(
  contributions: Pick<Contributions, 'first' | 'next' | 'tag' | 'strength' | 'newest' | 'detail'>,
  entry: number,
  score: number,
  now: { readonly ms: number; readonly halfLives: number },
): ReportPart[] {
  const parts = new Map<
    string,
    { voice: VoteKind; age: ReportAge; reporters: number; evidence: number }
  >();
  let whole = 0;
  for (let node = contributions.first(entry); node !== 0; node = contributions.next[node]!) {
    if (kindOf(contributions.tag[node]!) !== contributionKinds.reports) continue;
    const ageMs = now.ms - contributions.newest[node]! * 1_000;
    const age = ageEnds.find(([, end]) => ageMs <= end)?.[0] ?? 'older';
    const voice = voteKindOf(unitsIn(contributions.detail[node]!));
    const evidence = communityEvidence(contributions.strength[node]!, now.halfLives);
    const key = `${voice} ${age}`;
    const part = parts.get(key) ?? { voice, age, reporters: 0, evidence: 0 };
    part.reporters++;
    part.evidence += evidence;
    whole += evidence;
    parts.set(key, part);
  }
  let before = 0;
  return [...parts.values()]
    .sort((a, b) => b.evidence - a.evidence)
    .map(({ voice, age, reporters, evidence }) => {
      // Rounded where parts meet, so that all of them are the whole.
      const from = Math.round((score * before) / (whole || 1));
      before += evidence;
      const to = Math.round((score * before) / (whole || 1));
      return { voice, age, reporters, score: to - from };
    });
}
