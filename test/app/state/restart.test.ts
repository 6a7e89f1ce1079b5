/** A state that was closed, or only checkpointed, and opened again is the state it was. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createAccounts } from '../../../src/access/accounts/accounts.ts';
import { createApiKeys } from '../../../src/access/keys/api-keys.ts';
import { masterKeyFromBytes } from '../../../src/access/keys/master-key.ts';
import { encodeEvent } from '../../support/reputation/events.ts';
import { batchOf } from '../../support/reputation/random-journal.ts';
import { seededRandom } from '../../support/seeded.ts';
import { memoryLog } from '../../support/server/memory-log.ts';
import { makeState, stateShown } from './fixture.ts';

for (const seed of [1, 2, 3]) {
  it(`closed and opened again: identical, with the snapshot or without (seed ${seed})`, async () => {
    const fixture = makeState(seed);
    try {
      const reference = await fixture.openCaughtUp({ snapshot: false });
      for (let round = 0; round < 4; round++) {
        const withSnapshot = round % 2 === 0;
        const state = await fixture.openCaughtUp({ snapshot: withSnapshot });
        await fixture.work(80);
        const last = await fixture.store.lastSeq();
        await Promise.all([state.follower.catchUpTo(last), reference.follower.catchUpTo(last)]);
        const said = `seed ${seed}, round ${round}`;
        assert.deepEqual(stateShown(state), stateShown(reference), said);
        await state.stop();
        const opened = await fixture.open({ snapshot: withSnapshot });
        assert.deepEqual(stateShown(opened), stateShown(reference), said);
        assert.equal(opened.projection.checkpointSeq(), state.projection.checkpointSeq());
      }
      await reference.follower.stop();
    } finally {
      await fixture.close();
    }
  });

  it(`from an old checkpoint the journal brings it to the same state (seed ${seed})`, async () => {
    const fixture = makeState(seed + 100);
    try {
      const state = await fixture.openCaughtUp({ snapshot: false });
      for (let round = 0; round < 4; round++) {
        await fixture.work(30);
        await state.follower.catchUpTo(await fixture.store.lastSeq());
        await state.checkpoint();
        await fixture.work(50);
        await state.follower.catchUpTo(await fixture.store.lastSeq());
        const late = await fixture.openCaughtUp({ snapshot: false });
        assert.ok(late.projection.checkpointSeq() < late.follower.appliedSeq());
        assert.deepEqual(stateShown(late), stateShown(state), `seed ${seed}, round ${round}`);
        await late.follower.stop();
      }
      await state.follower.stop();
    } finally {
      await fixture.close();
    }
  });
}

it('checkpoints written beside the work hold the state of their moment', async () => {
  const fixture = makeState(7);
  try {
    const state = await fixture.openCaughtUp({ snapshot: false, checkpointMs: 5 });
    await fixture.work(300);
    await state.follower.catchUpTo(await fixture.store.lastSeq());
    await state.stop();
    assert.ok(state.projection.checkpointSeq() > 0n);
    const reference = await fixture.openCaughtUp({ snapshot: false });
    assert.deepEqual(stateShown(reference), stateShown(state));
    await reference.follower.stop();
  } finally {
    await fixture.close();
  }
});

it('an event that fails half-way stops the state, and nothing of it is written', async () => {
  const fixture = makeState(8);
  try {
    const state = await fixture.openCaughtUp({ snapshot: true });
    await fixture.work(40);
    await state.follower.catchUpTo(await fixture.store.lastSeq());
    await state.checkpoint();
    const before = stateShown(state);
    const ref = { list: 'seed', source: 'x', run: '1' } as const;
    await fixture.commit(encodeEvent('begun', { kind: 'list.begun', ref, holdDays: 9 }));
    const good = await fixture.store.lastSeq();
    await state.follower.catchUpTo(good);
    const rows = Array.from({ length: 3 }, (_, i) => ({
      prefix: { family: 4 as const, words: Uint32Array.of(i + 1, 0, 0, 0), length: 32 },
      score: 50,
    }));
    const insert = state.index.insert;
    let inserts = 0;
    (state.index as { insert: typeof insert }).insert = (...args) => {
      if (++inserts === 3) throw new Error('told to fail');
      return insert(...args);
    };
    await fixture.commit(encodeEvent('rows', { kind: 'list.rows', ref, rows: batchOf(rows) }));
    await assert.rejects(state.follower.catchUpTo(good + 1n));
    assert.equal(fixture.failures.length, 1);
    await assert.rejects(state.checkpoint(), /in part/);
    await state.stop();
    const opened = await fixture.open();
    assert.deepEqual(stateShown(opened), before);
    assert.equal(opened.projection.checkpointSeq(), good - 1n);
  } finally {
    await fixture.close();
  }
});

it('housekeeping ends lists and replaced keys whose time is over', async () => {
  const fixture = makeState(9);
  const { log } = memoryLog();
  try {
    const { store, clock } = fixture;
    const random = seededRandom(1);
    const masterKey = masterKeyFromBytes(new Uint8Array(32));
    const accounts = createAccounts({ store, clock, random });
    const apiKeys = createApiKeys({ store, clock, random, masterKey, accounts });
    await accounts.create('a@example.org');
    await apiKeys.create('a@example.org');
    await apiKeys.create('a@example.org');
    const ref = { list: 'anon', source: 'tor', run: '1' } as const;
    await fixture.commit(encodeEvent('begun', { kind: 'list.begun', ref, holdDays: 1 }));
    await fixture.commit(
      encodeEvent('a', {
        kind: 'account.created',
        account: 'a',
        verified: true,
        slot: 'now',
      }),
    );
    const state = await fixture.openCaughtUp({ log });
    await state.housekeep();
    assert.equal(state.sources.list().length, 1);
    clock.advance(24 * 3_600_000);
    await state.housekeep();
    await state.follower.catchUpTo(await store.lastSeq());
    assert.equal(state.sources.list().length, 0);
    const states = (await apiKeys.all()).map((key) => key.state);
    assert.deepEqual(states.sort(), ['active', 'revoked']);
    const seq = await store.lastSeq();
    await state.housekeep();
    assert.equal(await store.lastSeq(), seq);
    await state.stop();
  } finally {
    await fixture.close();
  }
});
