/**
 * Three nodes whose tables are all full: what finds no room is decided by counts alone, so their memories stay
 * the same, also that of a node which is made anew in between.
 */

import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { after, before, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createAccounts } from '../../src/access/accounts/accounts.ts';
import { createApiKeys } from '../../src/access/keys/api-keys.ts';
import { masterKeyFromBytes } from '../../src/access/keys/master-key.ts';
import { systemClock } from '../../src/core/clock.ts';
import { createLog } from '../../src/core/log.ts';
import { systemRandom } from '../../src/core/random.ts';
import { decodeDigests } from '../../src/storage/nodes/digests.ts';
import { openPostgresStore } from '../../src/storage/postgres/store.ts';
import { startCluster, type TestCluster } from '../support/server/cluster.ts';
import { pruneToCheckpoint, waitForCheckpoints } from '../support/server/prune.ts';
import { metric, type TestServer, within } from '../support/server/server.ts';

const smallTables = fileURLToPath(new URL('../support/server/small-tables.js', import.meta.url));
/** Of support/server/small-tables.ts. 4,096 are kept free for reports under way, lists may take all. */
const entriesMax = 4_700;
const slotsMax = 24;
let cluster: TestCluster | undefined;
const nodes: TestServer[] = [];
let key = '';

async function startNode(n: number): Promise<void> {
  nodes[n] = await cluster!.startNode(n, { nodeArguments: ['--import', smallTables] });
}

before(async (context) => {
  cluster = await startCluster(context, { CLIENT_LIMITS: 'off' });
  if (cluster === undefined) return;
  for (const n of [0, 1, 2]) await startNode(n);
});
after(() => cluster?.[Symbol.asyncDispose]());

/** Beside the nodes, as their commands do it: for these there is room for many more. */
async function makeKeys(count: number): Promise<string[]> {
  const { env, masterKey } = cluster!;
  const [clock, random] = [systemClock(), systemRandom()];
  const log = createLog('silent');
  const store = await openPostgresStore({ url: env.DATABASE_URL!, clock, log });
  try {
    const tools = { store, clock, random, masterKey: masterKeyFromBytes(masterKey) };
    const accounts = createAccounts({ store, clock, random });
    const apiKeys = createApiKeys({ ...tools, accounts });
    const keys: string[] = [];
    for (let n = 0; n < count; n++) {
      const email = `p${n}@example.org`;
      assert.ok((await accounts.create(email, 'member')).ok);
      const made = await apiKeys.create(email);
      assert.ok(made.ok);
      assert.ok((await accounts.setQuotas(email, { writePerMinute: 100_000 })).ok);
      keys.push(made.value.text);
    }
    return keys;
  } finally {
    await store.close();
  }
}

/** A list of so many addresses of 9.9.0.0/16, from one on. */
async function seed(list: string, first: number, count: number): Promise<void> {
  const file = `${cluster!.directory}/${list}.txt`;
  const address = (n: number) => `9.9.${n >> 8}.${n & 255}`;
  writeFileSync(file, Array.from({ length: count }, (_, n) => `${address(first + n)}\n`).join(''));
  await nodes[0]!.cliJson('seed', '--format', 'plain', '--confidence', '100', file);
}

/** Of the three, at the last event of the journal, once all are there. */
async function lastDigests(): Promise<string[]> {
  const { postgres, env } = cluster!;
  const url = env.DATABASE_URL!;
  let last: (string | undefined)[] = [];
  await within(async () => {
    const [head] = (await postgres.ask(url, 'select last_seq from journal_head')).rows;
    const { rows } = await postgres.ask(url, 'select digests from nodes where not is_stopped');
    last = rows.map(({ digests }) => decodeDigests(digests).get(BigInt(head!.last_seq)));
    return last.length === nodes.length && !last.includes(undefined);
  }, 'a digest of each node at the last event');
  return last as string[];
}

/** What each node says: full tables, and how much found no room in them. */
function fills(): Promise<Record<string, number | undefined>[]> {
  return Promise.all(
    nodes.map(async (node) => {
      const used = await metric(node, 'portcullis_table_used');
      const refused = await metric(node, 'portcullis_refused_total');
      return {
        entries: used.get('table="entries"'),
        contributions: used.get('table="contributions"'),
        accounts: used.get('table="accounts"'),
        ...Object.fromEntries(refused),
      };
    }),
  );
}

