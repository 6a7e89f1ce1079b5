/** Pairs of entries, each written with its event: how, by the journal, and as they lie in the store. */

import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { createWriter, decode } from '../../src/storage/codec.ts';
import { type Key, scratchKey, u16 } from '../../src/storage/keys.ts';
import type { Store } from '../../src/storage/store.ts';
import { seededRandom } from '../support/seeded.ts';

/** The journal from its start: ids in order, and the entries that it adds up to. */
export async function replay(store: Store): Promise<{ ids: string[]; model: Map<number, string> }> {
  const ids: string[] = [];
  const model = new Map<number, string>();
  for (let page = await store.read(0n, 1_000); page.length > 0; ) {
    for (const event of page) {
      assert.equal(event.seq, BigInt(ids.length + 1), 'gapless');
      ids.push(event.id);
      if (event.kind !== 'pair') continue;
      const pair = decode(event.body, (r) => ({ first: r.u16(), value: r.bytes() }));
      const value = Buffer.from(pair!.value).toString('hex');
      model.set(pair!.first, value);
      model.set(pair!.first + 1, value);
      model.delete(pair!.first + 2);
    }
    page = await store.read(page.at(-1)!.seq, 1_000);
  }
  return { ids, model: new Map([...model].sort(([a], [b]) => a - b)) };
}

export async function allEntries(store: Store): Promise<Map<number, string>> {
  const entries = new Map<number, string>();
  let after: Key | undefined;
  for (;;) {
    const options = after === undefined ? { limit: 1_000 } : { limit: 1_000, after };
    const page = await store.scan(scratchKey(), options);
    if (page.length === 0) return entries;
    for (const { key, value } of page) {
      entries.set(Buffer.from(key).readUInt16BE(1), Buffer.from(value).toString('hex'));
    }
    after = page.at(-1)!.key;
  }
}

const inFlight = 64;
const keyCount = 500;

/** Commits as fast as it can, each with one event that says what the commit did, until it is stopped. */
export function writePairs(store: Store, name = 'r1', onDone = (_id: string, _seq: bigint) => {}) {
  const random = seededRandom(Number(name.slice(1)));
  const below = (n: number) => Math.floor(random.next() * n);
  let next = 0;
  let done = 0;
  let isStopped = false;

  async function commitOnce(): Promise<void> {
    const id = `${name}-${next++}`;
    // Runs of commits that write no row which is there: they go another way, as reports do.
    if (next % 512 < 256) {
      const event = { id, kind: 'apart', version: 1, body: new Uint8Array() };
      const result = await store.commit({ isFirstTry: true, events: [event] });
      if (!result.ok) throw new Error(result.error);
      done += 1;
      onDone(id, result.seq);
      return;
    }
    const first = below(keyCount - 3);
    const value = random.bytes(8 + below(200));
    const body = createWriter().u16(first).bytes(value).finish();
    const result = await store.commit({
      set: [
        { key: scratchKey(u16(first)), value },
        { key: scratchKey(u16(first + 1)), value },
      ],
      del: [scratchKey(u16(first + 2))],
      events: [{ id, kind: 'pair', version: 1, body }],
    });
    if (!result.ok) throw new Error(result.error);
    done += 1;
    onDone(id, result.seq);
  }

  const running = Promise.all(
    Array.from({ length: inFlight }, async () => {
      while (!isStopped) await commitOnce();
    }),
  );
  running.catch(() => undefined);
  return {
    acknowledged: () => done,
    async atLeast(count: number): Promise<void> {
      while (done < count) await Promise.race([delay(5), running]);
    },
    async stop(): Promise<void> {
      isStopped = true;
      await running;
    },
    running,
  };
}
