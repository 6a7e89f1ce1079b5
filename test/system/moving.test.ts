/** A store that is restored into a database and back is the same to everybody, whenever a restore was killed. */

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { after, before, it, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { plainKey } from '../../src/access/accounts/records.ts';
import { newKeyRows } from '../../src/access/keys/api-keys.ts';
import { systemClock } from '../../src/core/clock.ts';
import { systemRandom } from '../../src/core/random.ts';
import type { RowDigest } from '../../src/storage/backup/content.ts';
import { lmdbSource } from '../../src/storage/backup/lmdb.ts';
import { loadDatabase, readDatabase } from '../../src/storage/backup/postgres.ts';
import { checkBackup, restoreRows } from '../../src/storage/backup/restore.ts';
import { intoFile, writeBackup } from '../../src/storage/backup/write.ts';
import { scratchKey, text } from '../../src/storage/keys.ts';
import { openTables } from '../../src/storage/lmdb/environment.ts';
import { openStore } from '../../src/storage/lmdb/store.ts';
import { openView } from '../../src/storage/lmdb/view.ts';
import { openPostgresStore } from '../../src/storage/postgres/store.ts';
import { hasTool } from '../support/house/tools.ts';
import { memoryLog } from '../support/server/memory-log.ts';
import { sharedSettings } from '../support/server/nodes.ts';
import { postgresProgram, startPostgres, type TestPostgres } from '../support/server/postgres.ts';
import {
  type Environment,
  plenty,
  runCli,
  startCli,
  startTestServer,
  type TestServer,
  within,
} from '../support/server/server.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';
import { createAgent, password } from '../support/signon/visitor.ts';

const directory = makeTempDir('moving');
/** Of a server without a database, on any port: what a refused start says must not be of a port that something has. */
const alone = { ...sharedSettings(directory.path), PORT: '0' };
const clock = systemClock();
const { log } = memoryLog();
let database: TestPostgres;
let url = '';

before(async (context) => {
  if (!hasTool(context as TestContext, postgresProgram)) return;
  database = await startPostgres();
  url = await database.createDatabase();
  // With its tables, so that one of them can be held.
  await (await openPostgresStore({ url, clock, log })).close();
});
after(async () => {
  await database?.stop();
  directory.remove();
});

const locationOf = (name: string) => `${directory.path}/${name}`;
const shared = (name: string): Environment => {
  return { ...alone, DATABASE_URL: url, DATA_DIR: locationOf(name) };
};

async function startOn(name: string, env: Environment = alone): Promise<TestServer> {
  const dataDir = locationOf(name);
  return startTestServer({ threads: 1, demo: false, dataDir, env: { ...env, DATA_DIR: dataDir } });
}

const email = 'ada@example.org';
const addresses = Array.from({ length: 40 }, (_, n) => `9.8.7.${n}`);
let key = '';

async function report(server: TestServer, address: string): Promise<number> {
  return (await server.report(address, { key, comment: 'moved' })).status;
}

/** What a check says of each address, and the last report of the first. */
async function answers(server: TestServer): Promise<unknown> {
  const found: unknown[] = [];
  for (const address of ['9.8.6.1', ...addresses]) {
    const path = `/api/v2/check?ipAddress=${address}&verbose`;
    const answer = await server.fetch(path, { headers: { Key: key } });
    assert.equal(answer.status, 200, answer.body);
    found.push(answer.json());
  }
  return found;
}

async function signIn(server: TestServer) {
  const agent = createAgent(server);
  const csrf = /name="csrf" value="([^"]+)"/.exec((await agent.get('/signin')).body)![1]!;
  const done = await agent.post('/signin', { csrf, email, password });
  assert.equal(done.headers.location, '/account', done.body);
  return agent;
}

async function restore(file: string, env: Environment) {
  const done = await runCli(['restore', file, '--json'], env);
  return { ...done, result: done.code === 0 ? JSON.parse(done.stdout) : undefined };
}

async function killed(file: string, env: Environment, when: () => Promise<boolean>): Promise<void> {
  const child = startCli(['restore', file, '--json'], env);
  // Without a pause that grows: what is waited for is over soon.
  while (child.process.exitCode === null && !(await when())) await delay(1);
  child.process.kill('SIGKILL');
  await child.ended;
}

/** Killed while it waits for a lock that somebody else holds: entries and journal are written. */
async function killedAtIds(file: string, env: Environment): Promise<void> {
  const holder = new pg.Client({ connectionString: url });
  holder.on('error', () => {});
  await holder.connect();
  await holder.query(`select pg_advisory_lock(1);
    create function hold() returns trigger language plpgsql as $$
      begin perform pg_advisory_lock(1); return null; end $$;
    create trigger hold before insert on event_ids execute function hold()`);
  await killed(file, env, async () => {
    const waiting = `select from pg_stat_activity where wait_event = 'advisory'`;
    return (await database.ask(url, waiting)).rows.length > 0;
  });
  await holder.query('drop function hold cascade');
  await holder.end();
}

