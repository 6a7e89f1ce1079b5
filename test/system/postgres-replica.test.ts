/**
 * The journal read from a streaming replica: whatever becomes of it, a node has in memory what the primary has, and
 * has its own commits at once.
 */

import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import { systemClock } from '../../src/core/clock.ts';
import { createFollower } from '../../src/storage/journal/follower.ts';
import {
  openPostgresStore,
  type PostgresStore,
  readHint,
} from '../../src/storage/postgres/store.ts';
import { hasTool } from '../support/house/tools.ts';
import { memoryLog } from '../support/server/memory-log.ts';
import { reportAt, reportsAt, sharedSettings } from '../support/server/nodes.ts';
import { postgresProgram, startPostgres, type TestPostgres } from '../support/server/postgres.ts';
import { demoEmail, plenty, startTestServer, within } from '../support/server/server.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';

const clock = systemClock();
const event = (id: string) => ({ id, kind: 'test', version: 1, body: Buffer.from(id) });

/** The same database at another server. */
const at = (url: string, { directory }: TestPostgres) =>
  url.replace(/host=[^&]*/, `host=${directory}`);

interface Place {
  readonly primary: TestPostgres;
  readonly url: string;
  /** Another node, which reads the primary. */
  readonly other: PostgresStore;
  startStandby(of?: TestPostgres): Promise<TestPostgres>;
  /** A node that reads the journal from there. */
  open(replica: TestPostgres, replicaUrl?: string): Promise<PostgresStore>;
  /** What the log says of the replica. */
  log(): string[];
}

async function withPlace(context: TestContext, use: (place: Place) => Promise<void>) {
  if (!hasTool(context, postgresProgram)) return;
  const closers: (() => Promise<unknown>)[] = [];
  const { log, lines } = memoryLog();
  const primary = await startPostgres();
  closers.push(() => primary.stop());
  const url = await primary.createDatabase();
  const other = await openPostgresStore({ url, clock, log: memoryLog().log });
  closers.push(() => other.close());
  await append(other, 'first');
  try {
    await use({
      primary,
      url,
      other,
      async startStandby(of = primary) {
        const standby = await startPostgres({ primary: of.directory });
        closers.push(() => standby.stop());
        return standby;
      },
      async open(replica, replicaUrl = at(url, replica)) {
        const options = { url, replicaUrl, clock, log, replicaRetryMs: 100 };
        const store = await openPostgresStore(options);
        closers.push(() => store.close());
        return store;
      },
      log: () =>
        lines
          .map((line) => JSON.stringify(line))
          .filter((line) => line.includes('replica: the journal')),
    });
  } finally {
    for (const close of closers.reverse()) await close();
  }
}

async function append(store: PostgresStore, id: string): Promise<bigint> {
  const done = await store.commit({ events: [event(id)] });
  assert.ok(done.ok);
  return done.seq;
}

/** What comes behind `after`, as soon as there is something. */
async function next(store: PostgresStore, after: bigint): Promise<string[]> {
  let ids: string[] = [];
  await within(async () => {
    ids = (await store.read(after, 100)).map(({ id }) => id);
    return ids.length > 0;
  });
  return ids;
}

const isRead = (store: PostgresStore) => store.replica!.isRead();
const caughtUp = async (store: PostgresStore) =>
  within(async () => {
    await store.read(await store.lastSeq(), 1);
    return isRead(store);
  }, 'the replica is read again');

it('a hint names its node and the last event of the commit; one of a program of before names its node alone', () => {
  assert.deepEqual(readHint('a 12 1750000000000'), {
    node: 'a',
    watermark: { seq: 12n, at: 1_750_000_000_000 },
  });
  assert.deepEqual(readHint('a'), { node: 'a', watermark: undefined });
});

