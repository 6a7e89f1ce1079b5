/** The bands of a score, where pages look for them. */

export * from '../core/names/score-band.ts';
