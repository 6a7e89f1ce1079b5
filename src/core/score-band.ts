/** The four words for a score. `malicious` is the block flag's threshold; the others only explain. */

export const scoreBands = ['clean', 'low', 'suspect', 'malicious'] as const;
export type ScoreBand = (typeof scoreBands)[number];

export const bandStarts: Record<ScoreBand, number> = {
  clean: 0,
  low: 10,
  suspect: 40,
  malicious: 75,
};

export const bandEnds: Record<ScoreBand, number> = {
  clean: 9,
  low: 39,
  suspect: 74,
  malicious: 100,
};

export function scoreBand(score: number): ScoreBand {
  if (score >= bandStarts.malicious) return 'malicious';
  if (score >= bandStarts.suspect) return 'suspect';
  return score >= bandStarts.low ? 'low' : 'clean';
}
