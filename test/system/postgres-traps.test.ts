/** What PostgreSQL does that nobody expects, and what the store makes of it. */

import assert from 'node:assert/strict';
import { after, before, it, type TestContext } from 'node:test';
import { systemClock } from '../../src/core/clock.ts';
import { OperatorError } from '../../src/core/errors.ts';
import { type Key, scratchKey, text, u32 } from '../../src/storage/keys.ts';
import {
  type Connection,
  createConnection,
  hostsText,
  type Query,
} from '../../src/storage/postgres/connection.ts';
import { ForkedJournalError } from '../../src/storage/postgres/reads.ts';
import { openPostgresStore, type PostgresStore } from '../../src/storage/postgres/store.ts';
import { DamagedRowError } from '../../src/storage/rows.ts';
import { type Commit, type CommitResult, StoreUnavailableError } from '../../src/storage/store.ts';
import { hasTool } from '../support/house/tools.ts';
import { memoryLog } from '../support/server/memory-log.ts';
import { postgresProgram, startPostgres, type TestPostgres } from '../support/server/postgres.ts';
import { within } from '../support/server/server.ts';

let server: TestPostgres;
before(async (context) => {
  if (hasTool(context as TestContext, postgresProgram)) server = await startPostgres();
});
after(() => server?.stop());

const key = (name: string, n = 0): Key => scratchKey(text(name), u32(n));
const value = Buffer.from('x');
const event = (id: string) => ({ id, kind: 'test', version: 1, body: value });
const { log } = memoryLog();

type Connect = typeof createConnection;

async function withStores(
  count: number,
  use: (stores: PostgresStore[], url: string) => Promise<void>,
  connect: Connect = createConnection,
): Promise<void> {
  const url = await server.createDatabase();
  const options = { url, clock: systemClock(), log, connect };
  const stores: PostgresStore[] = [];
  try {
    for (let i = 0; i < count; i++) stores.push(await openPostgresStore(options));
    await use(stores, url);
  } finally {
    await Promise.all(stores.map((store) => store.close()));
    await server.dropDatabase(url);
  }
}

const isCommit = (queries: readonly Query[]) => queries.at(-1)?.text === 'commit';

/** Connections whose commits go through `around`: it does what it wants with the real one. */
function changed(
  around: (queries: readonly Query[], send: typeof sendType) => ReturnType<typeof sendType>,
): Connect {
  return (options) => {
    const real = createConnection(options);
    return {
      ...real,
      async session() {
        const session = await real.session();
        return {
          ...session,
          pipeline: (queries) =>
            isCommit(queries) ? around(queries, session.pipeline) : session.pipeline(queries),
        };
      },
    };
  };
}
declare const sendType: Awaited<ReturnType<Connection['session']>>['pipeline'];

function firstTime(): () => boolean {
  let isFirst = true;
  return () => {
    const was = isFirst;
    isFirst = false;
    return was;
  };
}

it('a commit that PostgreSQL turned into a rollback is not taken for one', async () => {
  const isFirst = firstTime();
  const connect = changed(async (queries, send) => {
    if (!isFirst()) return send(queries);
    // The transaction is aborted behind the store's back; then nothing but `commit` is sent.
    await send([{ text: 'select 1/0' }]).catch(() => {});
    return send(queries.slice(-1));
  });
  await withStores(
    1,
    async ([store]) => {
      const done = await store!.commit({ set: [{ key: key('a'), value }] });
      assert.ok(done.ok, 'made again');
      assert.equal((await store!.get(key('a')))?.version, done.versions[0]);
    },
    connect,
  );
});

