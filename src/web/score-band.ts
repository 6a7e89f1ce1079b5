/** The bands of a score, where pages look for them. */

export * from '../core/score-band.ts';
