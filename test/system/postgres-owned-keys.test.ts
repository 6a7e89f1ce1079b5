/** The index of API keys by account in a database: of before, and beside nodes of a program that does not know it. */

import assert from 'node:assert/strict';
import { after, before, it, type TestContext } from 'node:test';
import { encodeKeyRecord, plainKey } from '../../src/access/accounts/records.ts';
import { keysOfKeyRows, newKeyRows } from '../../src/access/keys/key-records.ts';
import { systemClock } from '../../src/core/clock.ts';
import { apiKeyKey, encodeKey, namespaces } from '../../src/storage/keys.ts';
import { knownSchema } from '../../src/storage/postgres/schema.ts';
import { openPostgresStore, type PostgresStore } from '../../src/storage/postgres/store.ts';
import { hasTool } from '../support/house/tools.ts';
import { memoryLog } from '../support/server/memory-log.ts';
import { postgresProgram, startPostgres, type TestPostgres } from '../support/server/postgres.ts';

let server: TestPostgres;
before(async (context) => {
  if (hasTool(context as TestContext, postgresProgram)) server = await startPostgres();
});
after(() => server?.stop());

const { log } = memoryLog();
const index = encodeKey(namespaces.ownedApiKey);

function record(account: string) {
  const times = { createdAt: 1, endsAt: 0, revokedAt: 0 };
  return { account, ...times, sealed: new Uint8Array(60), ...plainKey };
}

async function indexed(store: PostgresStore): Promise<string[]> {
  const rows = await store.scan(index, { limit: 100 });
  for (const { version, value } of rows) assert.ok(version > 0 && value.length === 0);
  return rows.map(({ key }) => Buffer.from(key.subarray(1)).toString('latin1'));
}

async function write(store: PostgresStore, commit: Parameters<PostgresStore['commit']>[0]) {
  assert.deepEqual((await store.commit(commit)).ok, true);
}

it('a database of before gets its rows; what older programs make and remove has them too', async () => {
  const url = await server.createDatabase();
  const open = () => openPostgresStore({ url, clock: systemClock(), log });
  let store = await open();
  const before = ['k1', 'k2', 'k3'];
  const sql = `drop trigger api_key_made on kv; drop trigger api_key_removed on kv;
    drop function api_key_made; drop function api_key_removed; drop function owned_api_key;
    update meta set value = '${knownSchema - 1}' where name = 'schema'`;
  await server.ask(url, sql);
  for (const id of before) {
    const value = encodeKeyRecord(record(id === 'k3' ? 'ann' : 'bob'));
    await write(store, { set: [{ key: apiKeyKey(id), value }] });
  }
  assert.deepEqual(await indexed(store), []);
  await store.close();
  store = await open();
  const led = ['ann\0k3\0', 'bob\0k1\0', 'bob\0k2\0'];
  assert.deepEqual(await indexed(store), led);

  const value = encodeKeyRecord(record('ann'));
  await write(store, {
    check: [{ key: apiKeyKey('k4'), version: null }],
    set: [{ key: apiKeyKey('k4'), value }],
  });
  assert.deepEqual(await indexed(store), ['ann\0k3\0', 'ann\0k4\0', 'bob\0k1\0', 'bob\0k2\0']);
  await write(store, { set: [{ key: apiKeyKey('k4'), value: Buffer.from([...value, 0]) }] });
  await write(store, { del: [apiKeyKey('k4')] });
  assert.deepEqual(await indexed(store), led);

  await write(store, { set: newKeyRows('k5', record('cy')) });
  assert.deepEqual(await indexed(store), [...led, 'cy\0k5\0']);
  await write(store, { del: keysOfKeyRows('k5', record('cy')) });
  assert.deepEqual(await indexed(store), led);

  // One that was seen to be absent is locked by a row, which is no key.
  await write(store, {
    check: [{ key: apiKeyKey('k6'), version: null }],
    set: [{ key: encodeKey(namespaces.scratch), value: new Uint8Array() }],
  });
  assert.deepEqual(await indexed(store), led);
  await store.close();
  await server.dropDatabase(url);
});