it('a store moves into the database and back: checks, accounts, sessions and keys go on', async () => {
  let server = await startOn('one');
  const made = await runCli(
    ['account', 'create', email, '--password-stdin'],
    { ...alone, DATA_DIR: server.dataDir },
    `${password}\n`,
  );
  assert.equal(made.code, 0, made.stderr);
  const quotas = ['--read-per-minute', `${plenty}`, '--write-per-minute', '100000'];
  key = (await server.cliJson('key', 'create', email, ...quotas)).text;
  await within(async () => (await report(server, '9.9.9.9')) === 200);
  for (const address of addresses) assert.equal(await report(server, address), 200);
  writeFileSync(`${directory.path}/list.txt`, '9.8.6.0/24\n2a00:1::/32\n');
  await server.cliJson('seed', '--format', 'plain', `${directory.path}/list.txt`);
  const cookies = (await signIn(server)).cookies;
  const before = await answers(server);
  const there = `${directory.path}/there.backup`;
  await server.cliJson('backup', there);
  await server.stop();
  const aside = await restore(there, shared('one'));
  assert.match(aside.stderr, /holds an embedded store/);

  await killedAtIds(there, shared('two'));
  for (const words of [['allow', 'list'], ['serve']]) {
    for (const name of ['two', 'three']) {
      const refused = await runCli(words, shared(name));
      assert.equal(refused.code, 1);
      assert.match(refused.stderr, /restore .* was broken off.*run `portcullis restore` again/);
    }
  }
  const loaded = await restore(there, shared('two'));
  assert.equal(loaded.code, 0, loaded.stderr);
  const kinds: RowDigest[] = loaded.result.kinds;
  const rowsOf = (name: string) => kinds.find((kind) => kind.name === name)?.rows;
  assert.equal(rowsOf('reportById'), addresses.length + 1);
  const { rows } = await database.ask(
    url,
    `select (select sum(last_seq - first_seq + 1) from journal) as events,
            (select count(*) from kv where get_byte(key, 0) = 16) as accounts`,
  );
  assert.deepEqual(
    [rowsOf('journal'), rowsOf('account')],
    [Number(rows[0].events), Number(rows[0].accounts)],
  );
  const again = await restore(there, shared('two'));
  assert.match(again.stderr, /the database of DATABASE_URL is not empty/);

  server = await startOn('two', shared('two'));
  assert.deepEqual(await answers(server), before);
  const guest = createAgent(server);
  for (const [name, cookie] of cookies) guest.cookies.set(name, cookie);
  assert.ok((await guest.get('/account')).body.includes(email), 'who was signed in still is');
  await signIn(server);
  assert.equal(await report(server, '9.8.7.0'), 429, 'a guard that is written in the store');
  assert.equal(await report(server, '9.9.9.10'), 200);
  const after = await answers(server);
  const inUse = await restore(there, shared('four'));
  assert.equal(inUse.code, 1);
  assert.match(inUse.stderr, /node 1 \(.*\) uses the database/);
  const back = `${directory.path}/back.backup`;
  const whole = await runCli(['backup', back, '--json'], shared('two'));
  assert.equal(whole.code, 0, whole.stderr);
  assert.equal(await report(server, '9.9.9.12'), 200, 'a backup is of the moment of its begin');
  await server.stop();

  const three = { ...alone, DATA_DIR: locationOf('three') };
  const begun = `${locationOf('three')}/restoring/store/data.mdb`;
  await killed(back, three, async () => existsSync(begun));
  const half = await runCli(['serve'], three);
  assert.equal(half.code, 1);
  assert.match(half.stderr, /was broken off: run `portcullis restore` again/);
  const restored = await restore(back, three);
  assert.equal(restored.code, 0, restored.stderr);
  server = await startOn('three');
  assert.deepEqual(await answers(server), after);
  for (const [name, cookie] of cookies) createAgent(server).cookies.set(name, cookie);
  await signIn(server);
  assert.equal(await report(server, '9.9.9.10'), 429);
  assert.equal(await report(server, '9.9.9.12'), 200);
  await server.stop();
  const verified = await runCli(['verify', '--json'], three);
  assert.equal(verified.code, 0, verified.stdout + verified.stderr);
});

/** A store with entries that last, that end, and that changed, and a journal. @returns its path */
async function filled(name: string): Promise<string> {
  const dataDir = locationOf(name);
  mkdirSync(dataDir, { recursive: true });
  const path = `${dataDir}/store`;
  const masterKey = { id: Buffer.from('abcd') };
  const store = await openStore({ dataDir, path, clock, random, log, masterKey });
  for (let n = 0; n < 40; n++) {
    const set = [0, n].map((part) => ({
      key: scratchKey(text(`${part}`), Uint8Array.of(part === 0 ? 0 : 1)),
      value: randomBytes(n * 10),
      ...(n % 3 === 0 ? { expiresAt: clock.now() + 1_000 * n } : {}),
    }));
    const event = { id: `event ${n}`, kind: 'test', version: 1, body: randomBytes(n) };
    assert.ok((await store.commit({ set: n === 0 ? set.slice(1) : set, events: [event] })).ok);
  }
  // The index of keys is written with them in the database, and is among the rows here too.
  const own = { account: 'ann', createdAt: 1, endsAt: 0, revokedAt: 0, sealed: randomBytes(60) };
  const keys = Array.from({ length: 9 }, (_, n) => newKeyRows(`k${n}`, { ...own, ...plainKey }));
  assert.ok((await store.commit({ set: keys.flat() })).ok);
  await store.close();
  return path;
}

