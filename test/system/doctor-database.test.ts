/** `doctor` on a node: reach, role, version and replication of the database. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { it } from 'node:test';
import { type Finding, inspectDatabase } from '../../src/commands/doctor.ts';
import { systemClock } from '../../src/core/clock.ts';
import { openPostgresStore } from '../../src/storage/postgres/store.ts';
import { memoryLog } from '../support/server/memory-log.ts';
import { startPostgres } from '../support/server/postgres.ts';
import { runCli } from '../support/server/server.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';

const clock = { now: () => Date.now() };
const told = (findings: readonly Finding[]) =>
  findings.map(({ about, state, found }) => `${state} ${about}: ${found}`).join('\n');

it('each host is told: what it is, what it lacks, and that nobody is a primary', async () => {
  const postgres = await startPostgres();
  const directory = makeTempDir('doctor-database');
  const url = await postgres.createDatabase();
  const alone = await inspectDatabase(url, clock);
  // Tests do without the disk.
  assert.match(told(alone), /mend database: .* has fsync = off/);
  assert.match(told(alone), /ok database: .*PostgreSQL 15\S*.*, a primary, user postgres/);
  assert.match(told(alone), /advice replication: nobody follows/);
  const late = await inspectDatabase(url, { now: () => Date.now() + 3_600_000 });
  assert.match(told(late), /mend clock: .*another time, by 3[56]\d\d s/);

  await postgres.ask(url, 'create role guest login');
  await postgres.ask(url, 'revoke create on schema public from public');
  const guest = await inspectDatabase(url.replace('postgres@', 'guest@'), clock);
  assert.match(told(guest), /mend database: .*user guest may not create tables/);

  const standby = await postgres.startStandby();
  // Until it has said how far it is.
  const followed = /(ok|advice) replication: \S+ follows .*, async, [\d,. ]+ bytes behind/;
  while (!followed.test(told(await inspectDatabase(url, clock))));
  const name = new URL(url.replace('postgres://postgres@/', 'postgres://h/')).pathname.slice(1);
  const standbyUrl = `postgres://postgres@/${name}?host=${standby.directory}`;
  const behind = told(await inspectDatabase(standbyUrl, clock));
  assert.match(behind, /ok database: .*a standby/);
  assert.match(behind, /mend database: no host of DATABASE_URL is a primary/);
  const replica = async (replicaUrl: string) =>
    told(
      (await inspectDatabase(url, clock, replicaUrl)).filter(({ about }) => about === 'replica'),
    );
  assert.match(await replica(standbyUrl), /^advice replica: .*no journal of a primary/);
  const store = await openPostgresStore({ url, clock: systemClock(), log: memoryLog().log });
  const events = [{ id: 'a', kind: 'k', version: 1, body: Buffer.from('a') }];
  assert.ok((await store.commit({ events })).ok);
  while ((await replica(standbyUrl)) !== `ok replica: /${name} is a standby, 0 events behind`);
  await store.close();
  const strange = standbyUrl.replace(`/${name}`, '/postgres');
  assert.match(await replica(strange), /^mend replica: .*a standby of another database$/);
  assert.match(await replica(url), /^mend replica: .* is no standby$/);
  await standby.stop();
  assert.match(await replica(standbyUrl), /^mend replica: .*(ENOENT|ECONNREFUSED|terminat)/);
  await postgres.ask(url, "alter system set synchronous_standby_names = 'other'");
  await postgres.ask(url, 'select pg_reload_conf()');
  let waiting = '';
  while (!waiting.includes('waits for')) waiting = told(await inspectDatabase(url, clock));
  assert.match(waiting, /mend replication: .* waits for other at each commit, and no such standby/);

  // By the command, beside what a node needs.
  const key = `${directory.path}/key`;
  writeFileSync(key, `${'ab'.repeat(32)}\n`, { mode: 0o600 });
  const env = {
    MASTER_KEY_FILE: key,
    SMTP_URL: 'smtp://127.0.0.1:9',
    DATA_DIR: `${directory.path}/data`,
  };
  const done = await runCli(['doctor'], { ...env, DATABASE_URL: url });
  assert.match(done.stdout, /^mend {4}replication: /m);
  await postgres.stop();
  const gone = await inspectDatabase(url, clock);
  assert.match(told(gone), /mend database: .*(ENOENT|ECONNREFUSED|terminat|starting|shutting)/);
  directory.remove();
});
