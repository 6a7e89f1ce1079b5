/**
 * Who calls, for limits per client and for reputation. A client is an IPv4 address or an IPv6
 * /64. The one place where a route's limit meets a request.
 */

import { type ClientLimits, clientOf } from '../access/client-limits.ts';
import type { ClientLimitName } from '../config.ts';
import type { Clock } from '../core/clock.ts';
import type { Request } from '../http/message.ts';
import { parseIp } from '../ip/address.ts';
import type { Check } from '../reputation/check.ts';

export type Caller = Pick<Request, 'clientIp'>;

export interface Callers {
  /** Name of the client that limits count by. */
  clientOf(caller: Caller): string;
  /** Counts one request. 0 when admitted, else whole seconds to wait. */
  take(limit: ClientLimitName, caller: Caller): number;
  /** Counts `cost` more for a request that was admitted. */
  charge(limit: ClientLimitName, caller: Caller, cost: number): void;
  isMalicious(caller: Caller): boolean;
}

export function createCallers(options: {
  /** Undefined when CLIENT_LIMITS=off. */
  limits: ClientLimits<ClientLimitName> | undefined;
  check: Pick<Check, 'judge'>;
  clock: Clock;
}): Callers {
  const { limits, check, clock } = options;
  const words = new Uint32Array(4);

  function nameOf({ clientIp }: Caller): string {
    const family = parseIp(clientIp, words);
    return family === 0 ? clientIp : clientOf(family, words);
  }

  return {
    clientOf: nameOf,
    take: (limit, caller) => limits?.take(limit, nameOf(caller), clock.monotonicMs()) ?? 0,
    charge: (limit, caller, cost) =>
      limits?.charge(limit, nameOf(caller), clock.monotonicMs(), cost),
    isMalicious({ clientIp }) {
      const family = parseIp(clientIp, words);
      return family !== 0 && check.judge(family, words, clock.now()).malicious;
    },
  };
}