it('a replica that lags is left after 200 ms for the primary, said once, and read again when it has caught up', (context) =>
  withPlace(context, async ({ url, other, startStandby, open, log, primary }) => {
    const standby = await startStandby();
    const store = await open(standby);
    await caughtUp(store);
    await append(other, 'second');
    assert.deepEqual(await next(store, 1n), ['second']);
    const { rows } = await standby.ask(
      at(url, standby),
      `select query from pg_stat_activity where application_name = 'portcullis'`,
    );
    assert.match(JSON.stringify(rows), /journal/, 'it is asked');

    await caughtUp(store);
    await standby.ask(at(url, standby), 'select pg_wal_replay_pause()');
    const lines = log().length;
    await append(other, 'third');
    await within(async () => (await store.read(2n, 9)).length === 1 && !isRead(store));
    assert.equal(store.replica!.lagEvents(), 1);
    for (const [i, id] of ['fourth', 'fifth', 'sixth'].entries()) {
      await append(other, id);
      assert.deepEqual(await next(store, 3n + BigInt(i)), [id]);
      await new Promise((resolve) => setTimeout(resolve, 400));
      assert.equal(isRead(store), false, 'it is behind still');
    }
    assert.equal(log().length, lines + 1, log().join('\n'));
    assert.match(log().at(-1)!, /read from the primary/);

    await standby.ask(at(url, standby), 'select pg_wal_replay_resume()');
    await caughtUp(store);
    await append(other, 'seventh');
    assert.deepEqual(await next(store, 6n), ['seventh']);
    assert.equal((await primary.ask(url, 'select 1')).rows.length, 1);
  }));

it('a commit of the node itself is in its memory although the replica stands still', (context) =>
  withPlace(context, async ({ url, startStandby, open }) => {
    const standby = await startStandby();
    const store = await open(standby);
    const applied: string[] = [];
    const follower = createFollower({
      store,
      clock,
      log: memoryLog().log,
      from: 0n,
      pollMs: 200,
      readIntervalMs: 5,
      apply: ({ id }) => void applied.push(id),
    });
    follower.start();
    await follower.catchUpTo(await store.lastSeq());
    await within(async () => isRead(store));
    await standby.ask(at(url, standby), 'select pg_wal_replay_pause()');
    const seq = await append(store, 'own');
    await follower.catchUpTo(seq);
    assert.deepEqual(applied, ['first', 'own']);
    assert.equal(isRead(store), false);
    await follower.stop();
  }));

it('a replica that is always late is left, although each read finds something there', (context) =>
  withPlace(context, async ({ url, other, primary, open }) => {
    const standby = await startPostgres({
      primary: primary.directory,
      more: { recovery_min_apply_delay: '4s' },
    });
    try {
      const store = await open(standby);
      await within(async () => (await store.read(0n, 9)).length === 1);
      await caughtUp(store);
      let appended = 0;
      // Until the first of them is there: the last ones are not for some seconds more.
      await within(async () => {
        await append(other, `${appended++}`);
        const { rows } = await standby.ask(at(url, standby), 'select last_seq from journal_head');
        return Number(rows[0]!.last_seq) > 1;
      });
      assert.ok(isRead(store), 'nobody has read since');
      const page = await store.read(1n, 100);
      assert.ok(page.length > 0 && page.length < appended, `${page.length} of ${appended}`);
      assert.equal(isRead(store), false);
      assert.deepEqual(
        (await store.read(0n, 100)).map(({ seq }) => seq),
        (await other.read(0n, 100)).map(({ seq }) => seq),
      );
      assert.equal((await standby.ask(at(url, standby), 'select 1')).rows.length, 1);
    } finally {
      await standby.stop();
    }
  }));

it('a replica that dies or says nothing is left at once, and read again when it is back', (context) =>
  withPlace(context, async ({ other, startStandby, open, log }) => {
    const standby = await startStandby();
    const store = await open(standby);
    await caughtUp(store);
    await standby.kill();
    await append(other, 'second');
    assert.deepEqual(await next(store, 1n), ['second']);
    await append(other, 'third');
    assert.deepEqual(await next(store, 2n), ['third']);
    assert.equal(isRead(store), false);
    await standby.start();
    await caughtUp(store);
    const thaw = standby.freeze();
    try {
      await append(other, 'fourth');
      assert.deepEqual(await next(store, 3n), ['fourth']);
      assert.equal(isRead(store), false);
    } finally {
      thaw();
    }
    await caughtUp(store);
    assert.equal(log().filter((line) => line.includes('from the primary')).length, 2);
  }));

