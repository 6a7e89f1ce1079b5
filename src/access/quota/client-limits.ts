/**
 * Limits per client (address, mailbox, phone number) for routes that need no key. A window is cut
 * into 12 slices and the last 13 count, so in no `windowMs` are more than `max` requests admitted,
 * and each is forgotten a twelfth of the window late at most. Refused requests don't count: a
 * client that keeps trying is admitted as soon as one that waits.
 *
 * Memory is fixed: so many clients over all limits. At the bound the client that has been
 * quiet longest is forgotten. Whoever commands that many addresses isn't held by a limit per
 * address anyway; IPv6 therefore counts per /64, the smallest network a subscriber gets.
 */

import type { ClientLimit } from '../../config/limits.ts';
import type { BoundedTable } from '../../core/bounded-tables.ts';
import type { Random } from '../../core/random.ts';

// Counts of clients in shared memory, so that a limit is the same however many threads count. Groups
// of eight records: a key has its place in one of them, and where that is full the record that was not
// used for longest is forgotten. A group is worked on by one thread at a time, for less than a
// microsecond.
//
// A key is kept as 64 bits of a hash under a seed that is drawn at each start, so nobody can choose
// an address that counts as somebody else's. Nodes on one database share the seed, so that one names a
// client to the other by these bits alone.

// A client's counts under one limit are a ring of slices of its window. It must be advanced before it
// is read, so that slices which begin are empty.

/** Slices of a window; one more counts. */
const sliceCount = 12;
/** Slices a record holds, a power of two above 13. */
const ringLength = 16;
const countMax = 65_535;

/** The storage of clients' counts, in this thread alone or shared (`openLimitRecords`). */
export interface LimitRecords {
  /** A record's ring begins at `record * ringLength`. */
  readonly counts: Uint16Array;
  readonly newestSlices: Float64Array;
  /** Runs `use` with the key's record locked and returns its result. A new record counts from `slice` on. */
  with(key: string, slice: number, use: (record: number) => number): number;
  readonly size: number;
  readonly capacity: number;
  /** Present when counts are exchanged with other nodes. */
  readonly sharing?: {
    /** Counted here since the last exchange, by record. */
    readonly pending: Uint16Array;
    /** Window of the record's limit, in ms. */
    readonly windows: Uint32Array;
    otherNodes(): number;
  };
}

function sliceAt(nowMs: number, windowMs: number): number {
  return Math.floor(nowMs / (windowMs / sliceCount));
}

/** Empties the slices that begin a new round of the ring. */
function advanceRing(
  counts: Uint16Array,
  newestSlices: Float64Array,
  record: number,
  slice: number,
): void {
  const newest = newestSlices[record]!;
  for (let j = Math.max(newest, slice - ringLength) + 1; j <= slice; j++) {
    counts[record * ringLength + (j % ringLength)] = 0;
  }
  newestSlices[record] = Math.max(newest, slice);
}

/** Stops at what a slice holds. */
function addCount(counts: Uint16Array, record: number, slice: number, count: number): void {
  const at = record * ringLength + (slice % ringLength);
  counts[at] = Math.min(countMax, counts[at]! + count);
}

/** Can be posted to another thread. */
export interface LimitMemory {
  readonly buffer: SharedArrayBuffer;
  readonly capacity: number;
  /** Two words. */
  readonly seeds: readonly [number, number];
}

const ways = 8;
/** Tries of a held lock before the thread sleeps: its holder may be waiting for a processor. */
const spinsMax = 100;
const waitMs = 1;
/** After this many waits the lock is broken: its holder's thread must have ended while holding it. */
const waitsMax = 200;

/** Bytes of each record: two words of the key, last use, window, newest slice, pending count, the ring. */
const bytesPerRecord = 4 + 4 + 4 + 4 + 8 + 2 + ringLength * 2;
/** Records in use, a number that grows with each use, other nodes that count; one to align. */
const headWords = 4;
const otherNodesAt = 2;

