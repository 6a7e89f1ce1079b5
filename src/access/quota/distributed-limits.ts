/** The storage of limits: memory of this process, exchanged with other nodes when they share a database. */

import type { Clock } from '../../core/clock.ts';
import type { Random } from '../../core/random.ts';
import { createWriter, decode } from '../../storage/codec.ts';
import type { NodeMessages } from '../../storage/nodes/messages.ts';
import { deriveKey, type MasterKey } from '../keys/master-key.ts';
import {
  createLimitMemory,
  type LimitMemory,
  type LimitRecords,
  openLimitRecords,
  type PendingCounts,
  type SharedLimitRecords,
} from './client-limits.ts';
import {
  admittedTotal,
  type OpenQuotas,
  openQuotaSent,
  type QuotaHandle,
  type QuotaKind,
} from './quota.ts';

/** The most entries sent in one exchange; the others follow in the next one. */
const quotaEntriesMax = 20_000;
const quotaEntryBytes = 4 + 1 + 4;
const kinds: readonly QuotaKind[] = [0, 1];

export function quotaParty(options: {
  readonly handle: QuotaHandle;
  readonly quotas: Pick<OpenQuotas, 'charge'>;
  /** Slots in use are 0 to this: the same account on all nodes, by the journal. */
  readonly accountCount: () => number;
  readonly clock: Pick<Clock, 'monotonicMs'>;
}): Party {
  const { handle, quotas, accountCount, clock } = options;
  const memory = openQuotaSent(handle);
  /** Both by slot and kind, mod 2^32: what other nodes spent, and what this node has sent. */
  let charged = new Uint32Array(0);
  let sentOf = new Uint32Array(0);
  let collected: (readonly [at: number, count: number])[] = [];
  let next = 0;

  function makeRoom(slots: number): void {
    if (charged.length >= slots * 2) return;
    const grown = (old: Uint32Array) => {
      const words = new Uint32Array(Math.max(1_024, slots * 4));
      words.set(old);
      return words;
    };
    charged = grown(charged);
    sentOf = grown(sentOf);
  }

  /** Counts only what comes after this call as pending. */
  function note(at: number): void {
    memory.set(at >>> 1, (at & 1) as QuotaKind, (charged[at]! + sentOf[at]!) | 0);
  }

  return {
    name: 'quotas',
    setOtherNodes: memory.setOtherNodes,
    collect() {
      const slots = accountCount();
      makeRoom(slots);
      collected = [];
      const all = slots * 2;
      for (let i = 0; i < all && collected.length < quotaEntriesMax; i++) {
        if (next >= all) next = 0;
        const at = next++;
        const total = admittedTotal(memory.words, at >>> 1, (at & 1) as QuotaKind);
        const count = (total - charged[at]! - sentOf[at]!) >>> 0;
        if (count > 0) collected.push([at, count]);
      }
      if (collected.length === 0) return undefined;
      const bytes = new DataView(new ArrayBuffer(collected.length * quotaEntryBytes));
      for (const [i, [at, count]] of collected.entries()) {
        bytes.setUint32(i * quotaEntryBytes, at >>> 1);
        bytes.setUint8(i * quotaEntryBytes + 4, at & 1);
        bytes.setUint32(i * quotaEntryBytes + 5, count);
      }
      return new Uint8Array(bytes.buffer);
    },
    onSent() {
      for (const [at, count] of collected) {
        sentOf[at]! += count;
        note(at);
      }
      collected = [];
    },
    receive(onSent) {
      const bytes = new DataView(onSent.buffer, onSent.byteOffset, onSent.byteLength);
      const nowMs = clock.monotonicMs();
      for (let i = 0; i + quotaEntryBytes <= bytes.byteLength; i += quotaEntryBytes) {
        const slot = bytes.getUint32(i);
        const kind = kinds[bytes.getUint8(i + 4)];
        const count = bytes.getUint32(i + 5);
        if (kind === undefined || slot >= memory.slots) continue;
        makeRoom(slot + 1);
        const at = slot * 2 + kind;
        charged[at]! += count;
        // This comes before the count itself: in between, fewer are pending than should be, never
        // more.
        note(at);
        quotas.charge(slot, kind, count, nowMs);
      }
    },
  };
}

// Counts of all nodes on one database, brought together each second. A node sends what it counted
// since the last time, then receives what the others sent; each adds what it receives to its own
// counts.
//
// Invariants: what is sent is durable among the nodes before anything is received, so of two nodes
// that exchange at the same time one receives the other's counts. A message has a number and is
// sent again under the same number until it is known to be stored. Counts are pending until both
// are done, and a party assumes that each other node has as many pending counts as it has itself.
//
// From this follows, with n nodes and a limit L: in no window do all together admit 2 L or more.
// Take the last exchange after which any node still admitted, and let h ≤ L be the count received
// by then. The counts that no node had received by then are those since the last exchange of each
// node: each at most (L − h')/n, where h' is what that node had received. In all at most
// h + (L − h)/n + (n − 1) L/n < 2 L, whatever was lost or late. While nothing can be exchanged all
// counts stay pending, and a node admits L/n.

