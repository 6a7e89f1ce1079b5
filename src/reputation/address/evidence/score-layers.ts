/**
 * A score as layers: the highest of what lists and reports give counts, so each one adds what it goes
 * beyond those below it.
 */

import type { Evidence, ListEvidence, ReportEvidence } from './evidence.ts';

export interface ScoreLayer {
  readonly of: ListEvidence | ReportEvidence;
  /** Both 0 to 100. */
  readonly from: number;
  readonly to: number;
}

/**
 * @param hasReports false where reports have no effect, as for a known-good address
 * @returns from 0 up, without those that add nothing
 */
export function layersOf({ lists, reports }: Evidence, hasReports: boolean): ScoreLayer[] {
  const given = [
    ...lists.map((list) => ({ of: list, to: list.confidence ?? 0 })),
    ...(hasReports ? reports.map((said) => ({ of: said, to: said.score })) : []),
  ];
  given.sort((a, b) => a.to - b.to);
  const layers: ScoreLayer[] = [];
  let from = 0;
  for (const { of, to } of given) {
    if (to <= from) continue;
    layers.push({ of, from, to });
    from = to;
  }
  return layers;
}
