/**
 * A view as a Store, for what reads one. What is written goes nowhere and counts as done: the state's
 * parts tidy up what they load.
 */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { journalRowKey, storedKey } from '../keys.ts';
import { DamagedRowError, decodeEvent, isExpired, readEntry } from '../rows.ts';
import {
  type Entry,
  JournalPrunedError,
  type Store,
  type StoreEvent,
  storeLimits,
} from '../store.ts';
import type { View } from '../view.ts';

/** @param hides keys that are as if they were not there */
export function viewStore(
  view: View,
  nowMs: number,
  hides: (key: Uint8Array) => boolean = () => false,
): Store {
  const { lastSeq, prunedThrough } = view.counters;

  /** Undefined: expired, hidden or damaged. The rows are looked at elsewhere. */
  function live(key: Uint8Array, row: Buffer): Entry | undefined {
    if (hides(key)) return undefined;
    try {
      const { version, value, ...header } = readEntry(key, row);
      if (isExpired({ version, ...header }, nowMs)) return undefined;
      return { key: storedKey(key), value, version };
    } catch (error) {
      if (error instanceof DamagedRowError) return undefined;
      throw error;
    }
  }

  return {
    async commit({ set = [] }) {
      return { ok: true, seq: BigInt(lastSeq), duplicate: false, versions: set.map(() => 0) };
    },
    async get(key) {
      const row = view.get('entries', key);
      return row === undefined ? undefined : live(key, row);
    },
    async scan(prefix, { after, limit }) {
      const found: Entry[] = [];
      let from: Uint8Array = after ?? prefix;
      let isExclusive = after !== undefined;
      for (;;) {
        const batch = view.batch('entries', from, isExclusive, storeLimits.pageBytesMax);
        for (const { key, value } of batch) {
          const isUnder = Buffer.compare(key.subarray(0, prefix.length), prefix) === 0;
          if (!isUnder || found.length >= limit) return found;
          const entry = live(key, value);
          if (entry !== undefined) found.push(entry);
        }
        if (batch.length === 0) return found;
        from = batch.at(-1)!.key;
        isExclusive = true;
        await nextTurn();
      }
    },
    async read(afterSeq, limit) {
      if (afterSeq < BigInt(prunedThrough)) {
        throw new JournalPrunedError(afterSeq, BigInt(prunedThrough));
      }
      const events: StoreEvent[] = [];
      const start = journalRowKey(Number(afterSeq) + 1);
      for (const { key, value } of view.batch('journal', start, false, storeLimits.pageBytesMax)) {
        if (events.length >= limit) break;
        events.push(decodeEvent(Buffer.from(key).readBigUInt64BE(), value));
      }
      // Whoever follows would wait for it.
      if (events.length === 0 && afterSeq < BigInt(lastSeq)) {
        throw new Error(`the journal ends at ${afterSeq}`);
      }
      return events;
    },
    tables: [],
    lastSeq: async () => BigInt(lastSeq),
    onHint: () => () => undefined,
    onWriteState: () => () => undefined,
    writeState: () => ({ available: true, fatal: false, detail: '' }),
    pruneEvents: async () => 0,
    sweep: async () => 0,
    close: async () => undefined,
  };
}

/** A store as one that writes nothing, as above. */
export function asRead(store: Store): Store {
  return {
    ...store,
    async commit({ set = [] }) {
      return {
        ok: true,
        seq: await store.lastSeq(),
        duplicate: false,
        versions: set.map(() => 0),
      };
    },
    pruneEvents: async () => 0,
    sweep: async () => 0,
  };
}
