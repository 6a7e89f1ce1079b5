/**
 * The slots of requests by their state: the body arrives, a handler works, or the answer waits to
 * be read. A request holds one slot at a time, of the kind that it waits for, so slow clients take
 * nothing from those for whom the service works.
 */

import { FairShare, type SharePart } from '../../core/fair-share.ts';
import { type Networks, networksOf } from '../../ip/networks.ts';
import { retryLater } from '../answer/refusal.ts';
import type { Problem } from '../request/message.ts';
import type { HttpLimits } from './limits.ts';

// Sums per client, per neighbourhood and in all, of whatever is held for a while and given back.

class CountsByNetworks {
  #total = 0;
  readonly #clients = new Map<string, number>();
  readonly #neighbourhoods = new Map<string, number>();

  get total(): number {
    return this.#total;
  }

  ofClient({ client }: Networks): number {
    return this.#clients.get(client) ?? 0;
  }

  ofNeighbourhood({ neighbourhood }: Networks): number {
    return this.#neighbourhoods.get(neighbourhood) ?? 0;
  }

  add({ client, neighbourhood }: Networks, amount: number): void {
    this.#total += amount;
    addTo(this.#clients, client, amount);
    addTo(this.#neighbourhoods, neighbourhood, amount);
  }

  remove(networks: Networks, amount: number): void {
    this.add(networks, -amount);
  }
}

/** No key stays longer than something of it is held. */
function addTo(sums: Map<string, number>, key: string, amount: number): void {
  const sum = (sums.get(key) ?? 0) + amount;
  if (sum === 0) sums.delete(key);
  else sums.set(key, sum);
}

// Slots for requests that a handler works on. A client may hold a sixteenth of what is left, a
// network an eighth: the fewer slots are left, the fewer for each, so that a few networks can't
// take all and shut the others out (dynamic thresholds: Choudhury and Hahne, IEEE/ACM Transactions
// on Networking 6(2), 1998). A client that holds none gets one as long as there is one.

const clientShare = 1 / 16;
const neighbourhoodShare = 1 / 8;

const clientHoldsMany = retryLater(
  'client_limit_exceeded',
  429,
  'Too many requests of your network at the same time.',
);
const allAreTaken = retryLater('overloaded', 503, 'Too busy.');

export class ConcurrencyLimit {
  readonly #max: number;
  readonly #counts = new CountsByNetworks();
  /** With so few taken nobody can hold more than a share: nothing has to be looked up. */
  readonly #quietBelow: number;

  constructor(max: number) {
    this.#max = max;
    this.#quietBelow = Math.floor((max * clientShare - 1) / (1 + clientShare));
  }

  get taken(): number {
    return this.#counts.total;
  }

  /** Returns why one more request of this client gets no slot, or undefined. */
  refusalOf(networks: () => Networks): Problem | undefined {
    if (this.#counts.total <= this.#quietBelow) return undefined;
    const left = this.#max - this.#counts.total;
    if (left <= 0) return allAreTaken;
    const held = networks();
    const isOverLimit =
      this.#counts.ofClient(held) + 1 > Math.max(1, left * clientShare) ||
      this.#counts.ofNeighbourhood(held) + 1 > Math.max(1, left * neighbourhoodShare);
    return isOverLimit ? clientHoldsMany : undefined;
  }

  /** @returns a function that releases the slot, to be called once */
  take(networks: Networks): () => void {
    this.#counts.add(networks, 1);
    return () => this.#counts.remove(networks, 1);
  }
}

// Slots for requests that only wait for their client: bodies that arrive, answers that are not
// read. A newcomer always gets one. When none is left, the oldest request of the network that holds
// most is evicted; so is that of a client or a network at its own bound. Slow clients evict
// themselves, and a client whose body comes at once never waits long enough to be evicted.

interface EvictableBounds {
  readonly max: number;
  readonly perClientMax: number;
  readonly perNeighbourhoodMax: number;
}

interface SlotHolder {
  readonly part: SharePart<SlotHolder>;
  readonly evict: () => void;
}

export class EvictableSlots {
  readonly #bounds: EvictableBounds;
  readonly #holders = new FairShare<SlotHolder>();

  constructor(bounds: EvictableBounds) {
    this.#bounds = bounds;
  }

  get taken(): number {
    return this.#holders.size;
  }

  /**
   * @param evict called at most once, when another request needs the slot
   * @returns a function that releases the slot; it does nothing after an eviction
   */
  take({ neighbourhood, client }: Networks, evict: () => void): () => void {
    const part = this.#holders.open(neighbourhood, client);
    const victim = this.#victimFor(part);
    const holder: SlotHolder = { part, evict };
    this.#holders.add(part, holder);
    if (victim !== undefined) {
      this.#holders.remove(victim.part, victim);
      victim.evict();
    }
    return () => {
      this.#holders.remove(part, holder);
    };
  }

  #victimFor(part: SharePart<SlotHolder>): SlotHolder | undefined {
    const { max, perClientMax, perNeighbourhoodMax } = this.#bounds;
    if (part.items.size >= perClientMax) return oldestOf(part);
    if (part.whole.held.total >= perNeighbourhoodMax) return oldestOf(part.whole.held.largest());
    return this.#holders.size >= max
      ? oldestOf(this.#holders.largest()?.held.largest())
      : undefined;
  }
}

function oldestOf(part: SharePart<SlotHolder> | undefined): SlotHolder | undefined {
  return part?.items.values().next().value;
}

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
      perNeighbourhoodMax: limits.waitingPerNeighbourhoodMax,
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
    this.refused = new EvictableSlots({ max, perClientMax: max, perNeighbourhoodMax: max });
  }

  open(clientIp: string): RequestSlot {
    return new RequestSlot(this, clientIp);
  }
}

export class RequestSlot {
  readonly #slots: RequestSlots;
  readonly #clientIp: string;
  #networks: Networks | undefined;
  #leave: (() => void) | undefined;

