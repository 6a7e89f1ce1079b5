/** A database that was taken back to a backup, and has grown since: no node mixes the two journals. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { startCluster } from '../support/server/cluster.ts';
import { reportAt, reportsAt } from '../support/server/nodes.ts';
import { demoEmail, plenty, type TestServer, within } from '../support/server/server.ts';

const lost = 100;
const later = 200;

it('a node that slept or was stopped while a backup was restored and outgrew it makes its memory anew', async (t) => {
  await using cluster = await startCluster(t, { CLIENT_LIMITS: 'off' });
  if (cluster === undefined) return;
  const { postgres, env } = cluster;
  const url = env.DATABASE_URL!;
  const name = /\/(t\d+)\?/.exec(url)![1]!;
  const master = url.replace(`/${name}?`, '/postgres?');
  let one = await cluster.startNode(1);
  let two = await cluster.startNode(2);
  const three = await cluster.startNode(3);
  await one.cliJson('account', 'create', demoEmail);
  const quotas = ['--read-per-minute', `${plenty}`, '--write-per-minute', '100000'];
  const key: string = (await one.cliJson('key', 'create', demoEmail, ...quotas)).text;
  async function report(node: TestServer, from: number, count: number): Promise<void> {
    for (let n = from; n < from + count; n++)
      await within(async () => (await reportAt(node, key, n)) === 200);
  }
  await report(one, 0, 5);
  // Nobody may be connected to what is copied.
  await postgres.ask(master, `alter database ${name} allow_connections false`);
  await postgres.ask(
    master,
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`,
  );
  await postgres.ask(master, `create database backup template ${name}`);
  await postgres.ask(master, `alter database ${name} allow_connections true`);
  await report(one, lost, 5);
  for (const node of [two, three])
    await within(async () => (await reportsAt(node, key, lost + 4)) === 1);
  await three.stop();
  two.child.process.kill('SIGSTOP');
  await one.stop();

  await postgres.dropDatabase(url);
  await postgres.ask(master, `create database ${name} template backup`);
  one = await cluster.startNode(1);
  assert.match(one.stderr(), /memory is made anew/);
  await report(one, later, 20);

  two.child.process.kill('SIGCONT');
  await within(() => /the journal is not the one that was followed/.test(two.stderr()));
  assert.equal((await two.child.ended).code, 1);
  two = await cluster.startNode(2);
  const again = await cluster.startNode(3);
  for (const node of [one, two, again]) {
    await within(async () => (await reportsAt(node, key, later + 19)) === 1);
    assert.equal(await reportsAt(node, key, lost), 0, 'nobody knows what is lost');
  }
  assert.match(two.stderr(), /memory is made anew/);
  assert.match(again.stderr(), /memory is made anew/);
});
