/**
 * Distributes the quotas of accounts: sends what keys spent on this node and charges what they
 * spent on others.
 */

import type { Clock } from '../../core/clock.ts';
import {
  admittedTotal,
  type OpenQuotas,
  openQuotaSent,
  type QuotaHandle,
  type QuotaKind,
} from '../quota/quota.ts';
import type { Party } from './exchange.ts';

/** The most entries sent in one exchange; the others follow in the next one. */
const entriesMax = 20_000;
const entryBytes = 4 + 1 + 4;
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
    setPeers: memory.setPeers,
    collect() {
      const slots = accountCount();
      makeRoom(slots);
      collected = [];
      const all = slots * 2;
      for (let i = 0; i < all && collected.length < entriesMax; i++) {
        if (next >= all) next = 0;
        const at = next++;
        const total = admittedTotal(memory.words, at >>> 1, (at & 1) as QuotaKind);
        const count = (total - charged[at]! - sentOf[at]!) >>> 0;
        if (count > 0) collected.push([at, count]);
      }
      if (collected.length === 0) return undefined;
      const bytes = new DataView(new ArrayBuffer(collected.length * entryBytes));
      for (const [i, [at, count]] of collected.entries()) {
        bytes.setUint32(i * entryBytes, at >>> 1);
        bytes.setUint8(i * entryBytes + 4, at & 1);
        bytes.setUint32(i * entryBytes + 5, count);
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
      for (let i = 0; i + entryBytes <= bytes.byteLength; i += entryBytes) {
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
