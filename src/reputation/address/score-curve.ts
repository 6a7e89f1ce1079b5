/**
 * The score of an address on each of the last days, as far as it can be known now. Each list that names it
 * counts from when it is known to say so; the address's own reports are those that are kept, each reporter
 * alike; of reports of a network around it the evidence is known since its last one. The rules of today hold
 * throughout: ceilings, and whether reports count.
 *
 * Invariant: nothing is made up. A day on which more may have counted than is known says so, and the last
 * day is the score that is shown. Lists that name it no more, and reports that were taken back, leave no
 * trace.
 */

import { dayMs } from '../../core/time.ts';
import {
  communityEvidence,
  communityScore,
  entryScore,
  halfLifeMs,
  halfLivesAt,
} from '../check/score.ts';
import { capPerWeight, fillShare } from '../state/report-reducer.ts';
import type { Evidence, ReportEvidence } from './evidence.ts';

export interface CurveDay {
  /** By what is known: 0 to 100. */
  readonly score: number;
  /** It may have been more. */
  readonly isPart: boolean;
}

interface OneReport {
  readonly account: string;
  readonly reportedAt: number;
}

interface CurveInput {
  readonly evidence: Pick<Evidence, 'lists' | 'reports'>;
  /** True where reports have an effect: not on a known-good address. */
  readonly hasReports: boolean;
  /** The entry of the address itself, and its reports that are kept. */
  readonly address: string;
  readonly reports: readonly OneReport[];
  /** There are older ones. */
  readonly isCut: boolean;
  readonly nowMs: number;
  readonly days: number;
}

/** Scores by one source at the end of each day; undefined: not known. */
type Scores = readonly (number | undefined)[];

/** At the end of each UTC day, oldest first, the last one now. Undefined: nothing to show. */
export function scoreCurve(input: CurveInput): CurveDay[] | undefined {
  const { evidence, nowMs, days } = input;
  const firstDay = Math.floor(nowMs / dayMs) - days + 1;
  const ends = Array.from({ length: days }, (_, i) => Math.min((firstDay + i + 1) * dayMs, nowMs));
  const sources: Scores[] = [];
  for (const { confidence, since } of evidence.lists) {
    if (confidence === undefined) continue;
    sources.push(ends.map((ms) => (ms >= since ? confidence : undefined)));
  }
  for (const said of input.hasReports ? evidence.reports : []) {
    const own = said.entry === input.address ? accountReports(said, input, ends) : undefined;
    sources.push(own ?? ends.map((ms) => scoreAround(said, ms)));
  }
  if (sources.every((scores) => !scores.at(-1))) return undefined;
  return ends.map((_, day) => {
    const scores = sources.map((each) => each[day]);
    return {
      score: Math.max(...scores.map((score) => score ?? 0)),
      isPart: scores.includes(undefined),
    };
  });
}

/** Returns the score of an entry whose reports are not at hand: the evidence has only decayed since the last one. */
function scoreAround(said: ReportEvidence, ms: number): number | undefined {
  if (ms >= said.lastReportedAt) {
    return entryScore(0, said.ceiling, said.strength, halfLivesAt(ms));
  }
  return ms < said.firstReportedAt ? 0 : undefined;
}

/** Today's evidence, spread over the reports as they came and decayed. Undefined: none is at hand. */
function accountReports(
  { strength, ceiling }: ReportEvidence,
  { reports, isCut, nowMs }: CurveInput,
  ends: readonly number[],
): Scores | undefined {
  const inOrder = reports.filter(({ reportedAt }) => reportedAt <= nowMs);
  inOrder.sort((a, b) => a.reportedAt - b.reportedAt);
  const shapes = shapesOf(inOrder, ends);
  const whole = shapes.at(-1) ?? 0;
  if (whole === 0) return undefined;
  const today = communityEvidence(strength, halfLivesAt(nowMs));
  const knownFrom = isCut ? inOrder[0]!.reportedAt : Number.NEGATIVE_INFINITY;
  return shapes.map((shape, day) =>
    ends[day]! < knownFrom
      ? undefined
      : Math.round(communityScore((today * shape) / whole, ceiling)),
  );
}

/** One account's evidence by then, as a part of the cap, before its weight. */
interface HeldEvidence {
  evidence: number;
  at: number;
}

/** Evidence by these times, each account alike. */
function shapesOf(inOrder: readonly OneReport[], ends: readonly number[]): number[] {
  const accounts = new Map<string, HeldEvidence>();
  let next = 0;
  return ends.map((endMs) => {
    for (; next < inOrder.length && inOrder[next]!.reportedAt <= endMs; next++) {
      const { account, reportedAt } = inOrder[next]!;
      const before = accounts.get(account) ?? { evidence: 0, at: reportedAt };
      const held = decayed(before, reportedAt);
      const evidence = held + Math.max(0, capPerWeight - held) * fillShare;
      accounts.set(account, { evidence, at: reportedAt });
    }
    let sum = 0;
    for (const held of accounts.values()) sum += decayed(held, endMs);
    return sum;
  });
}

function decayed({ evidence, at }: HeldEvidence, later: number): number {
  return evidence * 2 ** ((at - later) / halfLifeMs);
}
