/**
 * Each report, consent and used code of a store belongs to an event of the journal: what is taken out is
 * found, and nothing in what a server, a cut journal, a restore and a deletion leave.
 */

import assert from 'node:assert/strict';
import { cpSync, mkdirSync } from 'node:fs';
import { after, before, it } from 'node:test';
import { verifyDataDir } from '../../../src/app/verify.ts';
import { systemClock } from '../../../src/core/clock.ts';
import { createLog } from '../../../src/core/log.ts';
import { eventIdRowKey, journalRowKey, namespaces } from '../../../src/storage/keys.ts';
import { openTables } from '../../../src/storage/lmdb/environment.ts';
import { openLmdbStore } from '../../../src/storage/lmdb/store.ts';
import {
  encodeEventIdRow,
  readCounters,
  type Tables,
  writeCounters,
} from '../../../src/storage/lmdb/tables.ts';
import { decodeEvent, encodeEvent, sealEvent } from '../../../src/storage/rows.ts';
import type { StoreEvent } from '../../../src/storage/store.ts';
import { seededRandom } from '../../support/seeded.ts';
import { runCli, startTestServer, type TestServer } from '../../support/server/server.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';
import { allow, authorizePath, createAgent, openPeople } from '../../support/signon/visitor.ts';

const directory = makeTempDir('origins');
const original = `${directory.path}/original`;
/** The last one of its journal. */
let position = 0;

async function report(server: TestServer, ip: string): Promise<void> {
  const answer = await server.report(ip, { comment: 'seen' });
  assert.equal(answer.status, 200, answer.body);
}

before(async () => {
  mkdirSync(original);
  await using server = await startTestServer({
    threads: 1,
    dataDir: original,
    env: { CLIENT_LIMITS: 'off' },
  });
  await using people = openPeople(server);
  const read = async (code: string) =>
    (await server.fetch(`/api.php?${new URLSearchParams({ code })}`)).status;
  async function signIn(email: string): Promise<URL> {
    await people.add(email, { givenName: 'Ada' });
    const back = await allow(createAgent(server, await people.signIn(email)), authorizePath(), []);
    assert.equal(await read(back.searchParams.get('code')!), 200);
    return back;
  }
  await report(server, '8.8.4.1');
  await report(server, '8.8.4.2');
  await signIn('ada@mail.example');
  await report(server, '2001:4860::7');
  const back = await signIn('bob@mail.example');
  assert.equal(await read(back.searchParams.get('code')!), 400, 'a code that was used');
  await signIn('eve@mail.example');
  await report(server, '8.8.4.3');
  const cleared = await server.fetch('/api/v2/clear-address?ipAddress=8.8.4.2', {
    method: 'DELETE',
    headers: { Key: server.key },
  });
  assert.equal(cleared.status, 200, cleared.body);
  await server.cliJson('account', 'delete', 'eve@mail.example');
  await report(server, '8.8.4.4');
  await server.stop();
});
after(() => directory.remove());

async function verify(dataDir: string): Promise<readonly string[]> {
  const random = seededRandom(52);
  const { findings } = await verifyDataDir({
    dataDir,
    path: `${dataDir}/store`,
    clock: systemClock(),
    random,
  });
  return findings.lines;
}

/** The findings of a copy in which something was changed. */
async function verifyChanged(change: (tables: Tables) => void): Promise<string> {
  const copy = makeTempDir('origins-fault');
  try {
    cpSync(original, copy.path, { recursive: true });
    const tables = openTables(`${copy.path}/store`);
    change(tables);
    await tables.root.close();
    return (await verify(copy.path)).join('\n');
  } finally {
    copy.remove();
  }
}

function eventsIn({ journal }: Tables): StoreEvent[] {
  return [...journal.getRange()].map(({ key, value }) =>
    decodeEvent(Buffer.from(key).readBigUInt64BE(), Buffer.from(value)),
  );
}

/** Takes events out so that nothing else tells: those behind them move up, and their ids go too. */
function takeOut(tables: Tables, isGone: (event: StoreEvent) => boolean): number {
  const { journal, eventIds, meta } = tables;
  const counters = readCounters(meta);
  const events = eventsIn(tables);
  let last = counters.prunedThrough;
  for (const event of events) {
    const id = eventIdRowKey(event.id);
    journal.removeSync(journalRowKey(Number(event.seq)));
    eventIds.removeSync(id);
    if (isGone(event)) continue;
    last += 1;
    const row = encodeEvent(event);
    sealEvent(row, last, event.at);
    journal.putSync(journalRowKey(last), row);
    eventIds.putSync(id, encodeEventIdRow(last, event.at));
  }
  writeCounters(meta, { ...counters, lastSeq: last });
  return counters.lastSeq - last;
}

/** Keys of a kind. */
function keysUnder({ entries }: Tables, space: number): Uint8Array[] {
  return [...entries.getKeys({ start: Uint8Array.of(space), end: Uint8Array.of(space + 1) })];
}

it('nothing is found in a store of reports, sign-ins, a used code and a deletion', async () => {
  assert.deepEqual(await verify(original), []);
  const tables = openTables(`${original}/store`);
  const count = (space: number) => keysUnder(tables, space).length;
  const { reportById, consent, consentUse, authorizationCode } = namespaces;
  assert.ok(count(reportById) >= 4);
  assert.deepEqual([count(consent), count(consentUse), count(authorizationCode)], [2, 2, 3]);
  position = readCounters(tables.meta).lastSeq;
  await tables.root.close();
});

