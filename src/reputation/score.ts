/**
 * Evidence, decay and score as pure functions; the clock is an argument.
 *
 * Evidence R = seed + community, R in 0..20. Score = round(100 (1 - e^(-R/2.5))).
 * Community evidence halves every 14 days. It is kept by forward decay (Cormode et al. 2009,
 * "Forward Decay"): one word, strength = log2(R) + t / 14 days, which doesn't change as time
 * passes, so a reader never needs a writer to age it.
 */

const dayMs = 86_400_000;

/** Half-life of community evidence. */
export const halfLifeMs = 14 * dayMs;
/** Origin of forward decay: 2025-01-01T00:00Z. A later origin keeps float32 precise. */
export const decayOriginMs = Date.UTC(2025, 0, 1);
/** Evidence beyond this adds nothing visible: its score is 100. */
export const evidenceMax = 20;
/** Score from which an address that isn't allowlisted is `malicious`. */
export const maliciousScore = 75;

const scale = 2.5;

/** Half-lives from the origin to a time. Added to log2(R) it gives a strength. */
export function halfLivesAt(timeMs: number): number {
  return (timeMs - decayOriginMs) / halfLifeMs;
}

/** Community evidence at a time given in half-lives. `-Infinity` strength: none. */
export function communityEvidence(strength: number, nowHalfLives: number): number {
  return strength === Number.NEGATIVE_INFINITY ? 0 : 2 ** (strength - nowHalfLives);
}

/** Inverse of `communityEvidence`; 0 gives `-Infinity`. */
export function strengthOf(evidence: number, nowHalfLives: number): number {
  return evidence <= 0 ? Number.NEGATIVE_INFINITY : Math.log2(evidence) + nowHalfLives;
}

/** @returns integer 0..100 */
export function scoreOf(evidence: number): number {
  return Math.round(100 * (1 - Math.exp(-Math.min(Math.max(evidence, 0), evidenceMax) / scale)));
}

/** Evidence that gives exactly this score again: `scoreOf(seedEvidence(s)) === s` for 0..100. */
export function seedEvidence(score: number): number {
  return score >= 100 ? evidenceMax : Math.min(evidenceMax, -scale * Math.log1p(-score / 100));
}

/** `seedEvidence` of 0..100 by table: the check path does no logarithm. */
export const seedEvidenceTable: Float64Array = Float64Array.from({ length: 101 }, (_, score) =>
  seedEvidence(score),
);

/**
 * Score of one entry by its own evidence: what a list says of it and what was reported.
 * @param strength `-Infinity`: no reports
 * @param nowHalfLives `halfLivesAt` of the wall clock, computed once for many entries
 */
export function entryScore(seedScore: number, strength: number, nowHalfLives: number): number {
  if (strength === Number.NEGATIVE_INFINITY) return seedScore;
  return scoreOf(communityEvidence(strength, nowHalfLives) + seedEvidenceTable[seedScore]!);
}
