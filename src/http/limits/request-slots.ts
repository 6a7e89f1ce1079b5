/**
 * The slots of requests by their state: the body arrives, a handler works, or the answer waits to
 * be read. A request holds one slot at a time, of the kind that it waits for, so slow clients take
 * nothing from those for whom the service works.
 */

import { type Networks, networksOf } from '../../ip/networks.ts';
import type { Problem } from '../request/message.ts';
import { ConcurrencyLimit } from './concurrency-limit.ts';
import { EvictableSlots } from './evictable-slots.ts';
import type { HttpLimits } from './limits.ts';
import { UnreadBytes } from './unread-bytes.ts';

export class RequestSlots {
  readonly working: ConcurrencyLimit;
  readonly probes: ConcurrencyLimit;
  readonly arriving: EvictableSlots;
  readonly unread: EvictableSlots;
  readonly unreadBytes: UnreadBytes;
  readonly refused: EvictableSlots;

  constructor(limits: HttpLimits) {
    const waiting = {
      max: limits.waitingMax,
      perClientMax: limits.waitingPerClientMax,
      perNetworkMax: limits.waitingPerNetworkMax,
    };
    this.working = new ConcurrencyLimit(limits.inFlightMax);
    this.probes = new ConcurrencyLimit(limits.probesMax);
    this.arriving = new EvictableSlots(waiting);
    this.unread = new EvictableSlots(waiting);
    this.unreadBytes = new UnreadBytes({
      perClientMax: limits.unreadBytesPerClientMax,
      max: limits.unreadBytesInAllMax,
    });
    const max = limits.refusedMax;
    this.refused = new EvictableSlots({ max, perClientMax: max, perNetworkMax: max });
  }

  open(clientIp: string): RequestSlot {
    return new RequestSlot(this, clientIp);
  }
}

/** The slot of one request. */
export class RequestSlot {
  readonly #seats: RequestSlots;
  readonly #clientIp: string;
  #networks: Networks | undefined;
  #leave: (() => void) | undefined;

  constructor(slots: RequestSlots, clientIp: string) {
    this.#seats = slots;
    this.#clientIp = clientIp;
  }

  /** Found out when it is first needed: most requests never wait. */
  readonly networks = (): Networks => {
    this.#networks ??= networksOf(this.#clientIp);
    return this.#networks;
  };

  /** Returns why no handler may begin, or undefined. */
  refusalOf(isProbe: boolean): Problem | undefined {
    return this.#workplaces(isProbe).refusalOf(this.networks);
  }

  /** Takes a slot for a handler that goes on after this turn. */
  work(isProbe: boolean): void {
    this.#move(this.#workplaces(isProbe).take(this.networks()));
  }

  /** @param evict ends the exchange: another request needs the slot */
  arrive(evict: () => void): void {
    this.#move(this.#seats.arriving.take(this.networks(), evict));
  }

  /** @param parts what is held until it is read */
  awaitReader(parts: readonly Uint8Array[], evict: () => void): void {
    const networks = this.networks();
    const leavePlace = this.#seats.unread.take(networks, evict);
    const letGo = this.#seats.unreadBytes.take(networks.client, parts, evict);
    this.#move(() => {
      leavePlace();
      letGo();
    });
  }

  /** Takes a slot for a connection whose body is refused and that ends soon. */
  drainBody(evict: () => void): void {
    this.#move(this.#seats.refused.take(this.networks(), evict));
  }

  leave(): void {
    this.#move(undefined);
  }

  #workplaces(isProbe: boolean): ConcurrencyLimit {
    return isProbe ? this.#seats.probes : this.#seats.working;
  }

  #move(leaveNext: (() => void) | undefined): void {
    this.#leave?.();
    this.#leave = leaveNext;
  }
}