/** The count of a client in this process since the last exchange with other nodes. */
export interface PendingCounts {
  /** The bits of its key. */
  readonly low: number;
  readonly high: number;
  readonly windowMs: number;
  readonly count: number;
}

/** @param capacity a multiple of 8 */
export function createLimitMemory(capacity: number, random: Pick<Random, 'bytes'>): LimitMemory {
  if (capacity < ways || capacity % ways !== 0) throw new RangeError('capacity: a multiple of 8');
  const head = headWords * 4;
  const locks = (capacity / ways) * 4;
  const drawn = Buffer.from(random.bytes(8));
  return {
    buffer: new SharedArrayBuffer(head + capacity * bytesPerRecord + locks),
    capacity,
    seeds: [drawn.readInt32LE(0), drawn.readInt32LE(4)],
  };
}

export function openLimitRecords({ buffer, capacity, seeds }: LimitMemory) {
  let at = 0;
  const next = (bytes: number) => {
    at += bytes;
    return at - bytes;
  };
  const head = new Int32Array(buffer, next(headWords * 4), headWords);
  const newestSlices = new Float64Array(buffer, next(capacity * 8), capacity);
  const keys = new Int32Array(buffer, next(capacity * 8), capacity * 2);
  const uses = new Int32Array(buffer, next(capacity * 4), capacity);
  const windows = new Uint32Array(buffer, next(capacity * 4), capacity);
  const locks = new Int32Array(buffer, next((capacity / ways) * 4), capacity / ways);
  const counts = new Uint16Array(buffer, next(capacity * ringLength * 2), capacity * ringLength);
  const pending = new Uint16Array(buffer, next(capacity * 2), capacity);
  const hash = { low: 0, high: 0 };
  let nextExamined = 0;

  function hashKey(key: string): void {
    let [low, high] = seeds;
    for (let i = 0; i < key.length; i++) {
      const code = key.charCodeAt(i);
      low = Math.imul(low ^ code, 0x9e3779b1);
      low ^= low >>> 15;
      high = Math.imul(high ^ code, 0x85ebca6b);
      high ^= high >>> 13;
    }
    hash.low = Math.imul(low, 0xc2b2ae35) ^ high;
    // 0 and 0 is a record that nobody has used.
    hash.high = Math.imul(high, 0x27d4eb2f) ^ (low >>> 16) || 1;
  }

  function lock(group: number): void {
    for (let waits = 0; waits < waitsMax; waits++) {
      for (let spins = 0; spins < spinsMax; spins++) {
        if (Atomics.compareExchange(locks, group, 0, 1) === 0) return;
      }
      Atomics.wait(locks, group, 1, waitMs);
    }
  }

  const groupOf = (low: number) => (low >>> 0) % locks.length;

  function inGroup<T>(group: number, work: () => T): T {
    lock(group);
    try {
      return work();
    } finally {
      Atomics.store(locks, group, 0);
    }
  }

  function isNamed(record: number, { low, high }: Pick<PendingCounts, 'low' | 'high'>): boolean {
    return keys[record * 2] === low && keys[record * 2 + 1] === high;
  }

  function recordIn(group: number, slice: number): number {
    const now = Atomics.add(head, 1, 1);
    let oldest = group * ways;
    let oldestAge = -1;
    for (let record = group * ways; record < (group + 1) * ways; record++) {
      if (isNamed(record, hash)) {
        uses[record] = now;
        return record;
      }
      const isFree = keys[record * 2 + 1] === 0;
      const age = isFree ? Number.POSITIVE_INFINITY : (now - uses[record]!) >>> 0;
      if (age > oldestAge) {
        oldest = record;
        oldestAge = age;
      }
    }
    if (oldestAge === Number.POSITIVE_INFINITY) Atomics.add(head, 0, 1);
    keys[oldest * 2] = hash.low;
    keys[oldest * 2 + 1] = hash.high;
    pending[oldest] = 0;
    uses[oldest] = now;
    counts.fill(0, oldest * ringLength, (oldest + 1) * ringLength);
    newestSlices[oldest] = slice;
    return oldest;
  }

  return {
    counts,
    newestSlices,
    capacity,
    get size() {
      return Atomics.load(head, 0);
    },
    sharing: { pending, windows, otherNodes: () => head[otherNodesAt]! },
    with(key: string, slice: number, use: (record: number) => number): number {
      hashKey(key);
      const group = groupOf(hash.low);
      return inGroup(group, () => use(recordIn(group, slice)));
    },
    /** Returns the pending counts of at most `max` clients, going on where the last call ended. */
    pendingCounts(max: number): PendingCounts[] {
      const found: PendingCounts[] = [];
      const from = nextExamined;
      for (let i = 0; i < capacity && found.length < max; i++) {
        const record = (from + i) % capacity;
        nextExamined = (record + 1) % capacity;
        if (pending[record] === 0) continue;
        const [low, high] = [keys[record * 2]!, keys[record * 2 + 1]!];
        inGroup(groupOf(low), () => {
          const [windowMs, count] = [windows[record]!, pending[record]!];
          // Forgotten just now, for another client.
          if (isNamed(record, { low, high }) && count > 0)
            found.push({ low, high, windowMs, count });
        });
      }
      return found;
    },
    /** Subtracts a count that the other nodes have received. */
    settle({ low, high, count }: PendingCounts): void {
      const group = groupOf(low);
      inGroup(group, () => {
        for (let record = group * ways; record < (group + 1) * ways; record++) {
          if (isNamed(record, { low, high }))
            pending[record] = Math.max(0, pending[record]! - count);
        }
      });
    },
    receive({ low, high, windowMs, count }: PendingCounts, nowMs: number): void {
      const slice = sliceAt(nowMs, windowMs);
      const group = groupOf(low);
      inGroup(group, () => {
        hash.low = low;
        hash.high = high;
        const record = recordIn(group, slice);
        windows[record] = windowMs;
        advanceRing(counts, newestSlices, record, slice);
        addCount(counts, record, slice, count);
      });
    },
    setOtherNodes: (otherNodes: number): void => void Atomics.store(head, otherNodesAt, otherNodes),
  };
}

