/** Counters of HAProxy's questions by outcome, and of its connections by how they ended. */

import { type Counters, createCounters } from '../counters.ts';

const outcomes = [
  'allow',
  'pass',
  'challenge',
  'block',
  'over_pass',
  'bad_policy',
  'no_address',
  'failed',
] as const;

const ends = [
  'closed',
  'disconnected',
  'health_check',
  'draining',
  'malformed',
  'too_big',
  'fragmented',
  'refused_hello',
  'slow',
  'idle',
  'full',
  'stopped',
] as const;

export type SpoeOutcome = (typeof outcomes)[number];
export type SpoeEnd = (typeof ends)[number];

export const createSpoeOutcomes = (buffer?: SharedArrayBuffer): Counters<SpoeOutcome> =>
  createCounters(outcomes, buffer);

export const createSpoeEnds = (buffer?: SharedArrayBuffer): Counters<SpoeEnd> =>
  createCounters(ends, buffer);