  constructor(slots: RequestSlots, clientIp: string) {
    this.#slots = slots;
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
    this.#move(this.#slots.arriving.take(this.networks(), evict));
  }

  /** @param parts what is held until it is read */
  awaitReader(parts: readonly Uint8Array[], evict: () => void): void {
    const networks = this.networks();
    const leaveSlot = this.#slots.unread.take(networks, evict);
    const letGo = this.#slots.unreadBytes.take(networks.client, parts, evict);
    this.#move(() => {
      leaveSlot();
      letGo();
    });
  }

  /** Takes a slot for a connection whose body is refused and that ends soon. */
  drainBody(evict: () => void): void {
    this.#move(this.#slots.refused.take(this.networks(), evict));
  }

  leave(): void {
    this.#move(undefined);
  }

  #workplaces(isProbe: boolean): ConcurrencyLimit {
    return isProbe ? this.#slots.probes : this.#slots.working;
  }

  #move(leaveNext: (() => void) | undefined): void {
    this.#leave?.();
    this.#leave = leaveNext;
  }
}

// The budget of memory for answers that wait to be read. A newcomer always gets room; a client beyond
// its bound loses its oldest answers, and when all hold too much, the client that holds most does.
//
// Memory that several answers share, as feeds do, counts once: with the one that has it longest.

interface UnreadBounds {
  readonly perClientMax: number;
  readonly max: number;
}

interface Holder {
  readonly client: Client;
  readonly buffers: ReadonlySet<ArrayBufferLike>;
  readonly evict: () => void;
  /** The bytes that are charged to this holder. */
  bytes: number;
}

interface Client {
  readonly key: string;
  bytes: number;
  /** Oldest first. */
  readonly holders: Set<Holder>;
}

export class UnreadBytes {
  readonly #bounds: UnreadBounds;
  readonly #clients = new Map<string, Client>();
  /** Oldest first; all bytes of a buffer count with the first. */
  readonly #holders = new Map<ArrayBufferLike, Set<Holder>>();
  #total = 0;

  constructor(bounds: UnreadBounds) {
    this.#bounds = bounds;
  }

  get total(): number {
    return this.#total;
  }

  /**
   * @param evict called at most once, when another answer needs the memory
   * @returns a function that gives it back; it does nothing after an eviction
   */
  take(clientKey: string, parts: readonly Uint8Array[], evict: () => void): () => void {
    const client = this.#clients.get(clientKey) ?? {
      key: clientKey,
      bytes: 0,
      holders: new Set<Holder>(),
    };
    this.#clients.set(clientKey, client);
    const buffers = new Set(parts.map(({ buffer }) => buffer));
    const holder: Holder = { client, buffers, evict, bytes: 0 };
    client.holders.add(holder);
    for (const buffer of buffers) this.#hold(buffer, holder);
    const { perClientMax, max } = this.#bounds;
    while (client.bytes > perClientMax && this.#dropOldest(client, holder));
    while (this.#total > max && this.#dropOldest(this.#largest(holder), holder));
    return () => this.#leave(holder);
  }

  #hold(buffer: ArrayBufferLike, holder: Holder): void {
    const others = this.#holders.get(buffer);
    if (others !== undefined) {
      others.add(holder);
      return;
    }
    this.#holders.set(buffer, new Set([holder]));
    this.#charge(holder, buffer.byteLength);
  }

