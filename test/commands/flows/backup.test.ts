/** Backup and restore as an operator runs them, beside a running server. */

import assert from 'node:assert/strict';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { it } from 'node:test';
import {
  metric,
  runCli,
  startCli,
  startTestServer,
  type TestServer,
  within,
} from '../../support/server/server.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';

const words = 'correct horse battery';
const person = 'person@example.test';
const before = '198.51.100.77';
const since = '198.51.100.78';
const [bannedBefore, bannedSince] = ['45.30.0.1', '45.30.0.2'] as const;

/** What an agent saw is banned for the bouncers of its account. */
async function ban(server: TestServer, password: string, ip: string): Promise<void> {
  const post = (path: string, body: unknown, more = {}) => {
    const headers = { 'content-type': 'application/json', ...more };
    return server.fetch(path, { method: 'POST', headers, body: JSON.stringify(body) });
  };
  const login = await post('/v1/watchers/login', { machine_id: 'm', password, scenarios: [] });
  const { token } = JSON.parse(login.body) as { token: string };
  const alert = {
    scenario: 'ssh-bf',
    message: 'm',
    events: [],
    remediation: true,
    simulated: false,
  };
  const source = { ip, scope: 'Ip', value: ip };
  const bearer = { authorization: `Bearer ${token}` };
  const answer = await post('/v1/alerts', [{ ...alert, source }], bearer);
  assert.equal(answer.status, 201, answer.body);
}

async function report(server: TestServer, ip: string): Promise<void> {
  const answer = await server.report(ip, { comment: `about ${ip}` });
  assert.equal(answer.status, 200, answer.body);
}

it('backup, deletion, restore: what is there again, what is not, and what is refused', async () => {
  const directory = makeTempDir('backups');
  const own = `${directory.path}/own`;
  const secret = { BACKUP_PASSPHRASE: words };
  await using server = await startTestServer({
    threads: 1,
    env: { BACKUP_FOLDER: own, BACKUP_EVERY: '24h', ...secret },
  });
  const run = (args: string[], dataDir: string, more = {}) =>
    runCli(args, { DATA_DIR: dataDir, ...more });
  async function runJson(args: string[], dataDir: string, more = {}) {
    const done = await run([...args, '--json'], dataDir, more);
    assert.equal(done.code, 0, done.stderr);
    return JSON.parse(done.stdout);
  }

  await server.cliJson('account', 'create', person);
  await report(server, before);
  const agent = (await server.cliJson('bouncer', 'add', person, 'agent', '--agent')).text;
  const bouncer = (await server.cliJson('bouncer', 'add', person, 'bouncer')).text;
  await ban(server, agent, bannedBefore);
  await server.cliJson('entry', 'add', '9.9.8.0/24', '--score', '80', '--category', '14');
  const plain = `${directory.path}/plain.backup`;
  const { seq, encrypted } = await runJson(['backup', plain], server.dataDir);
  assert.equal(encrypted, false);
  assert.ok(!readFileSync(plain).includes(readFileSync(`${server.dataDir}/master.key`)));
  await report(server, since);
  await ban(server, agent, bannedSince);
  await server.cliJson('entry', 'add', '9.9.8.0/24', '--score', '50');
  await server.cliJson('entry', 'add', '9.9.7.0/24');
  const { text: laterKey } = await server.cliJson('key', 'create', person);
  const sealed = `${directory.path}/sealed.backup`;
  const later = await server.cliJson('backup', sealed);
  assert.equal(later.encrypted, true);
  assert.ok(later.seq > seq);
  await server.cliJson('account', 'delete', person);

  // The server's own, made at its start, with the list of deletions beside it.
  const result = 'portcullis_backups_total';
  await within(async () => (await metric(server, result)).get('result="done"') === 1);
  const made = /^\.portcullis-backups erased-accounts\.txt portcullis-[\dTZ.]+\.backup$/;
  // The list is written anew behind the deletion.
  await within(() => made.test(readdirSync(own).sort().join(' ')), 'nothing else in the folder');
  assert.equal((await metric(server, result)).get('result="failed"'), 0);

  const target = `${directory.path}/restored`;
  const noKey = await run(['restore', plain], target);
  assert.equal(noKey.code, 1);
  assert.match(noKey.stderr, /no master key: put the one named [0-9a-f]{8} to .*master\.key/);
  const strange = `${directory.path}/strange`;
  mkdirSync(strange);
  writeFileSync(`${strange}/master.key`, `${'ab'.repeat(32)}\n`, { mode: 0o600 });
  for (const file of [plain, sealed]) {
    const otherKey = await run(['restore', file, '--unencrypted'], strange, secret);
    assert.equal(otherKey.code, 1);
    assert.match(otherKey.stderr, /another master key/);
  }
  assert.deepEqual(readdirSync(strange).sort(), ['claim.lock', 'master.key']);

  copyFileSync(`${server.dataDir}/master.key`, `${target}/master.key`);
  const restored = await runJson(['restore', plain, '--erasures', server.dataDir], target);
  assert.equal(restored.deleted, 1, 'deleted since, and so deleted again');
  assert.equal((await run(['account', 'show', person], target)).code, 1);
  assert.match(readFileSync(`${target}/erased-accounts.txt`, 'utf8'), /Z [\w-]{16}\n/);
  const full = await run(['restore', plain], target);
  assert.equal(full.code, 1);
  assert.match(full.stderr, /is not empty/);

  const back = `${directory.path}/back`;
  const newer = await run(['restore', sealed, '--to', String(later.seq + 1)], back, secret);
  assert.equal(newer.code, 1);
  assert.match(newer.stderr, new RegExp(`reaches from journal position 0 to ${later.seq}`));
  const wrong = await run(['restore', sealed], back, { BACKUP_PASSPHRASE: 'another passphrase' });
  assert.match(wrong.stderr, /the passphrase is not the one/);
  assert.deepEqual(readdirSync(back), ['claim.lock'], 'nothing is left of what was refused');
  const taken = await runJson(['restore', sealed, '--to', String(seq)], back, secret);
  assert.equal(taken.erasuresKnown, false);
  assert.ok(existsSync(`${back}/master.key`), 'an encrypted backup brings it');
  const busy = await server.cli('compact');
  assert.equal(busy.code, 1);
  assert.match(busy.stderr, /another Portcullis server .* is running on .*--at-next-start/);
  await runJson(['compact', '--at-next-start'], back);
  const cut = startCli(['serve'], { DATA_DIR: back, PORT: '0' });
  await cut.errorLine((line) => line.includes('compaction begins'));
  cut.process.kill('SIGKILL');
  await cut.ended;
  assert.equal(existsSync(`${back}/compact-at-next-start`), false, 'one that was killed is over');
  await runJson(['compact', '--at-next-start'], back);
  await using again = await startTestServer({ threads: 1, dataDir: back, demo: false });
  assert.match(again.stderr(), /"bytesAfter":\d+,"rows":\d+,"msg":"store: compacted"/);
  assert.equal(existsSync(`${back}/compact-at-next-start`), false, 'once');
  const check = async (address: string) => {
    const path = `/api/v2/check?ipAddress=${address}&verbose&maxAgeInDays=30`;
    // A key that was made behind the position works: accounts and keys stay.
    const answer = await again.fetch(path, { headers: { Key: laterKey } });
    assert.equal(answer.status, 200, answer.body);
    return (answer.json() as { data: { totalReports: number; reports: unknown[] } }).data;
  };
  const kept = await check(before);
  assert.deepEqual([kept.totalReports, kept.reports.length], [1, 1]);
  const gone = await check(since);
  assert.deepEqual([gone.totalReports, gone.reports.length], [0, 0], 'neither score nor row');
  const decision = async (address: string) => {
    const headers = { 'X-Api-Key': bouncer };
    const answer = await again.fetch(`/v1/decisions?ip=${address}`, { headers });
    assert.equal(answer.status, 200, answer.body);
    return (JSON.parse(answer.body) as { value: string }[] | null)?.map(({ value }) => value);
  };
  assert.deepEqual(await decision(bannedBefore), [bannedBefore]);
  assert.equal(await decision(bannedSince), undefined, 'banned behind the position');
  const entries = (await again.cliJson('entry', 'list')) as Record<string, unknown>[];
  assert.deepEqual(
    entries.map(({ prefix, score, category }) => [prefix, score, category]),
    [['9.9.8.0/24', 80, 14]],
    'as they were at the position',
  );
  assert.equal((await again.cliJson('check', '9.9.8.1')).abuseConfidenceScore, 80);
  assert.equal((await again.cliJson('check', '9.9.7.1')).abuseConfidenceScore, 0);
  assert.equal((await again.cli('account', 'show', person)).code, 0);
  directory.remove();
});

