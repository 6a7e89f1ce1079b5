/** Bounds on counted rows of the embedded store hold, however many ask at once and in how many processes. */

import assert from 'node:assert/strict';
import { after, it } from 'node:test';
import { systemClock } from '../../src/core/clock.ts';
import { createLog } from '../../src/core/log.ts';
import { addWithinBounds, boundKeysOf, commitOnce, holdBounds } from '../../src/storage/change.ts';
import { boundKey, scratchKey, text } from '../../src/storage/keys.ts';
import { openLmdbStore } from '../../src/storage/lmdb/store.ts';
import { boundRaces } from '../support/server/bound-races.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';

const directory = makeTempDir('bounded-rows');

const store = openLmdbStore({
  path: directory.path,
  clock: systemClock(),
  log: createLog('silent'),
});
// Another object is another process, as far as the order of its own changes goes.
const nodes = [store, { ...store }];
after(async () => {
  await store.close();
  directory.remove();
});

for (const [fact, run] of Object.entries(boundRaces(() => nodes))) it(fact, run);

it('a row that was counted while another one came is counted again; removing needs no turn', async () => {
  const bound = { rows: 'tips', account: 'x' } as const;
  const prefix = scratchKey(text('bounded'));
  const key = (n: number) => scratchKey(text('bounded'), text(`${n}`));
  const set = (n: number) => ({ key: key(n), value: new Uint8Array() });
  let tries = 0;
  const done = await addWithinBounds(store, [bound], async (held) => {
    tries++;
    if ((await store.scan(prefix, { limit: 10 })).length >= 1) return { ok: true, value: 'full' };
    // Another process is faster, once.
    const other = await holdBounds(store, [bound]);
    await store.commit({ ...other, set: [...other.set, set(1)] });
    const added = await commitOnce(store, { check: held.check, set: [...held.set, set(2)] });
    return added === 'conflict' || !added.ok ? added : { ok: true, value: 'added' };
  });
  assert.deepEqual([done, tries], [{ ok: true, value: 'full' }, 2]);
  assert.ok(boundKeysOf('x').some((one) => Buffer.compare(one, boundKey('tips', 'x')) === 0));
  await store.commit({ del: [key(1), ...boundKeysOf('x')] });
  assert.equal(await store.get(boundKey('tips', 'x')), undefined);
});