const random = systemRandom();

async function loadInto(databaseUrl: string, path: string): Promise<readonly RowDigest[]> {
  const tables = openTables(path);
  const view = openView(tables);
  try {
    return await loadDatabase({ url: databaseUrl, log }, (load) =>
      load(lmdbSource(view), () => undefined),
    );
  } finally {
    view.release();
    await tables.root.close();
  }
}

function backUp(databaseUrl: string, file: string) {
  return intoFile(file, random, (write) =>
    readDatabase({ url: databaseUrl, log }, (source) => writeBackup(source, { clock, write })),
  );
}

it('versions, times, positions and ids stay, there and back', async () => {
  const path = await filled('ids');
  const databaseUrl = await database.createDatabase();
  const there = await loadInto(databaseUrl, path);
  const store = await openPostgresStore({ url: databaseUrl, clock, log });
  const again = await store.commit({
    events: [{ id: 'event 39', kind: 'test', version: 1, body: Buffer.alloc(0) }],
  });
  assert.ok(again.ok && again.duplicate, 'an event that was in is not in twice');
  assert.equal(again.seq, 40n);
  const fresh = await store.commit({
    set: [{ key: scratchKey(text('new')), value: Buffer.of(1) }],
  });
  assert.ok(fresh.ok && fresh.versions[0]! > 100);
  await store.close();
  const file = `${directory.path}/ids.backup`;
  await backUp(databaseUrl, file);
  const source = { path: file, passphrase: async () => undefined };
  await checkBackup(source);
  const target = `${locationOf('ids')}/back/store`;
  mkdirSync(`${locationOf('ids')}/back`);
  const { kinds } = await restoreRows(source, target, () => undefined);
  const others = (of: readonly RowDigest[]) => of.filter(({ name }) => name !== 'scratch');
  assert.deepEqual(others(kinds), others(there));
  const [was, is] = [path, target].map((one) => openTables(one));
  const views = [was!, is!].map(openView);
  for (const table of ['journal', 'eventIds', 'expiry'] as const) {
    const [old, now] = views.map((view) => view.batch(table, undefined, false, 1e6));
    assert.deepEqual(now, old, table);
  }
  const [old, now] = views.map((view) => view.batch('entries', Uint8Array.of(0xf0), false, 1e6));
  assert.deepEqual(
    now!.filter(({ key: of }) => !Buffer.from(of).includes('new')),
    old,
  );
  for (const view of views) view.release();
  await Promise.all([was!.root.close(), is!.root.close()]);
});

it('a row of the database that is damaged is named, and makes no backup', async () => {
  const databaseUrl = await database.createDatabase();
  await loadInto(databaseUrl, await filled('damaged'));
  const cut = await database.ask(
    databaseUrl,
    `update journal set frames = substring(frames from 2)
     where last_seq = (select max(last_seq) from journal) returning last_seq`,
  );
  const file = `${directory.path}/damaged.backup`;
  const line = `the database is damaged \\(the row ${cut.rows[0].last_seq} of journal\\)`;
  await assert.rejects(backUp(databaseUrl, file), new RegExp(line));
  assert.equal(existsSync(file), false);
});

it('a row that the database changed is found at the end, and no node starts on it', async () => {
  const path = await filled('changed');
  const databaseUrl = await database.createDatabase();
  await (await openPostgresStore({ url: databaseUrl, clock, log })).close();
  const trigger = `create function change() returns trigger language plpgsql as $$
      begin new.value = new.value || '\\x00'::bytea; return new; end $$;
    create trigger change before insert on kv for each row
      when (new.key = '\\x${Buffer.from(scratchKey(text('3'), Uint8Array.of(1))).toString('hex')}')
      execute function change()`;
  await database.ask(databaseUrl, trigger);
  await assert.rejects(loadInto(databaseUrl, path), /differs in scratch$/);
  const env = { ...shared('changed-node'), DATABASE_URL: databaseUrl };
  assert.match((await runCli(['allow', 'list'], env)).stderr, /was broken off/);
  await database.ask(databaseUrl, 'drop function change cascade');
  await loadInto(databaseUrl, path);
  assert.doesNotMatch((await runCli(['allow', 'list'], env)).stderr, /was broken off/);
});

it('a database that holds anything else takes no store', async () => {
  const path = await filled('filled');
  const databaseUrl = await database.createDatabase();
  const store = await openPostgresStore({ url: databaseUrl, clock, log });
  await assert.rejects(loadInto(databaseUrl, path), /in use by another Portcullis/);
  await store.commit({ set: [{ key: scratchKey(text('x')), value: Buffer.of(1) }] });
  await store.close();
  await assert.rejects(loadInto(databaseUrl, path), /is not empty/);
});