it('a connection that breaks behind the commit is settled by event ids and versions', async () => {
  let breaks = 0;
  const connect = changed(async (queries, send) => {
    const done = await send(queries);
    if (breaks-- <= 0) return done;
    throw new Error('Connection terminated unexpectedly');
  });
  await withStores(
    1,
    async ([store]) => {
      const make = { check: [{ key: key('a'), version: null }], set: [{ key: key('a'), value }] };
      async function broken(commit: Commit): Promise<CommitResult> {
        breaks = 1;
        return store!.commit(commit);
      }
      const made = await broken(make);
      assert.ok(made.ok && !made.duplicate, 'told by the version of its row');
      assert.equal((await store!.get(key('a')))?.version, made.versions[0]);
      const told = await broken({ set: [{ key: key('b'), value }], events: [event('one')] });
      assert.ok(told.ok && !told.duplicate && told.seq === 1n, 'told by its event');
      assert.equal((await store!.get(key('b')))?.version, told.versions[0]);
      assert.equal((await store!.read(0n, 10)).length, 1);
      // The first one keeps the connection busy, so that the other two share a transaction.
      const [, retry] = await Promise.all([
        store!.commit({ check: [{ key: key('a'), version: 1 }] }),
        broken({ set: [{ key: key('b'), value }], events: [event('one')] }),
        store!.commit({ set: [{ key: key('c'), value }] }),
      ]);
      assert.ok(retry.ok && retry.duplicate, 'a retry of its own stays one');
      // Nothing is left of it that could tell: it must not say that somebody else was faster.
      const check = [{ key: key('a'), version: made.versions[0]! }];
      const taken = await broken({ check, del: [key('a')] });
      assert.ok(!taken.ok && taken.error === 'store_unavailable');
      assert.equal(await store!.get(key('a')), undefined);
    },
    connect,
  );
});

it('forty backends that are killed under load lose nothing, count nothing twice and end nothing', async () => {
  await withStores(2, async (stores, url) => {
    const sure: string[] = [];
    let made = 0;
    let isOver = false;
    async function write(store: PostgresStore): Promise<void> {
      while (!isOver) {
        const n = made++;
        const commit = { set: [{ key: key('k', n), value }], events: [event(`e${n}`)] };
        const done = await store.commit(commit);
        if (done.ok) sure.push(`e${n}`);
        else await new Promise((resolve) => setTimeout(resolve, 5));
      }
    }
    const writers = stores.flatMap((store) => Array.from({ length: 8 }, () => write(store)));
    for (let kill = 0; kill < 40; kill++) {
      const before = sure.length;
      await within(() => sure.length > before + 5);
      await server.ask(
        url,
        `select pg_terminate_backend(pid) from pg_stat_activity
         where application_name = 'portcullis' and datname = current_database()
         order by random() limit 2`,
      );
    }
    isOver = true;
    await Promise.all(writers);
    const seen: string[] = [];
    for (;;) {
      const page = await stores[0]!.read(BigInt(seen.length), 1_000);
      if (page.length === 0) break;
      for (const { seq, id } of page) {
        seen.push(id);
        assert.equal(seq, BigInt(seen.length), 'without gaps');
      }
    }
    assert.equal(new Set(seen).size, seen.length, 'none twice');
    const there = new Set(seen);
    assert.deepEqual(
      sure.filter((id) => !there.has(id)),
      [],
    );
  });
});

it('statements that were prepared on empty tables use their indexes when these are full', async () => {
  await withStores(1, async ([store], url) => {
    for (let n = 0; n < 20; n++) {
      const set = Array.from({ length: 500 }, (_, i) => ({ key: key('k', n * 500 + i), value }));
      const events = Array.from({ length: 100 }, (_, i) => event(`e${n * 100 + i}`));
      await store!.commit({ set, events });
    }
    // Counters are told at most once a second, when the backend has nothing else to do.
    const scans = async (kind: 'seq' | 'idx') => {
      const sql = `select sum(${kind}_scan)::int as n from pg_stat_user_tables
                   where relname in ('kv', 'event_ids', 'journal')`;
      return Number((await server.ask(url, sql)).rows[0].n);
    };
    const start = await scans('idx');
    await within(async () => {
      await store!.commit({ set: [{ key: key('k', 3), value }], events: [event('again')] });
      await store!.get(key('k', 7));
      await store!.read(1_990n, 10);
      await store!.scan(key('k', 5), { limit: 5 });
      return (await scans('idx')) > start + 100;
    });
    assert.equal(await scans('seq'), 0);
  });
});