async function proveSame(): Promise<Record<string, number | undefined>> {
  const digests = await lastDigests();
  assert.equal(new Set(digests).size, 1, digests.join(' '));
  const all = await fills();
  for (const one of all) assert.deepEqual(one, all[0]);
  for (const node of nodes) {
    const isSaid = async () => (await node.fetch('/readyz')).body.includes('"memory":"agrees"');
    await within(isSaid, 'the agreement');
  }
  return all[0]!;
}

/** What a report is answered for which there is no room. */
const full = 503;
let isOver = false;
const statuses = new Map<number, number>();
const seen = (status: number) => statuses.get(status) ?? 0;

/** Reports of ever new addresses until it is over, through one node. */
async function report(n: number, net: number): Promise<void> {
  for (let at = 0; !isOver; at++) {
    // Each second one is known from a list.
    const ip = `${at % 2 === 0 ? `8.${net}` : '9.9'}.${at >> 8}.${at & 255}`;
    const answer = await nodes[n]!.report(ip, { key });
    statuses.set(answer.status, seen(answer.status) + 1);
  }
}

it('nodes with full tables have the same memory', async () => {
  if (cluster === undefined) return;
  const keys = await makeKeys(slotsMax + 6);
  key = keys[0]!;
  const path = '/api/v2/check?ipAddress=192.0.2.1';
  for (const node of nodes) {
    const ask = async (text: string) => (await node.fetch(path, { headers: { Key: text } })).status;
    await within(async () => (await ask(key)) === 200);
    await within(async () => (await ask(keys[slotsMax - 1]!)) === 200);
    assert.equal(await ask(keys[slotsMax]!), 401, 'a key for which there was no slot');
  }
  await seed('one', 0, 3_000);
  // The first 200 are in both lists.
  await seed('two', 2_800, 4_000);
  const said = await proveSame();
  assert.equal(said.accounts, slotsMax);
  assert.equal(said['kind="keys"'], 6);
  assert.equal(said.contributions, entriesMax);
  assert.ok(said['kind="rows"']! > 0, JSON.stringify(said));
});

it('they agree when one is made anew while lists change and reports are refused', async (t) => {
  if (cluster === undefined) return;
  // Rows that are taken back make room, which other rows and reports take at once.
  await seed('one', 0, 100);
  await seed('two', 0, 100);
  const reporting = [report(0, 20), report(1, 21)];
  try {
    await within(() => seen(200) > 20 && seen(full) > 20, 'the first full index').catch((error) => {
      throw new Error(`${error.message}: ${JSON.stringify([...statuses])}`);
    });
    await nodes[2]!.stop();
    rmSync(nodes[2]!.dataDir, { recursive: true });
    await seed('two', 50, 6_000);
    await startNode(2);
    const before = seen(200);
    await seed('two', 0, 10);
    await seed('one', 0, 10);
    await within(() => seen(200) > before, 'reports that are taken again');
    await seed('two', 0, 6_000);
  } finally {
    isOver = true;
    await Promise.all(reporting);
  }
  const said = await proveSame();
  assert.equal(said.contributions, entriesMax);
  t.diagnostic(`answers to reports: ${JSON.stringify([...statuses])}; ${JSON.stringify(said)}`);
});

it('they agree when one is made anew from a checkpoint of another', async () => {
  if (cluster === undefined) return;
  const { postgres, env } = cluster;
  const url = env.DATABASE_URL!;
  await waitForCheckpoints(postgres, url);
  for (const node of nodes) await node.stop();
  await postgres.ask(
    url,
    'update nodes set seen_at = 0 where checkpoint_seq < (select last_seq from journal_head)',
  );
  await pruneToCheckpoint(url, nodes[0]!.dataDir);
  rmSync(nodes[2]!.dataDir, { recursive: true });
  for (const n of [0, 1, 2]) await startNode(n);
  assert.match(nodes[2]!.stderr(), /memory is copied from a checkpoint/);
  await seed('one', 2_000, 1_000);
  await seed('two', 0, 6_500);
  assert.equal((await proveSame()).contributions, entriesMax);
});
