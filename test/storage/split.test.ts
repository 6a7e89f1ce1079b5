/** Which rows of a node lie on its own disk, and which in the database of all. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import {
  accountKey,
  checkpointKey,
  projectionPageKey,
  projectionPagePrefix,
} from '../../src/storage/keys.ts';
import { splitStore } from '../../src/storage/nodes/nodes.ts';
import { manualClock } from '../support/seeded.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';
import { open } from './lmdb-opener.ts';

const value = Buffer.from('x');
const own = [checkpointKey('state'), projectionPageKey(1, 1n, 0)];
const event = { id: 'e', kind: 'test', version: 1, body: value };

it('lock and checkpoints are of the machine, all else and every event is shared', async () => {
  const directory = makeTempDir('split');
  const clock = manualClock(1_750_000_000_000);
  const shared = await open(`${directory.path}/shared`, clock);
  const local = await open(`${directory.path}/local`, clock);
  const store = splitStore(shared, local);
  try {
    for (const key of own) assert.ok((await store.commit({ set: [{ key, value }] })).ok);
    const account = accountKey('a');
    const done = await store.commit({ set: [{ key: account, value }], events: [event] });
    assert.ok(done.ok);
    for (const key of own) {
      assert.ok((await local.get(key)) !== undefined);
      assert.equal(await shared.get(key), undefined);
      assert.ok((await store.get(key)) !== undefined);
    }
    assert.ok((await shared.get(account)) !== undefined);
    assert.equal(await local.get(account), undefined);
    assert.deepEqual([await store.lastSeq(), await local.lastSeq()], [1n, 0n]);
    assert.equal((await store.scan(projectionPagePrefix(), { limit: 9 })).length, 1);
    for (const mixed of [
      { set: [{ key: own[0]!, value }], del: [account] },
      { check: [{ key: own[0]!, version: null }], events: [event] },
    ]) {
      await assert.rejects(store.commit(mixed), RangeError);
    }
    const gone = { expiresAt: clock.now() + 1, value };
    await store.commit({ set: [{ ...gone, key: own[0]! }] });
    await store.commit({ set: [{ ...gone, key: account }] });
    clock.advance(1);
    assert.equal(await store.sweep(10), 2);
  } finally {
    await store.close();
    directory.remove();
  }
});