export type SharedLimitRecords = ReturnType<typeof openLimitRecords>;

const keyLengthMax = 320;

function ownRecords(capacity: number): LimitRecords {
  if (!Number.isInteger(capacity) || capacity < 1) throw new RangeError('capacity must be ≥ 1');
  const counts = new Uint16Array(capacity * ringLength);
  const newestSlices = new Float64Array(capacity);
  /** Client and limit → record; in the order of last use, oldest first. */
  const records = new Map<string, number>();

  function forgetOldest(): number {
    const [key, record] = records.entries().next().value!;
    records.delete(key);
    return record;
  }

  return {
    counts,
    newestSlices,
    capacity,
    get size() {
      return records.size;
    },
    with(key, slice, use) {
      let record = records.get(key);
      if (record !== undefined) {
        records.delete(key);
      } else {
        record = records.size < capacity ? records.size : forgetOldest();
        counts.fill(0, record * ringLength, (record + 1) * ringLength);
        newestSlices[record] = slice;
      }
      records.set(key, record);
      return use(record);
    },
  };
}

export function createClientLimits<Name extends string>(
  limits: Readonly<Record<Name, ClientLimit>>,
  room: number | LimitRecords = 65_536,
) {
  for (const name of Object.keys(limits) as Name[]) checkLimit(name, limits[name]);
  const records = typeof room === 'number' ? ownRecords(room) : room;
  const { counts, newestSlices, sharing } = records;

  const sliceOf = (name: Name, nowMs: number) => sliceAt(nowMs, limits[name].windowMs);

  /** Runs `look` on the client's record, with its ring advanced to `slice`. */
  function onRing(name: Name, client: string, slice: number, use: (record: number) => number) {
    if (client.length > keyLengthMax) throw new RangeError('client name too long');
    return records.with(`${name} ${client}`, slice, (record) => {
      advanceRing(counts, newestSlices, record, slice);
      return use(record);
    });
  }

  /**
   * Returns the cost that other nodes may have admitted since the last exchange: for each of them
   * as much as is pending here.
   */
  function pendingUse(record: number, used: number): number {
    const otherNodes = sharing?.otherNodes() ?? 0;
    if (otherNodes === 0) return 0;
    // Pending counts older than the window don't matter. The first request is always free.
    const pending = Math.min(used, sharing!.pending[record]!);
    return pending > 0 ? otherNodes * (pending + 1) : 0;
  }

  function waitAt(record: number, name: Name, slice: number, nowMs: number): number {
    const { max, windowMs } = limits[name];
    const at = record * ringLength;
    const first = Math.max(0, slice - sliceCount);
    let used = 0;
    for (let j = first; j <= slice; j++) used += counts[at + (j % ringLength)]!;
    // It may be admitted after the next exchange.
    if (used < max) return used + pendingUse(record, used) < max ? 0 : 1;
    // The slice with whose end there is room again: charges can hold more than one full.
    let last = first;
    for (; last < slice; last++) {
      used -= counts[at + (last % ringLength)]!;
      if (used < max) break;
    }
    const sliceMs = windowMs / sliceCount;
    return Math.max(1, Math.ceil(((last + sliceCount + 1) * sliceMs - nowMs) / 1_000));
  }

  function count(record: number, name: Name, slice: number, cost: number): void {
    addCount(counts, record, slice, cost);
    if (sharing === undefined) return;
    sharing.windows[record] = limits[name].windowMs;
    sharing.pending[record] = Math.min(65_535, sharing.pending[record]! + cost);
  }

  return {
    get size() {
      return records.size;
    },
    /** Clients remembered at the moment, of so many. */
    table: (name: string): BoundedTable => ({
      name,
      used: () => records.size,
      limit: records.capacity,
    }),
    /**
     * Counts one request of `client` (see `clientOf` in ip/networks.ts, or any text up to 320 characters) against a
     * limit. `nowMs` is monotonic. 0 when admitted, else whole seconds to wait: `Retry-After`.
     */
    takeOrWait(name: Name, client: string, nowMs: number): number {
      const slice = sliceOf(name, nowMs);
      return onRing(name, client, slice, (record) => {
        const waitSeconds = waitAt(record, name, slice, nowMs);
        if (waitSeconds === 0) count(record, name, slice, 1);
        return waitSeconds;
      });
    },
    /** Returns the same as `takeOrWait`, but counts nothing. */
    waitFor(name: Name, client: string, nowMs: number): number {
      const slice = sliceOf(name, nowMs);
      return onRing(name, client, slice, (record) => waitAt(record, name, slice, nowMs));
    },
    /**
     * Counts `cost` requests more, also past the limit: for one that was admitted and then turned
     * out to be a dear one, such as a wrong answer.
     */
    charge(name: Name, client: string, nowMs: number, cost: number): void {
      const slice = sliceOf(name, nowMs);
      onRing(name, client, slice, (record) => {
        count(record, name, slice, cost);
        return 0;
      });
    },
  };
}

export type ClientLimits<Name extends string> = ReturnType<typeof createClientLimits<Name>>;

function checkLimit(name: string, { max, windowMs }: ClientLimit): void {
  if (Number.isInteger(max) && max >= 1 && max <= 65_535 && windowMs >= sliceCount) return;
  throw new RangeError(`client limit ${name}: max must be 1 to 65535, windowMs at least 12`);
}
