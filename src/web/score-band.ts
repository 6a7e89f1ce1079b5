/** Exports the bands of a score for the pages. */

export * from '../core/names/score-band.ts';
