/** What was acknowledged survives kill -9, and the entries are what the journal says. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { systemClock } from '../../src/core/clock.ts';
import { decode } from '../../src/store/codec.ts';
import { type Key, scratchKey } from '../../src/store/keys.ts';
import type { Store } from '../../src/store/store.ts';
import { type CrashRound, runCrashRounds } from '../support/server/crash.ts';
import { open } from './lmdb-opener.ts';

const minAcks = 1_000;
const rounds = 20;

it('20 kills lose no acknowledged commit and leave no half of one', async () => {
  const total = await runCrashRounds({
    childModule: new URL('./crash-child.js', import.meta.url),
    rounds,
    minAcks,
    verify: verifyRound,
  });
  assert.ok(total >= rounds * minAcks);
});

async function verifyRound({ round, directory, acks }: CrashRound): Promise<void> {
  const store = await open(directory, systemClock());
  try {
    const { ids, model } = await replay(store);
    for (const ack of acks) {
      const [id, seq] = ack.split(' ');
      assert.equal(ids[Number(seq) - 1], id, `round ${round}: acknowledged ${ack}`);
    }
    assert.equal(BigInt(ids.length), await store.lastSeq());
    assert.deepEqual(await allEntries(store), model, `round ${round}`);
    const next = await store.commit({
      events: [{ id: `after-${round}`, kind: 'none', version: 1, body: new Uint8Array() }],
    });
    assert.equal(next.seq, BigInt(ids.length + 1));
  } finally {
    await store.close();
  }
}

/** The journal from its start: ids in order, and the entries that it adds up to. */
async function replay(store: Store): Promise<{ ids: string[]; model: Map<number, string> }> {
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

async function allEntries(store: Store): Promise<Map<number, string>> {
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
