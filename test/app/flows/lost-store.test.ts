/** A store or a master key that was lost: said in one line at the start, fatal while running. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  closeSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { describe, it } from 'node:test';
import { value } from '../../support/house/result.ts';
import { accountsBeside } from '../../support/server/accounts-beside.ts';
import { forFile } from '../../support/server/for-file.ts';
import { type CliResult, runCli, startTestServer, within } from '../../support/server/server.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';

const email = 'owner@portcullis.example';
const prepared = forFile(makeTempDir('lost'));
let key = '';
/** A store that a server has closed in order. */
const dataDir = `${prepared.path}/data`;
mkdirSync(dataDir);
const server = await startTestServer({ threads: 1, dataDir });
{
  await using beside = accountsBeside(dataDir);
  value(await beside.accounts.create(email, 'member'));
  key = value(await beside.apiKeys.create(email)).text;
}
let { code } = await server.stop();
// On a busy machine a stop may take so long that it is cut off.
while (code !== 0) ({ code } = await (await startTestServer({ threads: 1, dataDir })).stop());

/** A directory with such a store, for this test alone. */
async function withStore(
  run: (place: { dataDir: string; file: string; serve: () => Promise<CliResult> }) => Promise<void>,
): Promise<void> {
  const directory = makeTempDir('lost');
  const dataDir = `${directory.path}/data`;
  cpSync(`${prepared.path}/data`, dataDir, { recursive: true });
  try {
    const env = { DATA_DIR: dataDir, PORT: '0', HTTP_THREADS: '1', CAPTCHA_THREADS: '1' };
    const file = `${dataDir}/store/data.mdb`;
    await run({ dataDir, file, serve: () => runCli(['serve'], env) });
  } finally {
    directory.remove();
  }
}

function assertRefused({ code, stderr, stdout }: CliResult, line: RegExp): void {
  const last = stderr.trim().split('\n').at(-1)!;
  assert.match(last, line);
  assert.equal(code, 1, stderr);
  assert.doesNotMatch(stderr + stdout, /\n\s+at /, 'a stack trace');
}

it('a store that is gone, empty or cut stops the start and every command, and nothing is made', async () => {
  await withStore(async ({ dataDir, file, serve }) => {
    const env = { DATA_DIR: dataDir };
    const whole = readFileSync(file);
    const back = () => writeFileSync(file, whole);
    const lost = (what: string) =>
      new RegExp(`^portcullis: the store is lost: .*data\\.mdb is ${what}, and .*store\\.id shows`);

    rmSync(file);
    assertRefused(await serve(), lost('missing'));
    assertRefused(
      await runCli(['account', 'create', 'a@portcullis.example'], env),
      lost('missing'),
    );
    assertRefused(await runCli(['compact'], env), lost('missing'));
    assert.ok(!existsSync(file));
    rmSync(`${dataDir}/store`, { recursive: true });
    assertRefused(await serve(), lost('missing'));
    // Without the name beside it the server's snapshot still tells.
    renameSync(`${dataDir}/store.id`, `${dataDir}/aside`);
    assertRefused(await serve(), /store is lost: .*index\.snapshot shows/);
    assert.ok(!existsSync(`${dataDir}/store`));
    renameSync(`${dataDir}/aside`, `${dataDir}/store.id`);

    await runCli(['account', 'show', 'x'], { DATA_DIR: `${dataDir}-other` });
    copyFileSync(`${dataDir}-other/store/data.mdb`, `${dataDir}/other.mdb`);
    assert.equal((await runCli(['account', 'show', 'x'], env)).code, 1);
    mkdirSync(`${dataDir}/store`);
    writeFileSync(file, '');
    assertRefused(await serve(), lost('empty'));
    renameSync(`${dataDir}/other.mdb`, file);
    assertRefused(await serve(), /master key is another one|names another store/);

    back();
    const name = readFileSync(`${dataDir}/store.id`);
    writeFileSync(`${dataDir}/store.id`, '');
    assertRefused(
      await serve(),
      /store\.id is damaged, .* remove .*store\.id: the next start writes/,
    );
    writeFileSync(`${dataDir}/store.id`, name);

    const pages = whole.length / 4_096;
    truncateSync(file, Math.floor(pages / 2) * 4_096);
    assertRefused(await serve(), /is cut short: it has \d+ pages of \d+\. Restore a backup$/);
    truncateSync(file, 4_096 * 2);
    assertRefused(await runCli(['account', 'show', 'x'], env), /is cut short: it has 2 pages of/);

    back();
    // Behind the meta pages nothing is left.
    const damaged = Buffer.from(whole);
    for (let at = 2 * 4_096; at < whole.length; at += 4_096) damaged.fill(0, at, at + 4_096);
    writeFileSync(file, damaged);
    assertRefused(await serve(), /the store in .* is damaged \(MDB_.*\): restore a backup$/);

    back();
    await using server = await startTestServer({ threads: 1, dataDir });
    const { stdout } = await server.cli('account', 'show', email);
    assert.match(stdout, /owner@portcullis\.example/);
  });
});

