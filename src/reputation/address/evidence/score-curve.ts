/**
 * What the reports of an address gave by themselves on each of the last days: today's evidence, spread over
 * the reports that are kept as they came and decayed. Each reporter counts alike, and today's ceiling holds
 * throughout. What lists said, and reports that were taken back, leave no trace to work it out from.
 */

import { communityEvidence, communityScore, halfLifeMs, halfLivesAt } from '../../check/score.ts';
import { capPerWeight, fillShare } from '../../state/report-fold.ts';

const dayMs = 86_400_000;

export interface CurveInput {
  readonly reports: readonly { readonly account: string; readonly reportedAt: number }[];
  /** Of the entry, as it is today. */
  readonly strength: number;
  readonly ceiling: number;
  readonly nowMs: number;
  readonly days: number;
}

/** What one account has said by then, of a cap that its weight would multiply. */
interface Held {
  evidence: number;
  at: number;
}

/** The score at the end of each UTC day, oldest first, the last one now. Undefined: nothing to show. */
export function scoreCurve(input: CurveInput): number[] | undefined {
  const { reports, ceiling, nowMs, days } = input;
  const today = communityEvidence(input.strength, halfLivesAt(nowMs));
  const inOrder = reports.filter(({ reportedAt }) => reportedAt <= nowMs);
  inOrder.sort((a, b) => a.reportedAt - b.reportedAt);
  const accounts = new Map<string, Held>();
  const firstDay = Math.floor(nowMs / dayMs) - days + 1;
  const shapes: number[] = [];
  let next = 0;
  for (let day = firstDay; day < firstDay + days; day++) {
    const endMs = Math.min((day + 1) * dayMs, nowMs);
    for (; next < inOrder.length && inOrder[next]!.reportedAt <= endMs; next++) {
      const { account, reportedAt } = inOrder[next]!;
      const before = accounts.get(account) ?? { evidence: 0, at: reportedAt };
      const held = decayed(before, reportedAt);
      const evidence = held + Math.max(0, capPerWeight - held) * fillShare;
      accounts.set(account, { evidence, at: reportedAt });
    }
    let sum = 0;
    for (const held of accounts.values()) sum += decayed(held, endMs);
    shapes.push(sum);
  }
  const whole = shapes.at(-1) ?? 0;
  if (whole === 0 || today === 0) return undefined;
  return shapes.map((shape) => Math.round(communityScore((today * shape) / whole, ceiling)));
}

function decayed({ evidence, at }: Held, later: number): number {
  return evidence * 2 ** ((at - later) / halfLifeMs);
}
