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
import {
  addCount,
  advanceRing,
  type LimitRecords,
  ringLength,
  sliceAt,
  sliceCount,
} from './limit-records.ts';

const keyLengthMax = 320;

export interface ClientLimits<Name extends string> {
  /**
   * Counts one request of `client` (see `clientOf` in ip/networks.ts, or any text up to 320 characters) against a
   * limit. `nowMs` is monotonic. 0 when admitted, else whole seconds to wait: `Retry-After`.
   */
  take(name: Name, client: string, nowMs: number): number;
  /** Returns the same as `take`, but counts nothing. */
  waitFor(name: Name, client: string, nowMs: number): number;
  /**
   * Counts `cost` requests more, also past the limit: for one that was admitted and then turned
   * out to be a dear one, such as a wrong answer.
   */
  charge(name: Name, client: string, nowMs: number, cost: number): void;
  /** Clients remembered at the moment, of so many. */
  table(name: string): BoundedTable;
  readonly size: number;
}

/** `narrow`: an IPv4 address or an IPv6 /64; `wide`: its IPv4 /24 or IPv6 /48. */
export interface Network {
  readonly narrow: string;
  readonly wide: string;
}

/** Creates records in this thread's own memory. */
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
): ClientLimits<Name> {
  for (const name of Object.keys(limits) as Name[]) checkLimit(name, limits[name]);
  const records = typeof room === 'number' ? ownRecords(room) : room;
  const { counts, newestSlices, sharing } = records;

  const sliceOf = (name: Name, nowMs: number) => sliceAt(nowMs, limits[name].windowMs);

  /** Runs `look` on the client's record, with its ring advanced to `slice`. */
  function onRing(name: Name, client: string, slice: number, look: (record: number) => number) {
    if (client.length > keyLengthMax) throw new RangeError('client name too long');
    return records.with(`${name} ${client}`, slice, (record) => {
      advanceRing(counts, newestSlices, record, slice);
      return look(record);
    });
  }

  /**
   * Returns the cost that other nodes may have admitted since the last exchange: for each of them
   * as much as is pending here.
   */
  function pendingUse(record: number, used: number): number {
    const peers = sharing?.peers() ?? 0;
    if (peers === 0) return 0;
    // Pending counts older than the window don't matter. The first request is always free.
    const pending = Math.min(used, sharing!.pending[record]!);
    return pending > 0 ? peers * (pending + 1) : 0;
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
    table: (name) => ({ name, used: () => records.size, limit: records.capacity }),
    take(name, client, nowMs) {
      const slice = sliceOf(name, nowMs);
      return onRing(name, client, slice, (record) => {
        const waitSeconds = waitAt(record, name, slice, nowMs);
        if (waitSeconds === 0) count(record, name, slice, 1);
        return waitSeconds;
      });
    },
    waitFor(name, client, nowMs) {
      const slice = sliceOf(name, nowMs);
      return onRing(name, client, slice, (record) => waitAt(record, name, slice, nowMs));
    },
    charge(name, client, nowMs, cost) {
      const slice = sliceOf(name, nowMs);
      onRing(name, client, slice, (record) => {
        count(record, name, slice, cost);
        return 0;
      });
    },
  };
}

function checkLimit(name: string, { max, windowMs }: ClientLimit): void {
  if (Number.isInteger(max) && max >= 1 && max <= 65_535 && windowMs >= sliceCount) return;
  throw new RangeError(`client limit ${name}: max must be 1 to 65535, windowMs at least 12`);
}