it('a missing or foreign master key is never replaced in silence', async () => {
  await withStore(async ({ dataDir, serve }) => {
    const env = { DATA_DIR: dataDir };
    const path = `${dataDir}/master.key`;
    renameSync(path, `${dataDir}/kept.key`);
    assertRefused(await serve(), /^portcullis: the master key is missing: .*master-key replace/);
    assertRefused(await runCli(['account', 'show', 'x'], env), /the master key is missing/);
    assert.ok(!existsSync(path), 'a key was made');
    writeFileSync(path, `${'ab'.repeat(32)}\n`, { mode: 0o600 });
    assertRefused(
      await serve(),
      /^portcullis: the master key is another one: .* sealed with [0-9a-f]{8}/,
    );
    assertRefused(await runCli(['key', 'list'], env), /another one/);
    // A copy under another name is the same key.
    const named = { ...env, MASTER_KEY_FILE: `${dataDir}/kept.key` };
    assert.equal((await runCli(['account', 'show', 'owner@portcullis.example'], named)).code, 0);

    assertRefused(await runCli(['master-key', 'replace'], env), /Add --yes to do it$/);
    assertRefused(await serve(), /another one/);
    const done = await runCli(['master-key', 'replace', '--yes'], env);
    assert.equal(done.code, 0, done.stderr);
    assert.match(done.stdout, /^the store is sealed with master key [0-9a-f]{8} from now on/);
    const shown = await runCli(['log', 'audit', '--json'], env);
    assert.match(shown.stdout, /"command": ?"master-key replace"/);
    await using server = await startTestServer({ threads: 1, dataDir });
    assert.equal((await server.fetch('/readyz')).status, 200);
    const check = await server.fetch('/api/v2/check?ipAddress=8.8.8.8', { headers: { Key: key } });
    assert.equal(check.status, 200, 'an API key goes on working');
    assertRefused(
      await runCli(['master-key', 'replace', '--yes'], env),
      /another Portcullis server/,
    );
  });
});

it('a page of garbage ends a command in one line', async () => {
  await withStore(async ({ file, serve }) => {
    const size = statSync(file).size;
    const descriptor = openSync(file, 'r+');
    for (let page = 2; page < size / 4_096; page++) {
      writeSync(descriptor, Buffer.alloc(4_096), 0, 4_096, page * 4_096);
    }
    closeSync(descriptor);
    assertRefused(await serve(), /^portcullis: .*(damaged|can't be opened)/);
  });
});

it('an older file written over the open one ends the server with one line, before it writes on', async () => {
  await withStore(async ({ dataDir, file }) => {
    const server = await startTestServer({ threads: 1, dataDir, demo: false });
    await using _ = server;
    const report = async (ip: string) => (await server.report(ip, { key })).status;
    // Not while threads are still being loaded: ending one of them then may end Node itself.
    await within(async () => (await server.fetch('/feeds/blocklist.txt')).status === 200);
    const older = `${dataDir}/older.mdb`;
    copyFileSync(file, older);
    assert.equal(await report('8.8.4.1'), 200);
    const put = spawnSync('dd', [`if=${older}`, `of=${file}`, 'conv=notrunc', 'bs=1M']);
    assert.equal(put.status, 0);
    assert.notEqual(await report('8.8.4.2').catch(() => 0), 200);
    const { code } = await server.child.ended;
    assert.doesNotMatch(server.stderr(), /stop: took too long/, 'it ends in order');
    assert.equal(code, 1, server.stderr());
    const stopped = server.stderr().match(/^portcullis: stopped: .+$/gm);
    assert.equal(stopped?.length, 1, server.stderr());
    assert.match(stopped[0]!, /commits that were acknowledged are gone from the store/);
  });
});

describe('the store is lost while it is served', () => {
  for (const [what, lose] of Object.entries({
    'its directory is removed': (dataDir: string) => rmSync(dataDir, { recursive: true }),
    'its file is replaced': (dataDir: string) => {
      const file = `${dataDir}/store/data.mdb`;
      copyFileSync(file, `${dataDir}/copy`);
      renameSync(`${dataDir}/copy`, file);
    },
    'its directory is moved': (dataDir: string) => renameSync(dataDir, `${dataDir}-moved`),
  })) {
    it(`${what}: the server ends and writes nothing beside it`, async () => {
      const directory = makeTempDir('lost');
      const dataDir = `${directory.path}/data`;
      mkdirSync(dataDir);
      try {
        const server = await startTestServer({ dataDir });
        // Not while threads are still being loaded: ending one of them then may end Node itself.
        await within(async () => (await server.fetch('/feeds/blocklist.txt')).status === 200);
        lose(dataDir);
        const { code } = await server.child.ended;
        assert.equal(code, 1);
        assert.match(server.stderr(), /^portcullis: stopped: the store .*(removed|replaced)/m);
        assert.ok(!existsSync(`${dataDir}/index.snapshot`), 'a snapshot was written');
      } finally {
        directory.remove();
      }
    });
  }
});

it('a command says what to do when the socket of the server was removed', async () => {
  await using server = await startTestServer({ threads: 1, demo: false });
  rmSync(`${server.dataDir}/control.sock`);
  const { code, stderr } = await runCli(['stats'], { DATA_DIR: server.dataDir });
  assert.equal(code, 1);
  assert.match(stderr, /control\.sock is gone\. .* start it anew$/m);
});
