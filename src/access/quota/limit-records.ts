/**
 * Counts of clients in shared memory, so that a limit is the same however many threads count. Groups
 * of eight records: a key has its place in one of them, and where that is full the record that was not
 * used for longest is forgotten. A group is worked on by one thread at a time, for less than a
 * microsecond.
 *
 * A key is kept as 64 bits of a hash under a seed that is drawn at each start, so nobody can choose
 * an address that counts as somebody else's. Nodes on one database share the seed, so that one names a
 * client to the other by these bits alone.
 */

import type { Random } from '../../core/random.ts';

// A client's counts under one limit are a ring of slices of its window. It must be advanced before it
// is read, so that slices which begin are empty.

/** Slices of a window; one more counts. */
export const sliceCount = 12;
/** Slices a record holds, a power of two above 13. */
export const ringLength = 16;
const countMax = 65_535;

/** The storage of clients' counts, in this thread alone or shared (limit-records.ts). */
export interface LimitRecords {
  /** A record's ring begins at `record * ringLength`. */
  readonly counts: Uint16Array;
  /** By record. */
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
    /** Returns the number of other nodes. */
    peers(): number;
  };
}

export function sliceAt(nowMs: number, windowMs: number): number {
  return Math.floor(nowMs / (windowMs / sliceCount));
}

/** Empties the slices that begin a new round of the ring. */
export function advanceRing(
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
export function addCount(counts: Uint16Array, record: number, slice: number, count: number): void {
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

/**
 * Bytes of each record: two words of the key, last use, window, newest slice, pending count, the
 * ring.
 */
const bytesPerRecord = 4 + 4 + 4 + 4 + 8 + 2 + ringLength * 2;
/** Records in use, a number that grows with each use, other nodes that count; one to align. */
const headWords = 4;
const peersAt = 2;

/** The count of a client in this process since the last exchange with other nodes. */
export interface PendingCounts {
  /** The bits of its key. */
  readonly low: number;
  readonly high: number;
  readonly windowMs: number;
  readonly count: number;
}

export interface SharedLimitRecords extends LimitRecords {
  /** Returns the pending counts of at most `max` clients, going on where the last call ended. */
  pendingCounts(max: number): PendingCounts[];
  /** Subtracts a count that the other nodes have received. */
  settle(pending: PendingCounts): void;
  /** Counts what another node counted. */
  receive(received: PendingCounts, nowMs: number): void;
  setPeers(peers: number): void;
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

export function openLimitRecords({ buffer, capacity, seeds }: LimitMemory): SharedLimitRecords {
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
  let lookedAt = 0;

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
    sharing: { pending, windows, peers: () => head[peersAt]! },
    with(key, slice, use) {
      hashKey(key);
      const group = groupOf(hash.low);
      return inGroup(group, () => use(recordIn(group, slice)));
    },
    pendingCounts(max) {
      const found: PendingCounts[] = [];
      const from = lookedAt;
      for (let i = 0; i < capacity && found.length < max; i++) {
        const record = (from + i) % capacity;
        lookedAt = (record + 1) % capacity;
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
    settle({ low, high, count }) {
      const group = groupOf(low);
      inGroup(group, () => {
        for (let record = group * ways; record < (group + 1) * ways; record++) {
          if (isNamed(record, { low, high }))
            pending[record] = Math.max(0, pending[record]! - count);
        }
      });
    },
    receive({ low, high, windowMs, count }, nowMs) {
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
    setPeers: (peers) => Atomics.store(head, peersAt, peers),
  };
}
