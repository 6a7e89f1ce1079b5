/** What `crash-child.ts` has written: by its journal, and as it lies in the store. */

import assert from 'node:assert/strict';
import { decode } from '../../src/store/codec.ts';
import { type Key, scratchKey } from '../../src/store/keys.ts';
import type { Store } from '../../src/store/store.ts';

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
