/**
 * Limits the answers to a client and its network over time, whatever they ask for, unknown paths
 * included. Each costs the thread some time, and thousands can stand behind one another in one
 * packet; beyond the limit few refusals of a turn keep
 * their connection, and what stands behind them in such a packet is never read.
 *
 * Requests with a good key have their quota, so of those that need a key only the unauthenticated
 * ones count, once that is known. Probes count apart: a flood of pages must not hide how the service is.
 */

import { createClientLimits, type LimitRecords } from '../../access/quota/client-limits.ts';
import type { ClientLimit } from '../../config/limits.ts';
import type { Clock } from '../../core/clock.ts';
import type { Networks } from '../../ip/networks.ts';
import { type Problem, problem } from '../request/message.ts';
import type { Route } from '../router.ts';

export type AnswerLimitName = 'answers' | 'answersNear' | 'probes';

/**
 * @param bounds undefined: there are none (CLIENT_LIMITS=off)
 * @param records where all threads count; left out: by itself
 */
export function createAnswerLimits(
  bounds: Readonly<Record<AnswerLimitName, ClientLimit>> | undefined,
  clock: Pick<Clock, 'monotonicMs'>,
  records?: LimitRecords,
) {
  if (bounds === undefined) return { refusalOf: () => undefined, answered: () => {} };
  const limits = createClientLimits<AnswerLimitName>(
    { answers: bounds.answers, answersNear: bounds.answersNear, probes: bounds.probes },
    records,
  );

  function count({ client, neighbourhood }: Networks): void {
    const nowMs = clock.monotonicMs();
    limits.charge('answers', client, nowMs, 1);
    limits.charge('answersNear', neighbourhood, nowMs, 1);
  }

  return {
    /** Returns why the request is refused, or undefined; counts the limits that apply on arrival. */
    refusalOf(networks: Networks, route: Route | undefined): Problem | undefined {
      const nowMs = clock.monotonicMs();
      if (isProbe(route)) {
        const waitSeconds = limits.take('probes', networks.client, nowMs);
        return waitSeconds > 0 ? tooMany(waitSeconds) : undefined;
      }
      // A good key is not held by what its neighbours ask; whether it is good is known later.
      const waitSeconds =
        limits.waitFor('answers', networks.client, nowMs) ||
        (isKeyed(route) ? 0 : limits.waitFor('answersNear', networks.neighbourhood, nowMs));
      if (waitSeconds > 0) return tooMany(waitSeconds);
      if (!isKeyed(route)) count(networks);
      return undefined;
    },
    /** Counts a request that was answered with this status. */
    answered(networks: Networks, route: Route | undefined, status: number): void {
      if ((status === 401 || status === 403) && isKeyed(route)) count(networks);
    },
  };
}

export type AnswerLimits = ReturnType<typeof createAnswerLimits>;

function isKeyed(route: Route | undefined): boolean {
  return route?.who === 'api-key' || route?.who === 'bouncer' || route?.who === 'agent';
}

export function isProbe(route: Route | undefined): boolean {
  return route?.kind === 'plain' && route.isProbe === true;
}

function tooMany(waitSeconds: number): Problem {
  return problem(
    'client_limit_exceeded',
    429,
    'Too many requests of your network in a short time.',
    [['Retry-After', String(waitSeconds)]],
  );
}