it('keys, values and ids of all bytes come back as they were', async () => {
  await withStores(1, async ([store]) => {
    const all = Uint8Array.from({ length: 256 }, (_, i) => i);
    const strange = Buffer.concat([key('z'), all]) as unknown as Key;
    const id = 'é"\\{},NULL\u0001 ☃';
    const commit = { set: [{ key: strange, value: all }], events: [{ ...event(id), body: all }] };
    assert.ok((await store!.commit(commit)).ok);
    assert.deepEqual([...(await store!.get(strange))!.value], [...all]);
    assert.deepEqual(Buffer.from((await store!.scan(key('z'), { limit: 9 }))[0]!.key), strange);
    const [read] = await store!.read(0n, 9);
    assert.equal(read!.id, id);
    assert.deepEqual([...read!.body], [...all]);
    const again = await store!.commit(commit);
    assert.ok(again.ok && again.duplicate);
  });
});

it('a row that another session holds makes a commit unavailable in the end, and no more', async () => {
  await withStores(1, async ([store], url) => {
    await store!.commit({ set: [{ key: key('a'), value }] });
    const holder = createConnection({ url, log });
    const session = await holder.session();
    const bounds = ['lock_timeout', 'statement_timeout', 'idle_in_transaction_session_timeout'];
    const asked = bounds.map((name) => `current_setting('${name}') as ${name}`);
    const [found] = await session.query({ text: `select ${asked.join(', ')}` });
    assert.deepEqual(Object.values(found!), ['5s', '20s', '5s']);
    await session.script('set idle_in_transaction_session_timeout = 0');
    await session.script('begin; select * from kv for update');
    const late = await store!.commit({ set: [{ key: key('a'), value }] });
    assert.ok(!late.ok && late.error === 'store_unavailable');
    await holder.close();
    await within(async () => (await store!.commit({ set: [{ key: key('a'), value }] })).ok);
  });
});

it('a standby is passed over, and the next host is asked', async () => {
  const standby = await server.startStandby();
  try {
    const url = await server.createDatabase();
    const place = (directory: string) => encodeURIComponent(directory);
    const name = /\/(t\d+)\?/.exec(url)![1];
    const hosts = `${place(standby.directory)},${place(server.directory)}`;
    const both = `postgres://postgres@${hosts}/${name}`;
    const store = await openPostgresStore({ url: both, clock: systemClock(), log });
    assert.ok((await store.commit({ set: [{ key: key('a'), value }] })).ok);
    await store.close();
    const alone = `postgres://postgres:secret@${place(standby.directory)}/postgres`;
    await assert.rejects(
      openPostgresStore({ url: alone, clock: systemClock(), log }),
      (error: Error) => {
        assert.ok(error instanceof StoreUnavailableError);
        assert.match(error.message, /it is a standby/);
        assert.ok(!error.message.includes('secret'));
        return true;
      },
    );
    assert.equal(hostsText('postgres://u:secret@a:1,b/n?x=y'), 'a:1/n, b/n');
    await server.dropDatabase(url);
  } finally {
    await standby.stop();
  }
});

it('a primary that takes no writes any more is read on, and left by writer and reader for a host that does', async () => {
  const url = await server.createDatabase();
  const standby = await server.startStandby();
  const place = (directory: string) => encodeURIComponent(directory);
  const name = /\/(t\d+)\?/.exec(url)![1];
  const hosts = `${place(server.directory)},${place(standby.directory)}`;
  const both = `postgres://postgres@${hosts}/${name}`;
  const writing = `${url}&options=-c%20default_transaction_read_only%3Doff`;
  async function setReadOnly(words: string): Promise<void> {
    await server.ask(writing, `alter system ${words}`);
    await server.ask(writing, 'select pg_reload_conf()');
  }
  const store = await openPostgresStore({ url: both, clock: systemClock(), log });
  const write = (n: number) => store.commit({ set: [{ key: key('a', n), value }] });
  try {
    assert.ok((await write(1)).ok);
    await setReadOnly('set default_transaction_read_only = on');
    await within(async () => !(await write(2)).ok);
    assert.ok(await store.get(key('a', 1)), 'there is no other one yet');
    await assert.rejects(store.sweep(1), StoreUnavailableError);
    await standby.ask(url.replace(server.directory, standby.directory), 'select pg_promote()');
    await within(async () => (await write(3)).ok);
    await within(async () => (await store.get(key('a', 3))) !== undefined);
  } finally {
    await store.close();
    await setReadOnly('reset default_transaction_read_only');
    await standby.stop();
    await server.dropDatabase(url);
  }
});

