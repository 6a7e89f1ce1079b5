/** The storage of limits: memory of this process, exchanged with other nodes when they share a database. */

import type { Clock } from '../../core/clock.ts';
import type { Random } from '../../core/random.ts';
import { deriveKey, type MasterKey } from '../keys/master-key.ts';
import {
  createLimitMemory,
  type LimitMemory,
  openLimitRecords,
  type PendingCounts,
  type SharedLimitRecords,
} from '../quota/limit-records.ts';
import type { LimitRecords } from '../quota/ring.ts';
import type { Party } from './exchange.ts';

export interface DistributedLimits {
  /** Returns the records or the capacity for limits of this thread. @param name the same on all nodes */
  room(name: string, capacity: number): number | LimitRecords;
  /** Returns the memory for limits that several threads count. */
  memory(name: string, capacity: number): LimitMemory;
  /** Opens the replication of operations. @param repeat does an operation of another node */
  replicatedOperations<Operation>(
    name: string,
    repeat: (operation: Operation) => void,
  ): ReplicatedOperations<Operation>;
  /** Adds another kind of counts to the exchange. */
  add(party: Party): void;
}

/** Alone on the store. */
export const localLimits: Pick<DistributedLimits, 'room' | 'replicatedOperations'> = {
  room: (_name, capacity) => capacity,
  replicatedOperations: () => ({ send: () => {}, isFull: () => false }),
};

const seedPurpose = 'client limits 1';

export function createDistributedLimits(options: {
  readonly random: Random;
  readonly clock: Clock;
  readonly masterKey: MasterKey;
  /** With others on one database. */
  readonly isShared: boolean;
}): DistributedLimits & { readonly parties: readonly Party[] } {
  const { random, clock, masterKey, isShared } = options;
  const parties: Party[] = [];
  const seed = isShared ? deriveKey(masterKey, seedPurpose) : undefined;
  const seeds = seed === undefined ? random : { bytes: (n: number) => seed.subarray(0, n) };

  function memory(name: string, capacity: number): LimitMemory {
    const made = createLimitMemory(capacity, seeds);
    if (isShared) parties.push(limitParty(name, openLimitRecords(made), clock));
    return made;
  }

  return {
    parties,
    memory,
    room: (name, capacity) => (isShared ? openLimitRecords(memory(name, capacity)) : capacity),
    replicatedOperations(name, repeat) {
      if (!isShared) return localLimits.replicatedOperations(name, repeat);
      const { party, ...replicatedOperations } = replicatedOperationsParty(name, repeat);
      parties.push(party);
      return replicatedOperations;
    },
    add(party) {
      if (isShared) parties.push(party);
    },
  };
}

/** The most operations sent in one exchange; the others follow in the next one. */
const sentAtOnceMax = 1_000;
/** With this many operations pending, requests that would add more are refused (`isFull`). */
const waitingMax = 10_000;

export interface ReplicatedOperations<Operation> {
  send(operation: Operation): void;
  /** Returns true while so many operations are pending that no further work should begin. */
  isFull(): boolean;
}

/**
 * Makes the replication of operations on counts that follow rules of their own, such as lock-out:
 * each node repeats them on its own counts, in order and once.
 * @param Operation anything that JSON keeps as it is
 */
function replicatedOperationsParty<Operation>(
  name: string,
  repeat: (operation: Operation) => void,
): ReplicatedOperations<Operation> & { readonly party: Party } {
  const waiting: Operation[] = [];
  let collected = 0;
  return {
    send(operation) {
      waiting.push(operation);
    },
    isFull: () => waiting.length >= waitingMax,
    party: {
      name,
      collect() {
        collected = Math.min(waiting.length, sentAtOnceMax);
        return collected === 0
          ? undefined
          : Buffer.from(JSON.stringify(waiting.slice(0, collected)));
      },
      onSent() {
        waiting.splice(0, collected);
        collected = 0;
      },
      // Sealed by a node of this version.
      receive(bytes) {
        for (const operation of JSON.parse(Buffer.from(bytes).toString()) as Operation[])
          repeat(operation);
      },
    },
  };
}

/** The most clients sent in one exchange; the others follow in the next one. */
const entriesMax = 10_000;
const entryBytes = 4 + 4 + 4 + 2;

/** Makes the exchange of limits per client. Clients are named by the bits of a keyed hash. */
export function limitParty(
  name: string,
  records: SharedLimitRecords,
  clock: Pick<Clock, 'monotonicMs'>,
): Party {
  let collected: PendingCounts[] = [];
  return {
    name,
    setPeers: records.setPeers,
    collect() {
      collected = records.pendingCounts(entriesMax);
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
    onSent() {
      for (const pending of collected) records.settle(pending);
      collected = [];
    },
    receive(onSent) {
      const bytes = new DataView(onSent.buffer, onSent.byteOffset, onSent.byteLength);
      const nowMs = clock.monotonicMs();
      for (let i = 0; i + entryBytes <= bytes.byteLength; i += entryBytes) {
        const [low, high] = [bytes.getInt32(i), bytes.getInt32(i + 4)];
        const [windowMs, count] = [bytes.getUint32(i + 8), bytes.getUint16(i + 12)];
        if (windowMs > 0) records.receive({ low, high, windowMs, count }, nowMs);
      }
    },
  };
}