it('each single event of a report or sign-in that is taken out is found by its row', async () => {
  const tables = openTables(`${original}/store`);
  const events = eventsIn(tables);
  await tables.root.close();
  const reports = events.filter(({ kind }) => kind === 'report.added');
  const signIns = events.filter(({ kind }) => kind === 'site.signed_in');
  assert.deepEqual([reports.length >= 4, signIns.length], [true, 3]);
  for (const [n, { id }] of reports.entries()) {
    const found = await verifyChanged((copy) => takeOut(copy, (event) => event.id === id));
    // The second one was withdrawn: it has no row any more.
    if (n === 1) continue;
    assert.match(found, /^the row 31[0-9a-f]{32} came with an event that is not in the journal$/m);
    assert.equal(found.match(/came with an event/g)?.length, 1);
  }
  for (const [n, { id }] of signIns.entries()) {
    const found = await verifyChanged((copy) => takeOut(copy, (event) => event.id === id));
    assert.match(found, /^the row 64[0-9a-f]{64} came with an event that is not in the journal$/m);
    // What the deleted account had is gone.
    assert.equal(/^the row 62[0-9a-f]+ came with an event/m.test(found), n < 2);
  }
});

it('an account that no event made is found by its consent', async () => {
  const found = await verifyChanged((tables) => {
    assert.ok(takeOut(tables, ({ kind }) => kind === 'account.created') > 2);
  });
  assert.equal(
    found.match(/^the consent 61[0-9a-f]+ is of an account that no event made$/gm)?.length,
    2,
  );
});

const rows: readonly [name: string, space: number, found: RegExp][] = [
  ['an account', namespaces.account, /^the consent 61[0-9a-f]+ is of no account$/m],
  ['a consent', namespaces.consent, /^the row 62[0-9a-f]+ names 61[0-9a-f]+, which is not there$/m],
  [
    "a report among its account's",
    namespaces.reportByAccount,
    /^the report 31[0-9a-f]+ is not among those of its account$/m,
  ],
];
for (const [name, space, expected] of rows) {
  it(`each row that is taken out is found: ${name}`, async () => {
    let count = 1;
    let found = 0;
    for (let n = 0; n < count; n++) {
      const lines = await verifyChanged((tables) => {
        const keys = keysUnder(tables, space);
        count = keys.length;
        tables.entries.removeSync(keys[n]!);
      });
      if (expected.test(lines)) found += 1;
    }
    // The demo's account has no consent.
    assert.equal(found, space === namespaces.account ? 2 : count);
  });
}

it('an id that leads to another event than its own is found', async () => {
  const found = await verifyChanged((tables) => {
    tables.eventIds.putSync(Buffer.from('strange'), encodeEventIdRow(3, Date.now()));
    tables.eventIds.putSync(Buffer.from('beyond'), encodeEventIdRow(position + 1, Date.now()));
  });
  assert.match(found, /^the event strange is not at 3 of the journal, where its id leads$/m);
  assert.match(
    found,
    new RegExp(`^the event beyond is not at ${position + 1} of the journal`, 'm'),
  );
});

/** A copy whose journal begins behind `through`. */
async function pruned(through: number, change: (tables: Tables) => void): Promise<string[]> {
  const copy = makeTempDir('origins-pruned');
  try {
    cpSync(original, copy.path, { recursive: true });
    const path = `${copy.path}/store`;
    const store = openLmdbStore({ path, clock: systemClock(), log: createLog('silent') });
    await store.pruneEvents(BigInt(through));
    await store.close();
    const tables = openTables(path);
    // As a day later: ids of events that left are forgotten.
    for (const { key, value } of [...tables.eventIds.getRange()]) {
      if (value.readUIntBE(0, 6) <= through) tables.eventIds.removeSync(key);
    }
    change(tables);
    await tables.root.close();
    return (await verify(copy.path)).filter((line) => /came with an event|consent/.test(line));
  } finally {
    copy.remove();
  }
}

it('rows that are older than a cut journal are no fault, wherever it was cut', async () => {
  for (let through = 1; through <= position; through++) {
    assert.deepEqual(await pruned(through, () => {}), [], `cut behind ${through}`);
  }
});

it('behind the first row of a cut journal each event that is taken out is found', async () => {
  const tables = openTables(`${original}/store`);
  const events = eventsIn(tables).filter(({ kind }) => kind === 'report.added');
  await tables.root.close();
  const [first, ...behind] = events.slice(1);
  for (const { id } of behind) {
    const found = await pruned(Number(first!.seq) - 1, (copy) =>
      assert.equal(
        takeOut(copy, (event) => event.id === id),
        1,
      ),
    );
    assert.equal(found.filter((line) => line.startsWith('the row 31')).length, 1);
  }
});

it('a restore that takes the journal back leaves nothing that is found', async () => {
  const file = `${directory.path}/whole.backup`;
  const made = await runCli(['backup', file], { DATA_DIR: original });
  assert.equal(made.code, 0, made.stderr);
  for (const to of [1, Math.floor(position / 2), position - 2, position]) {
    const target = `${directory.path}/target-${to}`;
    mkdirSync(target);
    cpSync(`${original}/master.key`, `${target}/master.key`);
    const restored = await runCli(['restore', file, '--to', `${to}`], { DATA_DIR: target });
    assert.equal(restored.code, 0, restored.stderr);
    assert.deepEqual(await verify(target), [], `to ${to}`);
  }
});