it('a hint goes to the other nodes, and to the own followers once', async () => {
  await withStores(2, async ([one, two]) => {
    const hints = [0, 0];
    one!.onJournalGrowth(() => hints[0]!++);
    two!.onJournalGrowth(() => hints[1]!++);
    // Hints come in the order of the commits: before the last one, all that were its own are there.
    for (let n = 0; n < 50; n++) await one!.commit({ events: [event(`a${n}`)] });
    await two!.commit({ events: [event('b')] });
    await within(() => hints[0]! >= 51 && hints[1]! >= 51);
    assert.deepEqual(hints, [51, 51]);
  });
});

it('of two commits that each rely on what the other one makes being absent, one wins', async () => {
  await withStores(2, async ([one, two]) => {
    for (let n = 0; n < 100; n++) {
      const crossed = (own: string, other: string): Commit => ({
        check: [{ key: key(other, n), version: null }],
        set: [{ key: key(own, n), value }],
      });
      const done = await Promise.all([
        one!.commit(crossed('a', 'b')),
        two!.commit(crossed('b', 'a')),
      ]);
      assert.equal(done.filter(({ ok }) => ok).length, 1, `round ${n}`);
    }
  });
});

it('a journal that became another one, or shorter, is told from one that is late', async () => {
  await withStores(1, async ([store], url) => {
    await store!.commit({ events: [event('a'), event('b')] });
    assert.equal((await store!.read(0n, 9)).length, 2);
    await assert.rejects(store!.read(3n, 9), ForkedJournalError);
    const [first, last] = await store!.read(0n, 9);
    await store!.commit({ events: [event('c')] });
    assert.equal((await store!.read(1n, 9, first!.at)).length, 2);
    assert.equal((await store!.read(2n, 9, last!.at)).length, 1);
    await assert.rejects(store!.read(1n, 9, first!.at + 1), ForkedJournalError);
    await assert.rejects(store!.read(2n, 9, last!.at - 1), ForkedJournalError);
    await server.ask(url, 'update journal_head set epoch = gen_random_uuid()');
    await assert.rejects(store!.read(2n, 9), ForkedJournalError);
  });
});

it('an event that the journal has not is named, though its head tells of it', async () => {
  await withStores(1, async ([store], url) => {
    for (const id of ['a', 'b', 'c']) await store!.commit({ events: [event(id)] });
    const missing = (seq: number) => (error: Error) =>
      error instanceof DamagedRowError && error.message.endsWith(`${seq} of journal is missing`);
    await server.ask(url, 'delete from journal where last_seq = 3');
    assert.equal((await store!.read(0n, 9)).length, 2);
    await assert.rejects(store!.read(2n, 9), missing(3));
    await server.ask(url, 'delete from journal');
    await assert.rejects(store!.read(0n, 9), missing(1));
  });
});

it('a database without a table is refused by its name; one that loses it answers that it is away', async () => {
  await withStores(1, async ([store], url) => {
    await store!.commit({ events: [event('a')] });
    for (const name of ['kv', 'journal', 'event_ids', 'told']) {
      await server.ask(url, `alter table ${name} rename to ${name}_away`);
      await assert.rejects(openPostgresStore({ url, clock: systemClock(), log }), (error) => {
        assert.ok(error instanceof OperatorError);
        return error.message.includes(`it lacks ${name}: restore it`);
      });
      if (name === 'kv') await assert.rejects(store!.get(key('a')), StoreUnavailableError);
      if (name === 'journal') await assert.rejects(store!.read(0n, 9), StoreUnavailableError);
      await server.ask(url, `alter table ${name}_away rename to ${name}`);
    }
    assert.equal((await store!.read(0n, 9)).length, 1);
    await server.ask(url, 'delete from journal_head');
    await assert.rejects(openPostgresStore({ url, clock: systemClock(), log }), /journal_head/);
  });
});