/** Processes remembered. Messages of the one that was silent longest were removed long before. */
const processesMax = 4_096;

/** Something that is counted in this process and counts on all nodes. */
export interface Party {
  /** A name that is the same on all nodes. */
  readonly name: string;
  /** Returns the counts since the last `onSent`, of bounded size; undefined when there are none. */
  collect(): Uint8Array | undefined;
  /** Called when the other nodes have received, or will receive, what was collected last. */
  onSent(): void;
  /** Adds the counts of another node. */
  receive(bytes: Uint8Array): void;
  setOtherNodes?(otherNodes: number): void;
}

export function createLimitSync(options: {
  readonly parties: readonly Party[];
  readonly nodeMessages: NodeMessages;
  /** Called for a message of another node that can't be read. */
  readonly onUnread: (error: unknown) => void;
}) {
  const { parties, nodeMessages, onUnread } = options;
  const receivedUpTo = new Map<string, number>();
  let seq = 0;
  let pending: { readonly bytes: Uint8Array; isSent: boolean; readonly of: Party[] } | undefined;
  let otherNodes = 0;

  function collect(): typeof pending {
    const of: Party[] = [];
    const output = createWriter();
    for (const party of parties) {
      const bytes = party.collect();
      if (bytes === undefined) continue;
      of.push(party);
      output.text(party.name).bytes(bytes);
    }
    if (of.length === 0) return undefined;
    seq += 1;
    return { bytes: output.finish(), isSent: false, of };
  }

  function note(from: string, theirs: number): void {
    receivedUpTo.delete(from);
    receivedUpTo.set(from, theirs);
    if (receivedUpTo.size > processesMax) receivedUpTo.delete(receivedUpTo.keys().next().value!);
  }

  function receive(bytes: Uint8Array): void {
    const found = decode(bytes, (input) => {
      const pieces: [string, Uint8Array][] = [];
      while (input.remaining() > 0) pieces.push([input.text(), input.bytes()]);
      return pieces;
    });
    if (found === undefined)
      throw new Error('a node sent counts of a limit that this version does not know');
    for (const [name, piece] of found) parties.find((party) => party.name === name)?.receive(piece);
  }

  return {
    get otherNodes(): number {
      return otherNodes;
    },
    /** Rejects when the other nodes can't be reached. Nothing is lost: the next call continues. */
    async once(): Promise<void> {
      pending ??= collect();
      if (pending?.isSent === false) {
        await nodeMessages.send(seq, pending.bytes);
        pending.isSent = true;
      }
      const { messages: onSent, nodes } = await nodeMessages.receive(receivedUpTo);
      otherNodes = Math.max(0, nodes - 1);
      for (const party of parties) party.setOtherNodes?.(otherNodes);
      for (const { from, seq: theirs, bytes } of onSent) {
        note(from, theirs);
        try {
          if (bytes !== undefined) receive(bytes);
        } catch (error) {
          onUnread(error);
        }
      }
      // The others' counts are added first: until then the pending counts stand for them.
      for (const party of pending?.of ?? []) party.onSent();
      pending = undefined;
    },
  };
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
  /** True: other nodes work on the same database. */
  readonly isShared: boolean;
}) {
  const { random, clock, masterKey, isShared } = options;
  const parties: Party[] = [];
  const seed = isShared ? deriveKey(masterKey, seedPurpose) : undefined;
  const seeds = seed === undefined ? random : { bytes: (n: number) => seed.subarray(0, n) };

  /** Returns the memory for limits that several threads count. */
  function memory(name: string, capacity: number): LimitMemory {
    const made = createLimitMemory(capacity, seeds);
    if (isShared) parties.push(limitParty(name, openLimitRecords(made), clock));
    return made;
  }

  return {
    parties: parties as readonly Party[],
    memory,
    /** Returns the records or the capacity for limits of this thread. @param name the same on all nodes */
    room: (name: string, capacity: number): number | LimitRecords =>
      isShared ? openLimitRecords(memory(name, capacity)) : capacity,
    /** Opens the replication of operations. @param repeat does an operation of another node */
    replicatedOperations<Operation>(
      name: string,
      repeat: (operation: Operation) => void,
    ): ReplicatedOperations<Operation> {
      if (!isShared) return localLimits.replicatedOperations(name, repeat);
      const { party, ...replicatedOperations } = replicatedOperationsParty(name, repeat);
      parties.push(party);
      return replicatedOperations;
    },
    /** Adds another kind of counts to the exchange. */
    add(party: Party): void {
      if (isShared) parties.push(party);
    },
  };
}

export type DistributedLimits = ReturnType<typeof createDistributedLimits>;

/** The most operations sent in one exchange; the others follow in the next one. */
const sentAtOnceMax = 1_000;
/** With this many operations pending, requests that would add more are refused (`isFull`). */
const waitingMax = 10_000;

interface ReplicatedOperations<Operation> {
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
    setOtherNodes: records.setOtherNodes,
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
