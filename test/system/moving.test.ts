/** A store that moves into a database and back is the same to everybody, whenever the move was killed. */

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { after, before, it, type TestContext } from 'node:test';
import pg from 'pg';
import { plainKey } from '../../src/access/accounts/records.ts';
import { newKeyRows } from '../../src/access/keys/key-records.ts';
import { systemClock } from '../../src/core/clock.ts';
import { systemRandom } from '../../src/core/random.ts';
import { scratchKey, storedKey, text } from '../../src/storage/keys.ts';
import { openTables } from '../../src/storage/lmdb-environment.ts';
import { openStore } from '../../src/storage/migrate.ts';
import { type MoveRun, moveToEmbedded, moveToPostgres } from '../../src/storage/moving/run.ts';
import { openPostgresStore } from '../../src/storage/postgres/store.ts';
import { openView } from '../../src/storage/view.ts';
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
/** Of a server without a database. */
const alone = sharedSettings(directory.path);
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

const placeOf = (name: string) => `${directory.path}/${name}`;
const shared = (name: string): Environment => {
  return { ...alone, DATABASE_URL: url, DATA_DIR: placeOf(name) };
};

async function startOn(name: string, env: Environment = alone): Promise<TestServer> {
  const dataDir = placeOf(name);
  return startTestServer({ threads: 1, demo: false, dataDir, env: { ...env, DATA_DIR: dataDir } });
}

const email = 'ada@example.org';
const addresses = Array.from({ length: 40 }, (_, n) => `9.8.7.${n}`);
let key = '';

async function report(server: TestServer, address: string): Promise<number> {
  const answer = await server.fetch('/api/v2/report', {
    method: 'POST',
    headers: { Key: key, 'Content-Type': 'application/x-www-form-urlencoded' },
    body: `ip=${address}&categories=18&comment=moved`,
  });
  return answer.status;
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

async function migrate(name: string, to: string) {
  const done = await runCli(['migrate', to, '--json'], shared(name));
  return { ...done, result: done.code === 0 ? JSON.parse(done.stdout) : undefined };
}

async function killed(name: string, to: string, when: () => Promise<boolean>): Promise<void> {
  const child = startCli(['migrate', to, '--json'], shared(name));
  await within(async () => child.process.exitCode !== null || (await when()));
  child.process.kill('SIGKILL');
  await child.ended;
}

/** Killed while it waits for a table that somebody else holds: entries and journal are written. */
async function killedAtIds(name: string): Promise<void> {
  const holder = new pg.Client({ connectionString: url });
  holder.on('error', () => {});
  await holder.connect();
  await holder.query('begin; lock table event_ids in access exclusive mode');
  await killed(name, 'embedded-to-postgres', async () => {
    const waiting = `select from pg_stat_activity where wait_event_type = 'Lock'`;
    return (await database.ask(url, waiting)).rows.length > 0;
  });
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
  const beside = await migrate('one', 'embedded-to-postgres');
  assert.equal(beside.code, 1);
  assert.match(beside.stderr, /another Portcullis server/);
  await server.stop();

  await killedAtIds('one');
  for (const env of [{ ...alone, DATA_DIR: placeOf('one') }, shared('two')]) {
    const refused = await runCli(['allow', 'list'], env);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /is not finished/);
  }
  const there = await migrate('one', 'embedded-to-postgres');
  assert.equal(there.code, 0, there.stderr);
  assert.ok(there.result.resumedAt > 0, 'it goes on where it was killed');
  assert.ok(there.result.rows > there.result.resumedAt);
  const left = await runCli(['allow', 'list'], { ...alone, DATA_DIR: placeOf('one') });
  assert.match(left.stderr, /was moved to PostgreSQL/);
  const again = await migrate('one', 'embedded-to-postgres');
  assert.equal(again.code, 0, again.stderr);
  assert.equal(again.result.moved, false, 'it is done already');
  const other = { ...shared('one'), DATABASE_URL: await database.createDatabase() };
  const elsewhere = await runCli(['migrate', 'embedded-to-postgres'], other);
  assert.equal(elsewhere.code, 1);
  assert.match(elsewhere.stderr, /moved before, and not to the database of DATABASE_URL/);

  server = await startOn('one', shared('one'));
  assert.deepEqual(await answers(server), before);
  const guest = createAgent(server);
  for (const [name, cookie] of cookies) guest.cookies.set(name, cookie);
  assert.ok((await guest.get('/account')).body.includes(email), 'who was signed in still is');
  await signIn(server);
  assert.equal(await report(server, '9.8.7.0'), 429, 'a guard that is written in the store');
  assert.equal(await report(server, '9.9.9.10'), 200);
  const after = await answers(server);
  const inUse = await migrate('three', 'postgres-to-embedded');
  assert.equal(inUse.code, 1);
  assert.match(inUse.stderr, /node 1 \(.*\) uses the database/);
  await server.stop();

  assert.match((await migrate('one', 'postgres-to-embedded')).stderr, /holds a store/);
  const begun = `${placeOf('three')}/moving/data.mdb`;
  await killed('three', 'postgres-to-embedded', async () => existsSync(begun));
  const back = await migrate('three', 'postgres-to-embedded');
  assert.equal(back.code, 0, back.stderr);
  assert.match((await runCli(['allow', 'list'], shared('two'))).stderr, /moved to an embedded/);
  assert.equal((await migrate('three', 'postgres-to-embedded')).result.moved, false);
  server = await startOn('three');
  assert.deepEqual(await answers(server), after);
  for (const [name, cookie] of cookies) createAgent(server).cookies.set(name, cookie);
  await signIn(server);
  assert.equal(await report(server, '9.9.9.10'), 429);
  assert.equal(await report(server, '9.9.9.11'), 200);
  await server.stop();
  const verified = await runCli(['verify', '--json'], { ...alone, DATA_DIR: placeOf('three') });
  assert.equal(verified.code, 0, verified.stdout + verified.stderr);
});

