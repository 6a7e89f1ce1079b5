/** How far the journal goes back, and how a node that needs more of it comes back. */

import assert from 'node:assert/strict';
import { after, before, it, type TestContext } from 'node:test';
import { systemClock } from '../../src/core/clock.ts';
import { createProjection } from '../../src/storage/journal/projection.ts';
import { leaseKey } from '../../src/storage/keys.ts';
import { LeaseLostError } from '../../src/storage/maintenance.ts';
import { openAgreement } from '../../src/storage/nodes/agreement.ts';
import { copyCheckpointIfBehind, pruneJournal } from '../../src/storage/nodes/checkpoints.ts';
import { maintenanceLease } from '../../src/storage/nodes/lease.ts';
import { joinNodes, type Membership } from '../../src/storage/nodes/nodes.ts';
import { openPostgresStore, type PostgresStore } from '../../src/storage/postgres/store.ts';
import { JournalPrunedError, type RowCheck, type Store } from '../../src/storage/store.ts';
import { open as openLocal } from '../storage/lmdb-opener.ts';
import { hasTool } from '../support/house/tools.ts';
import { memoryLog } from '../support/server/memory-log.ts';
import { postgresProgram, startPostgres, type TestPostgres } from '../support/server/postgres.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';

const directory = makeTempDir('journal');
const clock = systemClock();
const { log } = memoryLog();
const pageCount = 300;
let server: TestPostgres;
before(async (context) => {
  if (hasTool(context as TestContext, postgresProgram)) server = await startPostgres();
});
after(async () => {
  await server?.stop();
  directory.remove();
});

/** A node whose memory is pages that say which event changed them last. */
async function openNode(store: PostgresStore, name: string) {
  const local = await openLocal(`${directory.path}/${name}`, clock);
  const pages = new Map<number, string>();
  const projection = createProjection({
    store: local,
    sections: [
      {
        firstPage: 0,
        pages: pageCount,
        encode: (page) => Buffer.from(pages.get(page) ?? ''),
        load(page, bytes) {
          pages.set(page, Buffer.from(bytes).toString());
          return true;
        },
      },
    ],
    header: { encode: () => {}, load: () => true },
  });
  let applied = 0n;
  let member: Membership | undefined;
  return {
    local,
    member: () => member!,
    async join() {
      applied = await projection.load();
      const at = { appliedSeq: applied, checkpointSeq: applied };
      const identity = { name, version: '1' };
      const onReplaced = () => {};
      const agreement = await openAgreement(store, log);
      const given = { store, local, clock, log, agreement, identity, onReplaced };
      member = await joinNodes({ ...given, positions: at });
      member.follow(() => ({ appliedSeq: applied, checkpointSeq: projection.checkpointSeq() }));
    },
    /** Follows the journal to its end and writes a checkpoint. */
    async catchUp() {
      for (;;) {
        const events = await store.read(applied, 1_000);
        if (events.length === 0) break;
        for (const { seq } of events) {
          const page = Number(seq) % pageCount;
          projection.touch(page);
          pages.set(page, String(seq));
          applied = seq;
        }
      }
      await projection.checkpoint(applied);
    },
    async close() {
      await member?.leave();
      await local.close();
    },
    shown: () => [...pages].sort(([a], [b]) => a - b),
    applied: () => applied,
  };
}
type TestNode = Awaited<ReturnType<typeof openNode>>;

async function append(store: PostgresStore, count: number): Promise<void> {
  const from = Number(await store.lastSeq());
  for (let i = 0; i < count; i++) {
    const event = { id: `e${from + i}`, kind: 'test', version: 1, body: Buffer.from('x') };
    assert.ok((await store.commit({ events: [event] })).ok);
  }
}

async function fenceOf(store: PostgresStore): Promise<RowCheck> {
  const key = leaseKey(maintenanceLease);
  return { key, version: (await store.get(key))!.version };
}

