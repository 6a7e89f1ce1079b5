/**
 * Makes the digest of the state in memory at certain events of the journal, for nodes that share
 * one. A digest that would take too long at its event is left out; what is left of the work is done
 * between events.
 */

import type { AccessTables } from '../access/accounts/reducer.ts';
import { every, type Loop } from '../core/every.ts';
import type { EntryDigest } from '../reputation/state/entry-digest.ts';
import { createDigestRing, createMix, digestEvery } from '../storage/nodes/digests.ts';

// A sum over the living keys and the accounts as the front ends see them, by which nodes find out whether
// their memories are the same. Trust is left out, for it is a float; the quotas that follow from it are in.

interface DigestedTables {
  readonly tables: AccessTables;
  readonly sum: Uint32Array;
}

export function digestTables(tables: AccessTables, slots: number): DigestedTables {
  const sum = new Uint32Array(2);
  const mix = createMix();
  /** The addends of each slot and each key, kept so that they can be subtracted again. */
  const bySlot = new Uint32Array(2 * slots);
  const byKey = new Map<string, Uint32Array>();

  function replace(part: Uint32Array, isThere: boolean): void {
    for (let i = 0; i < 2; i++) sum[i]! -= part[i]!;
    part.fill(0);
    if (!isThere) return;
    mix.into(part, 1);
    for (let i = 0; i < 2; i++) sum[i]! += part[i]!;
  }

  return {
    sum,
    tables: {
      addKey(hash, slot, scopes) {
        const isAdded = tables.addKey(hash, slot, scopes);
        const name = Buffer.from(hash).toString('base64');
        const part = byKey.get(name) ?? new Uint32Array(2);
        mix.clear();
        for (const byte of hash) mix.word(byte);
        mix.word(slot);
        mix.word(scopes ?? -1);
        replace(part, true);
        byKey.set(name, part);
        return isAdded;
      },
      revokeKey(hash) {
        tables.revokeKey(hash);
        const name = Buffer.from(hash).toString('base64');
        const part = byKey.get(name);
        if (part === undefined) return;
        replace(part, false);
        byKey.delete(name);
      },
      setAccount(slot, state) {
        tables.setAccount(slot, state);
        mix.clear();
        mix.word(slot);
        mix.word(state.readPerMinute);
        mix.word(state.writePerMinute);
        mix.word(Number(state.disabled));
        replace(bySlot.subarray(2 * slot, 2 * slot + 2), true);
      },
      clearAccount(slot) {
        tables.clearAccount(slot);
        replace(bySlot.subarray(2 * slot, 2 * slot + 2), false);
      },
    },
  };
}

const sliceMs = 3;
const restMs = 50;

export function createStateDigest(options: {
  readonly entries: EntryDigest;
  readonly accounts: { readonly sum: Uint32Array };
  /** The last event; undefined while one is being applied. */
  readonly settledAt: () => bigint | undefined;
}) {
  const { entries, accounts, settledAt } = options;
  const ring = createDigestRing();
  let loop: Loop | undefined;

  /** Undefined when there is no time for it now. */
  function present(): string | undefined {
    if (!entries.settle(performance.now() + sliceMs)) return undefined;
    const words = [...entries.sum, ...accounts.sum];
    return words.map((word) => word.toString(16).padStart(8, '0')).join('');
  }

  return {
    /** The event was applied whole. */
    applied(seq: bigint): void {
      if (seq % digestEvery !== 0n) return;
      const digest = present();
      if (digest !== undefined) ring.add(seq, digest);
    },
    /** At round events, and at the last one. */
    latest(): Map<bigint, string> {
      const digests = ring.kept();
      const seq = settledAt();
      const digest = seq === undefined ? undefined : present();
      if (seq !== undefined && digest !== undefined) digests.set(seq, digest);
      return digests;
    },
    start(): void {
      loop = every(restMs, () => {
        if (settledAt() !== undefined) entries.settle(performance.now() + sliceMs);
      });
    },
    stop: () => loop?.stop(),
  };
}
