/**
 * Answers HAProxy's questions by the gate's own decision, and refuses those that can't be answered.
 */

import { type Counters, createCounters } from '../counters.ts';
import type { Decider } from '../forward-auth/decide.ts';
import { hostOf, passCookie } from '../forward-auth/pass.ts';
import type { Agent, SpoeAnswer, SpoeQuestion } from './session.ts';

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

const noAddress = 'check-ip has no ip that is an IPv4 or IPv6 address';

export function createAgent(options: {
  readonly decider: Decider;
  readonly count: (outcome: SpoeOutcome) => void;
  /** Questions that can't be answered, for who sets HAProxy up. */
  readonly warn: (reason: string) => void;
  readonly isDraining: () => boolean;
}): Agent {
  const { decider, count, warn, isDraining } = options;

  function refuse(outcome: SpoeOutcome, reason: string): SpoeAnswer {
    count(outcome);
    warn(reason);
    return { verdict: 'refuse', score: 0 };
  }

  function answer({ family, words, host, cookie, policy }: SpoeQuestion): SpoeAnswer {
    const read = decider.policyOf(policy);
    if (!read.ok) return refuse('bad_policy', read.detail ?? read.error);
    if (family === 0) {
      decider.refuse(read.value, { family, words });
      return refuse('no_address', noAddress);
    }
    // No pass has an equals sign: a text with one is a header.
    const cookies =
      cookie === undefined || cookie.includes('=') ? cookie : `${passCookie}=${cookie}`;
    const visit = { family, words, host: hostOf(undefined, host), cookies };
    const { outcome, score } = decider.decide(read.value, visit);
    count(outcome);
    if (outcome === 'pass') return { verdict: 'allow', score };
    return { verdict: outcome === 'over_pass' ? 'challenge' : outcome, score };
  }

  return {
    isDraining,
    answer(question) {
      try {
        return answer(question);
      } catch (error) {
        return refuse('failed', String(error));
      }
    },
  };
}