async function prune(store: PostgresStore, local: Store, fence?: RowCheck): Promise<number> {
  return pruneJournal({
    store,
    local,
    fence: fence ?? (await fenceOf(store)),
    everyEvents: 1,
    keepEvents: 0,
    withoutCheckpoint: (work) => work(),
    signal: new AbortController().signal,
  });
}

it('the slowest node keeps the journal, one away for an hour does not, and it comes back whole', async () => {
  const url = await server.createDatabase();
  const store = await openPostgresStore({ url, clock, log });
  const [quick, slow, fresh] = await Promise.all(
    ['quick', 'slow', 'fresh'].map((name) => openNode(store, name)),
  );
  const nodes = [quick!, slow!, fresh!];
  const prunedThrough = async () => (await store.head()).prunedThrough;
  try {
    await append(store, 200);
    await slow!.join();
    await slow!.catchUp();
    await slow!.close();
    await append(store, 300);
    await quick!.join();
    await quick!.catchUp();
    // As its next heartbeat will tell.
    await server.ask(url, `update nodes set checkpoint_seq = 500 where name = 'quick'`);
    await server.ask(url, `update nodes set checkpoint_seq = 200 where name = 'slow'`);
    assert.equal(await prune(store, quick!.local), 200, 'what the slow one has is not needed');
    assert.equal(await prune(store, quick!.local), 0);
    await server.ask(url, `update nodes set seen_at = seen_at - 3700000 where name = 'slow'`);
    assert.equal(await prune(store, quick!.local), 300);
    assert.equal(await prunedThrough(), 500n);
    await append(store, 50);

    const back = await openNode(store, 'slow');
    nodes[1] = back;
    await back.join();
    await assert.rejects(back.catchUp(), JournalPrunedError);
    await back.close();
    for (const name of ['slow', 'fresh']) {
      const at = name === 'slow' ? 1 : 2;
      if (at === 2) await nodes[2]!.close();
      const node = await openNode(store, name);
      nodes[at] = node;
      await copyCheckpointIfBehind(store, node.local, log);
      await node.join();
      assert.equal(node.applied(), 500n, name);
      await node.catchUp();
    }
    await quick!.catchUp();
    for (const node of nodes) assert.deepEqual(node.shown(), quick!.shown());
  } finally {
    await Promise.all(nodes.map((node: TestNode) => node.close().catch(() => {})));
    await store.close();
  }
});

it('two checkpoints are kept, no event behind the older one goes, and no other node saves any', async () => {
  const url = await server.createDatabase();
  const store = await openPostgresStore({ url, clock, log });
  const node = await openNode(store, 'keeper');
  try {
    await node.join();
    for (const round of [1, 2, 3]) {
      await append(store, 20);
      await node.catchUp();
      await server.ask(url, `update nodes set checkpoint_seq = ${round * 20}`);
      await prune(store, node.local);
      assert.equal((await store.head()).prunedThrough, BigInt(Math.max(20, (round - 1) * 20)));
    }
    const seqs = await server.ask(url, 'select seq, rows from checkpoints order by seq');
    assert.deepEqual(
      seqs.rows.map(({ seq }) => Number(seq)),
      [40, 60],
    );
    const { rows } = await server.ask(url, 'select count(*) as n from checkpoint_rows');
    assert.equal(
      Number(rows[0].n),
      seqs.rows.reduce((sum, { rows: count }) => sum + Number(count), 0),
      'nothing of older ones is left',
    );
    const stale = await fenceOf(store);
    await node.member().leave();
    await append(store, 20);
    await node.catchUp();
    await assert.rejects(prune(store, node.local, stale), LeaseLostError);
    const after = await server.ask(url, 'select seq from checkpoints order by seq');
    assert.deepEqual(
      after.rows.map(({ seq }) => Number(seq)),
      [40, 60],
    );
  } finally {
    await node.close();
    await store.close();
  }
});
