/**
 * Answers who sends a request, for limits per client and for reputation. A client is an IPv4 address or an IPv6 /64.
 * Limits of routes are applied to requests here only.
 */

import type { ClientLimits } from '../../access/quota/client-limits.ts';
import type { ClientLimitName } from '../../config/limits.ts';
import { scoreBand } from '../../contracts/reputation.ts';
import type { Clock } from '../../core/clock.ts';
import type { Request } from '../../http/request/message.ts';
import { type IpFamily, parseIp } from '../../ip/address.ts';
import { clientOf, type Networks, networksOf } from '../../ip/networks.ts';

export type Sender = Pick<Request, 'clientIp'>;

/**
 * @param options.limits the table that counts: the main thread's own for its routes, the one that front ends share for
 *   theirs and for what both answer (CrowdSec's agents)
 */
export function createCallers(options: {
  /** Undefined when CLIENT_LIMITS=off. */
  limits: ClientLimits<ClientLimitName> | undefined;
  /** The verdict of the index on an address. */
  check: {
    judge(
      family: IpFamily,
      words: Uint32Array,
      nowMs: number,
    ): {
      readonly malicious: boolean;
      readonly score: number;
      readonly anonymousExit: boolean;
    };
  };
  clock: Clock;
}) {
  const { limits, check, clock } = options;
  const words = new Uint32Array(4);

  function nameOf({ clientIp }: Sender): string {
    const family = parseIp(clientIp, words);
    return family === 0 ? clientIp : clientOf(family, words);
  }

  return {
    /** Name of the client that limits count by. */
    clientOf: nameOf,
    /** Returns the names of the client and of the network around it, to count by. */
    networksOf: ({ clientIp }: Sender): Networks => networksOf(clientIp),
    /** Counts one request of whatever this text names. 0 when admitted, else whole seconds to wait. */
    takeOrWaitFor: (limit: ClientLimitName, name: string): number =>
      limits?.takeOrWait(limit, name, clock.monotonicMs()) ?? 0,
    /** Counts one request. 0 when admitted, else whole seconds to wait. */
    takeOrWait: (limit: ClientLimitName, caller: Sender): number =>
      limits?.takeOrWait(limit, nameOf(caller), clock.monotonicMs()) ?? 0,
    /** Counts `cost` more for a request that was admitted. */
    charge: (limit: ClientLimitName, caller: Sender, cost: number): void =>
      limits?.charge(limit, nameOf(caller), clock.monotonicMs(), cost),
    /** True for an address with a clean score that is no exit of an anonymising network. */
    isClean({ clientIp }: Sender): boolean {
      const family = parseIp(clientIp, words);
      if (family === 0) return false;
      const { score, anonymousExit } = check.judge(family, words, clock.now());
      return scoreBand(score) === 'clean' && !anonymousExit;
    },
    /** An exit of an anonymising network, whatever its score. */
    isExit({ clientIp }: Sender): boolean {
      const family = parseIp(clientIp, words);
      return family !== 0 && check.judge(family, words, clock.now()).anonymousExit;
    },
    /** 0 to 100; 0 for what is no address. */
    abuseScoreOf({ clientIp }: Sender): number {
      const family = parseIp(clientIp, words);
      return family === 0 ? 0 : check.judge(family, words, clock.now()).score;
    },
  };
}

export type Callers = ReturnType<typeof createCallers>;