async function place(name: string): Promise<MoveRun> {
  mkdirSync(placeOf(name), { recursive: true });
  const databaseUrl = await database.createDatabase();
  const masterKeyId = Buffer.from('abcd');
  const random = systemRandom();
  return { dataDir: placeOf(name), databaseUrl, masterKeyId, clock, random, log, batchRows: 7 };
}

/** A store with entries that last, that end, and that changed, and a journal. */
async function filled(run: MoveRun): Promise<void> {
  const path = `${run.dataDir}/store`;
  const masterKeyIn = { id: run.masterKeyId };
  const store = await openStore({ ...run, path, masterKey: masterKeyIn });
  for (let n = 0; n < 40; n++) {
    const set = [0, n].map((part) => ({
      key: scratchKey(text(`${part}`), Uint8Array.of(part === 0 ? 0 : 1)),
      value: randomBytes(n * 10),
      ...(n % 3 === 0 ? { expiresAt: clock.now() + 1_000 * n } : {}),
    }));
    const event = { id: `event ${n}`, kind: 'test', version: 1, body: randomBytes(n) };
    assert.ok((await store.commit({ set: n === 0 ? set.slice(1) : set, events: [event] })).ok);
  }
  // Enough of them that their rows of the index come in another batch.
  const key = { account: 'ann', createdAt: 1, endsAt: 0, revokedAt: 0, sealed: randomBytes(60) };
  const keys = Array.from({ length: 9 }, (_, n) => newKeyRows(`k${n}`, { ...key, ...plainKey }));
  assert.ok((await store.commit({ set: keys.flat() })).ok);
  await store.pruneEvents(0n);
  await store.close();
}

/** Ends behind each batch in turn, until one run comes to its end. */
async function inPieces(run: MoveRun, move: typeof moveToPostgres) {
  for (let ends = 0; ; ends++) {
    let batches = 0;
    const afterBatch = async () => {
      if (++batches > 1) throw new Error('an end');
    };
    const done = await move({ ...run, afterBatch }).catch((error: Error) => {
      assert.equal(error.message, 'an end');
      return undefined;
    });
    if (done !== undefined) return { ends, done };
  }
}

it('a move that ends behind any batch goes on from there, and versions, times and ids stay', async () => {
  const run = await place('pieces');
  await filled(run);
  const there = await inPieces(run, moveToPostgres);
  assert.ok(there.ends > 5);
  const store = await openPostgresStore({ url: run.databaseUrl, clock, log });
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
  const target = { ...run, dataDir: placeOf('pieces-back') };
  mkdirSync(target.dataDir);
  const back = await inPieces(target, moveToEmbedded);
  assert.ok(back.ends > 5);
  assert.equal(back.done.rows, there.done.rows + 1);
  const [was, is] = [run, target].map(({ dataDir }) => openTables(`${dataDir}/store`));
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

it('a row that is damaged is named, nothing is given over, and the store goes on', async () => {
  const run = await place('damaged');
  await filled(run);
  const path = `${run.dataDir}/store`;
  const tables = openTables(path);
  const bad = scratchKey(text('3'), Uint8Array.of(1));
  const row = Buffer.from(tables.entries.get(bad)!);
  row[row.length - 1]! ^= 1;
  tables.entries.putSync(bad, row);
  await tables.root.close();
  const name = Buffer.from(bad).toString('hex');
  await assert.rejects(moveToPostgres(run), new RegExp(`the row ${name} of entries is damaged`));
  const empty = await database.ask(run.databaseUrl, "select from meta where name = 'move'");
  assert.equal(empty.rows.length, 0);
  const store = await openStore({ ...run, path });
  await store.commit({ del: [storedKey(bad)] });
  await store.close();
  await moveToPostgres(run);

  const cut = await database.ask(
    run.databaseUrl,
    `update journal set frames = substring(frames from 2)
     where last_seq = (select max(last_seq) from journal) returning last_seq`,
  );
  const line = `the row ${cut.rows[0].last_seq} of journal is damaged`;
  const target = { ...run, dataDir: placeOf('damaged-back') };
  mkdirSync(target.dataDir);
  await assert.rejects(moveToEmbedded(target), new RegExp(line));
  assert.ok(!existsSync(`${target.dataDir}/store`));
  const other = { ...run, masterKeyId: Buffer.from('efgh') };
  await assert.rejects(moveToEmbedded({ ...other, dataDir: target.dataDir }), /master key/);
});

it('a database that holds anything else takes no store', async () => {
  const run = await place('filled');
  await filled(run);
  const store = await openPostgresStore({ url: run.databaseUrl, clock, log });
  await assert.rejects(moveToPostgres(run), /in use by another Portcullis/);
  await store.commit({ set: [{ key: scratchKey(text('x')), value: Buffer.of(1) }] });
  await store.close();
  await assert.rejects(moveToPostgres(run), /is not empty/);
  const path = `${run.dataDir}/store`;
  await (await openStore({ ...run, path })).close();
});
