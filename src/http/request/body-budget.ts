/**
 * The budget of memory for the bodies that are being collected. A body of a few kilobytes is
 * bounded by the number of requests in flight; what a body holds beyond that is drawn from a
 * budget of the client and one of the thread, so that many large bodies at once are refused
 * instead of filling the memory, and small ones never wait for large ones.
 *
 * A client and its network may hold at most what is left for all: the fuller the memory, the less
 * for each. So a few can't take it whole and shut the others out (dynamic thresholds: Choudhury and
 * Hahne, IEEE/ACM Transactions on Networking 6(2), 1998, with factor 1).
 */

import type { Networks } from '../../ip/networks.ts';
import { retryLater } from '../answer/refusal.ts';
import type { HttpLimits } from '../limits/limits.ts';
import { NetworkCounts } from '../limits/request-slots.ts';
import type { Problem } from './message.ts';

/** The bytes that one request has drawn from the budget. */
export interface BodyShare {
  /** Asks for room for `bytes` in all. @returns why there is none; what was drawn stays drawn */
  hold(bytes: number): Problem | undefined;
  /** Gives all of them back; called once, when the request is over. */
  release(): void;
}

export interface BodyBudget {
  open(networks: Networks): BodyShare;
  /** Bytes drawn at present. */
  held(): number;
}

export function createBodyBudget(
  limits: Pick<HttpLimits, 'bodyBytesFree' | 'bodyBytesPerClientMax' | 'bodyBytesInAllMax'>,
): BodyBudget {
  const tally = new NetworkCounts();
  return {
    open(networks) {
      let drawn = 0;
      return {
        hold(bytes) {
          const more = Math.max(0, bytes - limits.bodyBytesFree) - drawn;
          if (more <= 0) return undefined;
          const ofClient = tally.ofClient(networks) + more;
          const ofNetwork = tally.ofNetwork(networks) + more;
          if (ofClient > limits.bodyBytesPerClientMax) return clientHoldsMuch;
          if (ofNetwork > limits.bodyBytesInAllMax - tally.total) return allHoldMuch;
          tally.add(networks, more);
          drawn += more;
          return undefined;
        },
        release() {
          if (drawn > 0) tally.remove(networks, drawn);
          drawn = 0;
        },
      };
    },
    held: () => tally.total,
  };
}

const clientHoldsMuch = retryLater(
  'client_limit_exceeded',
  429,
  'Too many large bodies at the same time.',
);
const allHoldMuch = retryLater('overloaded', 503, 'Too many large bodies are being received.');