it('--every makes one after the other and keeps the newest, until it is stopped', async () => {
  const directory = makeTempDir('every');
  const data = `${directory.path}/data`;
  const folder = `${directory.path}/backups`;
  const none = await runCli(['backup', `${directory.path}/x`], { DATA_DIR: data });
  assert.match(none.stderr, /there is no store/);
  assert.equal(existsSync(data), false, 'and none is made');
  await runCli(['account', 'create', person], { DATA_DIR: data });
  const child = startCli(['backup', '--every', '1s', '--keep', '2', folder], { DATA_DIR: data });
  const seen = new Set<string>();
  await within(() => {
    for (const name of existsSync(folder) ? readdirSync(folder) : []) {
      if (name.endsWith('.backup')) seen.add(name);
    }
    return seen.size >= 4;
  }, 'four backups');
  child.process.kill('SIGTERM');
  assert.equal((await child.ended).code, 0, child.stderr());
  const kept = readdirSync(folder)
    .filter((name) => name.endsWith('.backup'))
    .sort();
  assert.deepEqual(
    kept,
    [...seen, ...kept]
      .sort()
      .filter((n, i, all) => n !== all[i - 1])
      .slice(-2),
  );
  directory.remove();
});

it('--every into a folder that can’t be made says so and ends, and SIGTERM ends it too', async () => {
  const directory = makeTempDir('every-nowhere');
  const data = `${directory.path}/data`;
  await runCli(['account', 'create', person], { DATA_DIR: data });
  for (const folder of ['/proc/none/backups', `${data}/store/data.mdb/backups`]) {
    const done = await runCli(['backup', '--every', '1s', folder], { DATA_DIR: data });
    assert.equal(done.code, 1, done.stdout);
    assert.match(done.stderr, /the folder of backups \S+ can't be made or used \(E/);
  }
  const folder = `${directory.path}/backups`;
  const child = startCli(['backup', '--every', '1s', folder], { DATA_DIR: data });
  await within(
    () => existsSync(folder) && readdirSync(folder).some((name) => name.endsWith('.backup')),
    'a backup',
  );
  rmSync(folder, { recursive: true });
  await child.errorLine((line) => line.includes('is not the one that was used before'));
  assert.equal(existsSync(folder), false, 'not made anew');
  child.process.kill('SIGTERM');
  assert.equal((await child.ended).code, 0, child.stderr());
  directory.remove();
});