it('a read of the journal is sent no rows behind its limit', async () => {
  const sent: number[] = [];
  const connect: Connect = (options) => {
    const real = createConnection(options);
    return {
      ...real,
      async session() {
        const session = await real.session();
        return {
          ...session,
          async query<Row>(query: Query) {
            const rows = await session.query<Row>(query);
            if (query.name === 'journal') sent.push(rows.length);
            return rows;
          },
          async copy(select) {
            const messages = await session.copy(select);
            // The last one is the end.
            sent.push(messages.length - 1);
            return messages;
          },
        };
      },
    };
  };
  await withStores(
    1,
    async ([store]) => {
      const ids = Array.from({ length: 50 }, (_, n) => `a${n}`);
      for (let n = 0; n < 50; n += 10) {
        await store!.commit({ events: ids.slice(n, n + 10).map(event) });
      }
      const seqsAfter = async (after: bigint, limit: number) =>
        (await store!.read(after, limit)).map(({ seq }) => Number(seq));
      assert.deepEqual(await seqsAfter(5n, 5), [6, 7, 8, 9, 10]);
      // Behind a full page they are copied.
      assert.deepEqual(await seqsAfter(10n, 5), [11, 12, 13, 14, 15]);
      assert.deepEqual(await seqsAfter(15n, 6), [16, 17, 18, 19, 20, 21]);
      assert.deepEqual(await seqsAfter(5n, 6), [6, 7, 8, 9, 10, 11]);
      assert.deepEqual(await seqsAfter(20n, 1), [21]);
      assert.equal((await seqsAfter(0n, 100)).length, 50);
    },
    connect,
  );
  assert.deepEqual(sent, [1, 1, 2, 2, 1, 5]);
});

it("tables that can not be made are the operator's matter, told in one line", async () => {
  const url = await server.createDatabase();
  await server.ask(url, 'create role guest login');
  const options = { clock: systemClock(), log };
  const made = openPostgresStore({ ...options, url: url.replace('postgres@', 'guest@') });
  await assert.rejects(made, (error: Error) => {
    assert.ok(error instanceof OperatorError);
    assert.match(error.message, /tables can't be made: permission denied/);
    return true;
  });
});

/** Sets something for all sessions of a database that begin from now on. */
async function alter(url: string, setting: string): Promise<void> {
  const [, name] = /@\/([^?]+)/.exec(url)!;
  await server.ask(
    url,
    `begin; set transaction read write; alter database "${name}" ${setting}; commit`,
  );
}

it('bytes come as they were from a database that writes them in its older form', async () => {
  const url = await server.createDatabase();
  await alter(url, "set bytea_output = 'escape'");
  const store = await openPostgresStore({ url, clock: systemClock(), log });
  try {
    const bytes = Buffer.from([0, 1, 0x27, 0x5c, 0x78, 0xff]);
    assert.ok((await store.commit({ set: [{ key: key('a'), value: bytes }] })).ok);
    assert.deepEqual(Buffer.from((await store.get(key('a')))!.value), bytes);
  } finally {
    await store.close();
    await server.dropDatabase(url);
  }
});

it('a database that takes no writes any more can be opened and read; an empty one is refused in words', async () => {
  const url = await server.createDatabase();
  const options = { url, clock: systemClock(), log };
  try {
    await alter(url, 'set default_transaction_read_only = on');
    await assert.rejects(openPostgresStore(options), (error) => {
      assert.ok(error instanceof OperatorError);
      return /tables can't be made: .*read-only/.test(error.message);
    });
    await alter(url, 'reset default_transaction_read_only');
    const before = await openPostgresStore(options);
    assert.ok((await before.commit({ set: [{ key: key('a'), value }] })).ok);
    await before.claimName('master_key', value);
    await before.close();
    await alter(url, 'set default_transaction_read_only = on');
    const store = await openPostgresStore(options);
    try {
      assert.ok(value.equals(await store.claimName('master_key', Buffer.from('other'))));
      assert.ok(value.equals((await store.get(key('a')))!.value));
      const refused = await store.commit({ set: [{ key: key('b'), value }] });
      assert.ok(!refused.ok && refused.error === 'store_unavailable');
    } finally {
      await store.close();
    }
  } finally {
    await server.dropDatabase(url);
  }
});
