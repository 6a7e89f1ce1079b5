/**
 * Evidence, decay and score as pure functions; the clock is an argument.
 *
 * A score is the higher of two: what lists say (0..100), and what reports add up to. Community
 * evidence R says how much was reported; the entry's ceiling C (49, 74, 84 or 100, by whose word
 * it is: quorum.ts) says how far that may go: C·(1 − e^(−100·R/(2.5·C))). Near 0 all ceilings
 * give 40·R, so evidence of little weight counts alike; more of it comes close to C, never above.
 *
 * Community evidence halves every 14 days. It is kept by forward decay (Cormode et al. 2009,
 * "Forward Decay"): one word, strength = log2(R) + t / 14 days, which doesn't change as time
 * passes, so a reader never needs a writer to age it.
 */

import { bandStarts } from '../../contracts/reputation.ts';
import { dayMs } from '../../core/time.ts';
import type { IndexView } from '../../index/reader.ts';
import { ceilingOf, listedByOf, listScoreOf, metaOf, strengthOf } from '../../index/records.ts';
import { type ContributionsHandle, readListsOf } from '../state/contributions.ts';

/** Half-life of community evidence. */
export const halfLifeMs = 14 * dayMs;
/** Origin of forward decay: 2025-01-01T00:00Z. A later origin keeps float32 precise. */
const decayOriginMs = Date.UTC(2025, 0, 1);
/** Score from which an address that isn't allowlisted is `malicious`. */
export const maliciousScore = bandStarts.malicious;

/** Returns the number of the list that makes an entry malicious by itself, 0 where reports do. */
export function maliciousBy({ records }: Pick<IndexView, 'records'>, entry: number): number {
  const isListed = listScoreOf(metaOf(records, entry)) >= maliciousScore;
  return isListed ? listedByOf(records, entry) : 0;
}

/**
 * Returns all that make an entry malicious, each by itself: the number of `maliciousBy` first, then those of other
 * lists, and 0 for reports as the last.
 * @param nowMs wall clock: community evidence decays
 */
export function allMaliciousBy(
  { records }: Pick<IndexView, 'records'>,
  contributions: ContributionsHandle,
  entry: number,
  nowMs: number,
): number[] {
  const meta = metaOf(records, entry);
  const all = new Set<number>();
  if (listScoreOf(meta) >= maliciousScore) {
    all.add(listedByOf(records, entry));
    for (const list of readListsOf(contributions, entry, maliciousScore)) all.add(list);
  }
  all.delete(0);
  const strength = strengthOf(records, entry);
  if (entryScore(0, ceilingOf(meta), strength, halfLivesAt(nowMs)) >= maliciousScore) all.add(0);
  return [...all];
}

/** Score of a little evidence: 100 / 2.5 for each unit of it. */
const slope = 40;

/** Half-lives from the origin to a time. Added to log2(R) it gives a strength. */
export function halfLivesAt(timeMs: number): number {
  return (timeMs - decayOriginMs) / halfLifeMs;
}

/** Community evidence at a time given in half-lives. `-Infinity` strength: none. */
export function communityEvidence(strength: number, nowHalfLives: number): number {
  return strength === Number.NEGATIVE_INFINITY ? 0 : 2 ** (strength - nowHalfLives);
}

/** Inverse of `communityEvidence`; 0 gives `-Infinity`. */
export function strengthOfEvidence(evidence: number, nowHalfLives: number): number {
  return evidence <= 0 ? Number.NEGATIVE_INFINITY : Math.log2(evidence) + nowHalfLives;
}

/** Returns the score of evidence under a ceiling: 0..ceiling, not rounded; 0 under a ceiling of 0. */
export function communityScore(evidence: number, ceiling: number): number {
  if (ceiling === 0 || evidence <= 0) return 0;
  return ceiling * -Math.expm1((-slope * evidence) / ceiling);
}

/**
 * Score of one entry by its own evidence: what a list says of it and what was reported.
 * @param ceiling 0..100: how far reports may go
 * @param strength `-Infinity`: no reports
 * @param nowHalfLives `halfLivesAt` of the wall clock, computed once for many entries
 * @returns integer 0..100
 */
export function entryScore(
  listScore: number,
  ceiling: number,
  strength: number,
  nowHalfLives: number,
): number {
  if (strength === Number.NEGATIVE_INFINITY) return listScore;
  const evidence = 2 ** (strength - nowHalfLives);
  return Math.max(listScore, Math.round(communityScore(evidence, ceiling)));
}

/**
 * From which strength on reports give a score at a time.
 * @param score above 0, as `entryScore` rounds it
 * @returns `Infinity`: under this ceiling they never do
 */
export function leastStrength(ceiling: number, score: number, nowHalfLives: number): number {
  // Rounded up from here on.
  const least = score - 0.5;
  if (ceiling <= least) return Number.POSITIVE_INFINITY;
  return Math.log2((-ceiling * Math.log1p(-least / ceiling)) / slope) + nowHalfLives;
}

/**
 * Returns the time from which the present reports give less than a score, if none are added.
 * @param score above 0, as `entryScore` rounds it
 * @returns ms since 1970; `-Infinity`: reports under this ceiling never give so much
 */
export function fallsBelowAt(strength: number, ceiling: number, score: number): number {
  return decayOriginMs + (strength - leastStrength(ceiling, score, 0)) * halfLifeMs;
}
