/** Limits per client as counts of all nodes: clients are named by the bits of a keyed hash. */

import type { Clock } from '../../core/clock.ts';
import type { SharedLimitRecords, Untold } from '../quota/limit-records.ts';
import type { Party } from './exchange.ts';

/** Clients of an exchange; the others have their turn in the next one. */
const entriesMax = 10_000;
const entryBytes = 4 + 4 + 4 + 2;

export function limitParty(
  name: string,
  records: SharedLimitRecords,
  clock: Pick<Clock, 'monotonicMs'>,
): Party {
  let collected: Untold[] = [];
  return {
    name,
    setPeers: records.setPeers,
    collect() {
      collected = records.untoldCounts(entriesMax);
      if (collected.length === 0) return undefined;
      const bytes = new DataView(new ArrayBuffer(collected.length * entryBytes));
      for (const [i, { low, high, windowMs, count }] of collected.entries()) {
        bytes.setInt32(i * entryBytes, low);
        bytes.setInt32(i * entryBytes + 4, high);
        bytes.setUint32(i * entryBytes + 8, windowMs);
        bytes.setUint16(i * entryBytes + 12, count);
      }
      return new Uint8Array(bytes.buffer);
    },
    told() {
      for (const untold of collected) records.settle(untold);
      collected = [];
    },
    hear(told) {
      const bytes = new DataView(told.buffer, told.byteOffset, told.byteLength);
      const nowMs = clock.monotonicMs();
      for (let i = 0; i + entryBytes <= bytes.byteLength; i += entryBytes) {
        const [low, high] = [bytes.getInt32(i), bytes.getInt32(i + 4)];
        const [windowMs, count] = [bytes.getUint32(i + 8), bytes.getUint16(i + 12)];
        if (windowMs > 0) records.hear({ low, high, windowMs, count }, nowMs);
      }
    },
  };
}
