/**
 * Slots for requests that a handler works on. A client may hold a sixteenth of what is left, a
 * network an eighth: the fewer slots are left, the fewer for each, so that a few networks can't
 * take all and shut the others out (dynamic thresholds: Choudhury and Hahne, IEEE/ACM Transactions
 * on Networking 6(2), 1998). A client that holds none gets one as long as there is one.
 */

import type { Networks } from '../../ip/networks.ts';
import { retryLater } from '../answer/refusal.ts';
import type { Problem } from '../request/message.ts';
import { NetworkCounts } from './network-counts.ts';

const clientShare = 1 / 16;
const networkShare = 1 / 8;

const clientHoldsMany = retryLater(
  'client_limit_exceeded',
  429,
  'Too many requests of your network at the same time.',
);
const allAreTaken = retryLater('overloaded', 503, 'Too busy.');

export class ConcurrencyLimit {
  readonly #max: number;
  readonly #tally = new NetworkCounts();
  /** With so few taken nobody can hold more than a share: nothing has to be looked up. */
  readonly #quietBelow: number;

  constructor(max: number) {
    this.#max = max;
    this.#quietBelow = Math.floor((max * clientShare - 1) / (1 + clientShare));
  }

  get taken(): number {
    return this.#tally.total;
  }

  /** Returns why one more request of this client gets no slot, or undefined. */
  refusalOf(networks: () => Networks): Problem | undefined {
    if (this.#tally.total <= this.#quietBelow) return undefined;
    const left = this.#max - this.#tally.total;
    if (left <= 0) return allAreTaken;
    const held = networks();
    const isOverLimit =
      this.#tally.ofClient(held) + 1 > Math.max(1, left * clientShare) ||
      this.#tally.ofNetwork(held) + 1 > Math.max(1, left * networkShare);
    return isOverLimit ? clientHoldsMany : undefined;
  }

  /** @returns a function that releases the slot, to be called once */
  take(networks: Networks): () => void {
    this.#tally.add(networks, 1);
    return () => this.#tally.remove(networks, 1);
  }
}