it('a replica that is promoted, or follows one that was, brings in nothing that the primary has not', (context) =>
  withPlace(context, async ({ url, other, startStandby, open }) => {
    const standby = await startStandby();
    const behind = await startStandby(standby);
    const stores = [await open(standby), await open(behind)];
    for (const store of stores) await caughtUp(store);
    await standby.ask(at(url, standby), 'select pg_promote()');
    const foreign = await openPostgresStore({
      url: at(url, standby),
      clock,
      log: memoryLog().log,
    });
    try {
      for (const id of ['x', 'y', 'z']) await append(foreign, id);
      await within(async () => {
        const { rows } = await behind.ask(at(url, behind), 'select last_seq from journal_head');
        return rows[0]!.last_seq === '4';
      });
      // They wait at the event that the primary gets next, and have others in its place.
      for (const store of stores) assert.deepEqual(await store.read(1n, 9), []);
      await append(other, 'second');
      for (const store of stores) {
        assert.deepEqual(await next(store, 1n), ['second']);
        assert.equal(isRead(store), false);
      }
      await append(other, 'third');
      for (const store of stores) assert.deepEqual(await next(store, 2n), ['third']);
      await new Promise((resolve) => setTimeout(resolve, 600));
      for (const store of stores) {
        await store.read(3n, 9);
        assert.equal(isRead(store), false, 'it is tried again, and left');
        assert.deepEqual(
          (await store.read(0n, 9)).map(({ id }) => id),
          ['first', 'second', 'third'],
        );
      }
    } finally {
      await foreign.close();
    }
  }));

it('a standby of another database, and a primary, are no replica; a node starts without one', (context) =>
  withPlace(context, async ({ primary, url, other, open, startStandby, log }) => {
    const stranger = await startPostgres();
    const strange = await stranger.createDatabase();
    const another = await openPostgresStore({ url: strange, clock, log: memoryLog().log });
    const follower = await startPostgres({ primary: stranger.directory });
    const gone = await startStandby();
    try {
      for (const id of ['x', 'y', 'z']) await append(another, id);
      await gone.kill();
      const stores = [
        await open(follower, at(strange, follower)),
        await open(primary),
        await open(gone),
      ];
      await append(other, 'second');
      for (const store of stores) {
        assert.equal(isRead(store), false);
        assert.deepEqual(await next(store, 0n), ['first', 'second']);
      }
      assert.equal(log().length, 3, log().join('\n'));
      for (const [i, reason] of [/another one/, /it is no standby/, /can't be reached/].entries()) {
        assert.match(log()[i]!, reason);
      }
      await gone.start();
      await caughtUp(stores[2]!);
      assert.equal(isRead(stores[0]!), false);
      assert.equal((await primary.ask(url, 'select 1')).rows.length, 1);
    } finally {
      await another.close();
      await follower.stop();
      await stranger.stop();
    }
  }));

it('a node answers a report with its effect while its replica stands still', (context) =>
  withPlace(context, async ({ primary, startStandby }) => {
    const url = await primary.createDatabase();
    const standby = await startStandby();
    const directory = makeTempDir('replica');
    const env = {
      ...sharedSettings(directory.path),
      DATABASE_URL: url,
      DATABASE_REPLICA_URL: at(url, standby),
      LOG_LEVEL: 'info' as const,
    };
    const dataDir = `${directory.path}/node`;
    try {
      await using node = await startTestServer({ threads: 1, demo: false, dataDir, env });
      await node.cliJson('account', 'create', demoEmail);
      const quotas = ['--read-per-minute', `${plenty}`, '--write-per-minute', '100000'];
      const key = (await node.cliJson('key', 'create', demoEmail, ...quotas)).text;
      const figure = async (name: string) =>
        new RegExp(`^portcullis_replica_${name} (\\d+)$`, 'm').exec(
          (await node.fetch('/metrics')).body,
        )![1];
      await within(async () => (await reportAt(node, key, 0)) !== 401);
      await within(async () => (await figure('read')) === '1', 'the replica is read');
      const connections = async () => {
        const { rows } = await primary.ask(
          url,
          `select count(*)::int as n from pg_stat_activity where datname = current_database()
           and backend_type = 'client backend' and pid <> pg_backend_pid()`,
        );
        return rows[0]!.n;
      };
      // Of a command that has ended a connection may be there for a moment more.
      await within(async () => (await connections()) === 3, 'and one connection of the replica');
      await standby.ask(at(url, standby), 'select pg_wal_replay_pause()');
      for (const n of [1, 2, 3]) {
        assert.equal(await reportAt(node, key, n), 200);
        assert.equal(await reportsAt(node, key, n), 1);
      }
      assert.equal(await figure('read'), '0');
      await standby.ask(at(url, standby), 'select pg_wal_replay_resume()');
      await within(async () => (await figure('read')) === '1', 'the replica is read again');
      assert.equal(await figure('lag_events'), '0');
    } finally {
      directory.remove();
    }
  }));