  #charge(holder: Holder, bytes: number): void {
    holder.bytes += bytes;
    holder.client.bytes += bytes;
    this.#total += bytes;
  }

  /** Evicts the client's oldest holder, but never `wants` itself. Returns false when there is none. */
  #dropOldest(client: Client | undefined, wants: Holder): boolean {
    for (const holder of client?.holders ?? []) {
      if (holder === wants || holder.bytes === 0) continue;
      this.#leave(holder);
      holder.evict();
      return true;
    }
    return false;
  }

  /**
   * Returns the client that holds most, without the bytes of `wants`: a newcomer that is a little
   * larger than all others would else evict nobody. Clients with unread answers are few: no more
   * than there are slots.
   */
  #largest(wants: Holder): Client | undefined {
    let largest: Client | undefined;
    let most = 0;
    for (const client of this.#clients.values()) {
      const bytes = client === wants.client ? client.bytes - wants.bytes : client.bytes;
      if (bytes <= most) continue;
      largest = client;
      most = bytes;
    }
    return largest;
  }

  #leave(holder: Holder): void {
    const { client } = holder;
    if (!client.holders.delete(holder)) return;
    if (client.holders.size === 0) this.#clients.delete(client.key);
    for (const buffer of holder.buffers) {
      const sharing = this.#holders.get(buffer)!;
      const wasFirst = firstOf(sharing) === holder;
      sharing.delete(holder);
      if (!wasFirst) continue;
      this.#charge(holder, -buffer.byteLength);
      const next = firstOf(sharing);
      if (next === undefined) this.#holders.delete(buffer);
      else this.#charge(next, buffer.byteLength);
    }
  }
}

function firstOf(holders: ReadonlySet<Holder>): Holder | undefined {
  return holders.values().next().value;
}

// The budget of memory for the bodies that are being collected. A body of a few kilobytes is
// bounded by the number of requests in flight; what a body holds beyond that is drawn from a
// budget of the client and one of the thread, so that many large bodies at once are refused
// instead of filling the memory, and small ones never wait for large ones.
//
// A client and its network may hold at most what is left for all: the fuller the memory, the less
// for each. So a few can't take it whole and shut the others out (dynamic thresholds: Choudhury and
// Hahne, IEEE/ACM Transactions on Networking 6(2), 1998, with factor 1).

/** The bytes that one request has drawn from the budget. */
export interface BodyShare {
  /** Asks for room for `bytes` in all. @returns why there is none; what was drawn stays drawn */
  hold(bytes: number): Problem | undefined;
  /** Releases all bytes. Called once, at the end of the request. */
  release(): void;
}

export function createBodyBudget(
  limits: Pick<HttpLimits, 'bodyBytesFree' | 'bodyBytesPerClientMax' | 'bodyBytesInAllMax'>,
) {
  const counts = new CountsByNetworks();
  return {
    open(networks: Networks): BodyShare {
      let drawn = 0;
      return {
        hold(bytes) {
          const more = Math.max(0, bytes - limits.bodyBytesFree) - drawn;
          if (more <= 0) return undefined;
          const ofClient = counts.ofClient(networks) + more;
          const ofNeighbourhood = counts.ofNeighbourhood(networks) + more;
          if (ofClient > limits.bodyBytesPerClientMax) return clientHoldsMuch;
          if (ofNeighbourhood > limits.bodyBytesInAllMax - counts.total) return allHoldMuch;
          counts.add(networks, more);
          drawn += more;
          return undefined;
        },
        release() {
          if (drawn > 0) counts.remove(networks, drawn);
          drawn = 0;
        },
      };
    },
    /** Bytes drawn at present. */
    held: (): number => counts.total,
  };
}

export type BodyBudget = ReturnType<typeof createBodyBudget>;

const clientHoldsMuch = retryLater(
  'client_limit_exceeded',
  429,
  'Too many large bodies at the same time.',
);
const allHoldMuch = retryLater('overloaded', 503, 'Too many large bodies are being received.');
