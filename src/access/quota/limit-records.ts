/**
 * Counts of clients in shared memory, so that a limit is the same however many threads count. Groups
 * of eight records: a key has its place in one of them, and where that is full the record that was not
 * used for longest is forgotten. A group is worked on by one thread at a time, for less than a
 * microsecond.
 *
 * A key is kept as 64 bits of a hash under a seed that is drawn at each start, so nobody can choose
 * an address that counts as somebody else's.
 */

import type { Random } from '../../core/random.ts';
import { type LimitRecords, ringLength } from './client-limits.ts';

/** Can be posted to another thread. */
export interface LimitMemory {
  readonly buffer: SharedArrayBuffer;
  readonly capacity: number;
  /** Two words. */
  readonly seeds: readonly [number, number];
}

const ways = 8;
/** Of a lock that somebody holds: the thread may have to wait for a processor. */
const spinsMax = 100;
const waitMs = 1;
/** Nobody works on a group for so long: a thread ended in the middle. */
const waitsMax = 200;

/** Bytes of each record: two words of the key, its last use, the newest slice, the ring. */
const bytesPerRecord = 4 + 4 + 4 + 8 + ringLength * 2;

/** @param capacity a multiple of 8 */
export function createLimitMemory(capacity: number, random: Random): LimitMemory {
  if (capacity < ways || capacity % ways !== 0) throw new RangeError('capacity: a multiple of 8');
  const head = 8;
  const locks = (capacity / ways) * 4;
  const drawn = Buffer.from(random.bytes(8));
  return {
    buffer: new SharedArrayBuffer(head + capacity * bytesPerRecord + locks),
    capacity,
    seeds: [drawn.readInt32LE(0), drawn.readInt32LE(4)],
  };
}

export function openLimitRecords({ buffer, capacity, seeds }: LimitMemory): LimitRecords {
  let at = 0;
  const next = (bytes: number) => {
    at += bytes;
    return at - bytes;
  };
  /** Records in use, and a number that grows with each use. */
  const head = new Int32Array(buffer, next(8), 2);
  const newestSlices = new Float64Array(buffer, next(capacity * 8), capacity);
  const keys = new Int32Array(buffer, next(capacity * 8), capacity * 2);
  const uses = new Int32Array(buffer, next(capacity * 4), capacity);
  const locks = new Int32Array(buffer, next((capacity / ways) * 4), capacity / ways);
  const counts = new Uint16Array(buffer, next(capacity * ringLength * 2), capacity * ringLength);
  const hash = { low: 0, high: 0 };

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

  function recordIn(group: number, slice: number): number {
    const { low, high } = hash;
    const now = Atomics.add(head, 1, 1);
    let oldest = group * ways;
    let oldestAge = -1;
    for (let record = group * ways; record < (group + 1) * ways; record++) {
      if (keys[record * 2] === low && keys[record * 2 + 1] === high) {
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
    keys[oldest * 2] = low;
    keys[oldest * 2 + 1] = high;
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
    with(key, slice, use) {
      hashKey(key);
      const group = (hash.low >>> 0) % locks.length;
      lock(group);
      try {
        return use(recordIn(group, slice));
      } finally {
        Atomics.store(locks, group, 0);
      }
    },
  };
}
