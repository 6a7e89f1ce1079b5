/**
 * The budget of memory for answers that wait to be read. A newcomer always gets room; a client beyond
 * its bound loses its oldest answers, and when all hold too much, the client that holds most does.
 *
 * Memory that several answers share, as feeds do, counts once: with the one that has it longest.
 */

export interface UnreadBounds {
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
