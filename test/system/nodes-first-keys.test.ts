/** Many accounts get their first API keys at once, through two nodes: all change one row that counts their slots. */

import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { createAccounts } from '../../src/access/accounts/accounts.ts';
import { createApiKeys } from '../../src/access/keys/api-keys.ts';
import { masterKeyFromBytes } from '../../src/access/keys/master-key.ts';
import { systemClock } from '../../src/core/clock.ts';
import { createLog } from '../../src/core/log.ts';
import { systemRandom } from '../../src/core/random.ts';
import { readLedger } from '../../src/storage/ledger.ts';
import { openPostgresStore, type PostgresStore } from '../../src/storage/postgres/store.ts';
import { startCluster, type TestCluster } from '../support/server/cluster.ts';
import { metric, type TestServer, within } from '../support/server/server.ts';

const people = 400;
const clock = systemClock();
const random = systemRandom();
let cluster: TestCluster | undefined;
let stores: PostgresStore[] = [];
let node: TestServer;

before(async (context) => {
  cluster = await startCluster(context, { CLIENT_LIMITS: 'off' });
  if (cluster === undefined) return;
  node = await cluster.startNode(1);
  const url = cluster.env.DATABASE_URL!;
  const open = () => openPostgresStore({ url, clock, log: createLog('silent') });
  stores = [await open(), await open()];
});
after(async () => {
  for (const store of stores) await store.close();
  await cluster?.[Symbol.asyncDispose]();
});

it(`${people} first keys at once through two nodes are all made, each with a slot of its own`, async (t) => {
  if (cluster === undefined) return;
  const masterKey = masterKeyFromBytes(cluster.masterKey);
  const writers = stores.map((store) => {
    const accounts = createAccounts({ store, clock, random });
    return { accounts, apiKeys: createApiKeys({ store, clock, random, masterKey, accounts }) };
  });
  const writerOf = (n: number) => writers[n % writers.length]!;
  const emails = Array.from({ length: people }, (_, n) => `p${n}@example.org`);
  for (const made of await Promise.all(
    emails.map((email, n) => writerOf(n).accounts.create(email)),
  )) {
    assert.ok(made.ok);
  }
  const startMs = performance.now();
  const made = await Promise.all(emails.map((email, n) => writerOf(n).apiKeys.create(email)));
  const tookMs = performance.now() - startMs;
  const refused = made.filter((one) => !one.ok);
  assert.deepEqual(refused, [], `${refused.length} of ${people}`);
  t.diagnostic(`${people} first keys in ${Math.round(tookMs)} ms`);

  assert.equal((await readLedger(stores[0]!, 'account_slots')).used, people);
  const isGood = async (text: string) => {
    const path = '/api/v2/check?ipAddress=192.0.2.1';
    return (await node.fetch(path, { headers: { Key: text } })).status === 200;
  };
  for (const one of made) await within(() => one.ok && isGood(one.value.text));
  // One more that it has: none of two accounts is in the same one.
  const used = async () => (await metric(node, 'portcullis_table_used')).get('table="accounts"');
  await within(async () => (await used()) === people);
});
