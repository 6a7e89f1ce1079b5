/**
 * The four words for a score. `malicious` is the block flag's threshold, and from `suspect` on the gate asks for a
 * challenge; reports of new accounts alone don't reach it.
 */

export const scoreBands = ['clean', 'low', 'suspect', 'malicious'] as const;
export type ScoreBand = (typeof scoreBands)[number];

export const bandStarts: Record<ScoreBand, number> = {
  clean: 0,
  low: 10,
  suspect: 50,
  malicious: 75,
};

/** The highest score of each. */
export const bandEnds: Record<ScoreBand, number> = {
  clean: bandStarts.low - 1,
  low: bandStarts.suspect - 1,
  suspect: bandStarts.malicious - 1,
  malicious: 100,
};

export function scoreBand(score: number): ScoreBand {
  if (score >= bandStarts.malicious) return 'malicious';
  if (score >= bandStarts.suspect) return 'suspect';
  return score >= bandStarts.low ? 'low' : 'clean';
}
