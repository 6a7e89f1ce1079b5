/** What was acknowledged survives kill -9, and the entries are what the journal says. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { systemClock } from '../../src/core/clock.ts';
import { type CrashRound, runCrashRounds } from '../support/server/crash.ts';
import { open } from './lmdb-opener.ts';
import { allEntries, replay } from './pairs.ts';

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
