/**
 * A sum over the living keys and the accounts as the front ends see them, by which nodes find out whether
 * their memories are the same. Trust is left out, for it is a float; the quotas that follow from it are in.
 */

import { createMix } from '../../storage/nodes/mix.ts';
import type { AccessTables } from './reducer.ts';

export interface DigestedTables {
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
