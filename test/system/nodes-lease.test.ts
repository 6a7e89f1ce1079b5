/** Work that one node does for all: who may do it, and that nobody else's writes of it count. */

import assert from 'node:assert/strict';
import { after, before, it, type TestContext } from 'node:test';
import { systemClock } from '../../src/core/clock.ts';
import { scratchKey, text } from '../../src/storage/keys.ts';
import { LeaseLostError } from '../../src/storage/maintenance.ts';
import { openAgreement } from '../../src/storage/nodes/agreement.ts';
import { createLease, fencedStore } from '../../src/storage/nodes/lease.ts';
import { joinNodes, type Membership, readNodes } from '../../src/storage/nodes/nodes.ts';
import { openPostgresStore, type PostgresStore } from '../../src/storage/postgres/store.ts';
import { open as openLocal } from '../storage/lmdb-opener.ts';
import { hasTool } from '../support/house/tools.ts';
import { startChild } from '../support/server/child.ts';
import { memoryLog } from '../support/server/memory-log.ts';
import { postgresProgram, startPostgres, type TestPostgres } from '../support/server/postgres.ts';
import { within } from '../support/server/server.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';

const directory = makeTempDir('lease');
const clock = systemClock();
const { log } = memoryLog();
const work = scratchKey(text('work'));
const value = Buffer.from('x');
/** Short, and longer than a busy machine keeps a process waiting. */
const aliveMs = 6_000;
let server: TestPostgres;
before(async (context) => {
  if (hasTool(context as TestContext, postgresProgram)) server = await startPostgres();
});
after(async () => {
  await server?.stop();
  directory.remove();
});

async function withStore(use: (store: PostgresStore, url: string) => Promise<void>): Promise<void> {
  const url = await server.createDatabase();
  const store = await openPostgresStore({ url, clock, log });
  try {
    await use(store, url);
  } finally {
    await store.close();
  }
}

async function withNode(
  store: PostgresStore,
  name: string,
  use: (node: Membership, replaced: Error[]) => Promise<void>,
): Promise<void> {
  const local = await openLocal(`${directory.path}/${name}/store`, clock);
  const replaced: Error[] = [];
  const node = await joinNodes({
    store,
    local,
    clock,
    log,
    aliveMs,
    beatMs: 50,
    agreement: await openAgreement(store, log),
    identity: { name, version: '1' },
    positions: { appliedSeq: 3n, checkpointSeq: 2n },
    onReplaced: (error) => void replaced.push(error),
  });
  try {
    await use(node, replaced);
  } finally {
    await node.leave();
    await local.close();
  }
}

it('a node stopped past its lease writes nothing when it goes on', () =>
  withStore(async (store, url) => {
    const child = startChild(new URL('./lease-child.js', import.meta.url), [
      ...[url, `${directory.path}/child`, `${aliveMs}`],
    ]);
    try {
      await child.line((line) => line === 'working');
      child.process.kill('SIGSTOP');
      await withNode(store, 'heir', async ({ maintenance }) => {
        await within(() => maintenance.isMine());
        const done = await maintenance.store.commit({ set: [{ key: work, value }] });
        assert.ok(done.ok);
        child.process.kill('SIGCONT');
        await within(() => child.lines.includes('lost'), 'the loss');
        assert.equal((await store.get(work))?.version, done.versions[0]);
      });
    } finally {
      child.process.kill('SIGKILL');
      await child.ended;
    }
  }));

it('a holder that does not know yet that it was replaced changes nothing', () =>
  withStore(async (store) => {
    const lease = (boot: string) =>
      createLease({ store, clock, boot, isAlive: async () => false, aliveMs: 600_000 });
    const [first, second] = [lease('first'), lease('second')];
    await first.poll(clock.monotonicMs());
    const fenced = fencedStore(store, first);
    const stale = first.fence();
    assert.ok((await fenced.commit({ set: [{ key: work, value }] })).ok);
    const events = [{ id: 'e1', kind: 'test', version: 1, body: value }];
    const old = { key: scratchKey(text('old')), value, expiresAt: 1 };
    await store.commit({ set: [old], events });
    const before = await store.get(work);
    await second.poll(clock.monotonicMs());
    await assert.rejects(fenced.commit({ set: [{ key: work, value }] }), LeaseLostError);
    assert.deepEqual(await store.get(work), before);
    assert.equal(first.fence(), undefined, 'now it knows');
    assert.equal(await store.sweep(100, stale), 0);
    assert.equal(await store.pruneEvents(1n, stale), 0);
    assert.equal((await store.read(0n, 10)).length, 1);
    const heir = fencedStore(store, second);
    assert.equal(await heir.pruneEvents(1n), 1);
    assert.ok((await heir.sweep(100)) >= 1);
  }));

it('a node keeps its number, gives the work back when it leaves, and is told when it is replaced', () =>
  withStore(async (store) => {
    const nodes = async () => readNodes(await store.session(), undefined);
    await withNode(store, 'one', async (one) => {
      assert.ok(one.maintenance.isMine());
      await withNode(store, 'two', async (two) => {
        assert.deepEqual([one.id, two.id], [1, 2]);
        assert.ok(!two.maintenance.isMine());
        await assert.rejects(
          two.maintenance.store.commit({ set: [{ key: work, value }] }),
          LeaseLostError,
        );
        two.follow(() => ({ appliedSeq: 9n, checkpointSeq: 8n }));
        await within(async () => (await nodes())[1]!.appliedSeq === 9n);
        assert.deepEqual(
          (await nodes()).map(({ name, state, checkpointSeq }) => [name, state, checkpointSeq]),
          [
            ['one', 'up', 2n],
            ['two', 'up', 8n],
          ],
        );
        await one.leave();
        await within(() => two.maintenance.isMine());
        assert.deepEqual(
          (await nodes()).map(({ state }) => state),
          ['stopped', 'up'],
        );
      });
    });
    await withNode(store, 'one', async ({ id }, replaced) => {
      assert.equal(id, 1);
      // As a process on a copy of its directory would.
      await (await store.session()).query({
        text: 'update nodes set boot = gen_random_uuid() where id = 1',
      });
      await within(() => replaced.length === 1);
      assert.match(replaced[0]!.message, /started a second time/);
    });
  }));
