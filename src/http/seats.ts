/**
 * The places of requests by their state: the body arrives, a handler works, or the answer waits to be
 * read. A request holds one place at a time, of the kind of what it waits for, so slow clients take
 * nothing from those for whom the service works.
 */

import { type Networks, networksOf } from '../ip/networks.ts';
import type { HttpLimits } from './limits.ts';
import type { Problem } from './message.ts';
import { Places } from './places.ts';
import { UnreadBytes } from './unread-bytes.ts';
import { YieldingPlaces } from './yielding-places.ts';

export class Seats {
  readonly working: Places;
  readonly probes: Places;
  readonly arriving: YieldingPlaces;
  readonly unread: YieldingPlaces;
  readonly unreadBytes: UnreadBytes;
  readonly refused: YieldingPlaces;

  constructor(limits: HttpLimits) {
    const waiting = {
      max: limits.waitingMax,
      perClientMax: limits.waitingPerClientMax,
      perNetworkMax: limits.waitingPerNetworkMax,
    };
    this.working = new Places(limits.inFlightMax);
    this.probes = new Places(limits.probesMax);
    this.arriving = new YieldingPlaces(waiting);
    this.unread = new YieldingPlaces(waiting);
    this.unreadBytes = new UnreadBytes({
      perClientMax: limits.unreadBytesPerClientMax,
      max: limits.unreadBytesInAllMax,
    });
    const max = limits.refusedMax;
    this.refused = new YieldingPlaces({ max, perClientMax: max, perNetworkMax: max });
  }

  open(clientIp: string): Seat {
    return new Seat(this, clientIp);
  }
}

/** The places of one request. */
export class Seat {
  readonly #seats: Seats;
  readonly #clientIp: string;
  #networks: Networks | undefined;
  #leave: (() => void) | undefined;

  constructor(seats: Seats, clientIp: string) {
    this.#seats = seats;
    this.#clientIp = clientIp;
  }

  /** Found out when it is first needed: most requests never wait. */
  readonly networks = (): Networks => {
    this.#networks ??= networksOf(this.#clientIp);
    return this.#networks;
  };

  /** Why no handler may begin, or undefined. */
  refusalOf(isProbe: boolean): Problem | undefined {
    return this.#workplaces(isProbe).refusalOf(this.networks);
  }

  /** Takes a place for a handler that goes on after this turn. */
  work(isProbe: boolean): void {
    this.#move(this.#workplaces(isProbe).take(this.networks()));
  }

  /** @param giveWay ends the exchange: another needs the place */
  arrive(giveWay: () => void): void {
    this.#move(this.#seats.arriving.take(this.networks(), giveWay));
  }

  /** @param parts what is held until it is read */
  awaitReader(parts: readonly Uint8Array[], giveWay: () => void): void {
    const networks = this.networks();
    const leavePlace = this.#seats.unread.take(networks, giveWay);
    const letGo = this.#seats.unreadBytes.take(networks.client, parts, giveWay);
    this.#move(() => {
      leavePlace();
      letGo();
    });
  }

  /** Takes a place for a connection whose body is refused and that ends soon. */
  linger(giveWay: () => void): void {
    this.#move(this.#seats.refused.take(this.networks(), giveWay));
  }

  leave(): void {
    this.#move(undefined);
  }

  #workplaces(isProbe: boolean): Places {
    return isProbe ? this.#seats.probes : this.#seats.working;
  }

  #move(leaveNext: (() => void) | undefined): void {
    this.#leave?.();
    this.#leave = leaveNext;
  }
}
