/** A backup, or the list of deleted accounts beside it, that somebody put in place of another. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { it } from 'node:test';
import { erasedSealOf, masterKeyFromBytes } from '../../../src/access/keys/master-key.ts';
import { encodeRows } from '../../../src/storage/backup/content.ts';
import { encodeErased } from '../../../src/storage/backup/erased.ts';
import { openBackup } from '../../../src/storage/backup/read.ts';
import { aboutRecord, packedBackup } from '../../storage/backup/hostile.ts';
import { runCli, startTestServer, within } from '../../support/server/server.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';

const words = 'correct horse battery';
const person = 'person@example.test';
const list = 'erased-accounts.txt';

/** What somebody else's server wrote, with a master key of theirs in it. */
async function forged(plain: string, masterKey: string): Promise<Buffer> {
  const backup = await openBackup({ path: plain, passphrase: async () => undefined });
  const contents = [aboutRecord({ ...backup.about, masterKey })];
  let rows = 0;
  for await (const batch of backup.rows()) {
    contents.push(encodeRows(batch.part, batch.rows));
    rows += batch.rows.length;
  }
  await backup.close();
  return packedBackup(contents, rows);
}

it('a passphrase is read from a file or from the pipe of an option, never from what has no end', async () => {
  const directory = makeTempDir('pipes');
  const plain = `${directory.path}/plain.backup`;
  const pipe = `${directory.path}/pipe`;
  assert.equal(spawnSync('mkfifo', [pipe]).status, 0);
  const dataDir = `${directory.path}/data`;
  const run = (args: string[], more = {}) =>
    runCli(['backup', plain, ...args], { DATA_DIR: dataDir, ...more });
  assert.equal((await runCli(['account', 'create', person], { DATA_DIR: dataDir })).code, 0);
  for (const file of [pipe, '/dev/zero']) {
    const done = await run([], { BACKUP_PASSPHRASE_FILE: file });
    assert.equal(done.code, 1, file);
    assert.match(done.stderr, /passphrase file .* can't be read \(it is not a file\)$/m);
  }
  const endless = await run(['--passphrase-file', '/dev/zero']);
  assert.match(endless.stderr, /\(it has more than 65536 bytes\)$/m);
  const [sealed] = await Promise.all([
    run(['--passphrase-file', pipe]),
    writeFile(pipe, `${words}\n`),
  ]);
  assert.equal(sealed.code, 0, sealed.stderr);
});

it('an unencrypted backup in place of an encrypted one is refused, and taken when it is vouched for', async () => {
  const directory = makeTempDir('swapped');
  const strange = `${directory.path}/strange`;
  const plain = `${directory.path}/plain.backup`;
  const sealed = `${directory.path}/sealed.backup`;
  const file = `${directory.path}/passphrase`;
  writeFileSync(file, `${words}\n`);
  const run = (args: string[], dataDir: string, more = {}) =>
    runCli(args, { DATA_DIR: dataDir, ...more });
  for (const args of [
    ['account', 'create', person],
    ['backup', plain],
  ]) {
    assert.equal((await run(args, strange)).code, 0);
  }
  assert.equal((await run(['backup', sealed], strange, { BACKUP_PASSPHRASE: words })).code, 0);
  const target = `${directory.path}/target`;
  const given: [string[], object][] = [
    [[], { BACKUP_PASSPHRASE: words }],
    [[], { BACKUP_PASSPHRASE_FILE: file }],
    [['--passphrase-file', file], {}],
  ];
  for (const [flags, env] of given) {
    for (const command of [['restore'], ['verify', '--backup']]) {
      const done = await run([...command, plain, ...flags], target, env);
      assert.equal(done.code, 1, done.stdout);
      assert.match(done.stderr, /is not encrypted, though a passphrase .*--unencrypted/s);
    }
    // What is inside tells who was deleted, so it counts as much.
    const newer = await run(['restore', sealed, ...flags, '--erasures', plain], target, env);
    assert.equal(newer.code, 1, newer.stdout);
    assert.match(newer.stderr, /plain\.backup is not encrypted, though/);
  }
  assert.deepEqual(readdirSync(target), ['claim.lock']);

  // A key that nobody guards is no key: however the file is taken.
  const own = `${directory.path}/forged.backup`;
  writeFileSync(own, await forged(plain, 'ab'.repeat(32)));
  for (const flags of [[], ['--unencrypted'], ['--without-master-key']]) {
    const done = await run(['restore', own, ...flags], target);
    assert.equal(done.code, 1, done.stdout);
    assert.match(done.stderr, /is damaged: it is not encrypted, and yet a master key is in it/);
  }
  const verified = await run(['verify', '--backup', own, '--unencrypted'], target);
  assert.match(verified.stderr, /is damaged: it is not encrypted, and yet/);
  assert.deepEqual(readdirSync(target), ['claim.lock'], 'no key of a stranger was put there');

  const secret = { BACKUP_PASSPHRASE: words };
  const good = await run(['verify', '--backup', sealed], target, secret);
  assert.match(good.stdout, /nobody without its passphrase can have made or changed it/);
  const vouched = await run(['verify', '--backup', plain, '--unencrypted'], target, secret);
  assert.match(vouched.stdout, /whoever can write to its folder may have made or changed it/);
  copyFileSync(`${strange}/master.key`, `${target}/master.key`);
  const taken = await run(['restore', plain, '--unencrypted'], target, secret);
  assert.equal(taken.code, 0, taken.stderr);
  assert.match(taken.stdout, /whoever can write to its folder may have made or changed it/);
  const back = `${directory.path}/back`;
  const restored = await run(['restore', sealed], back, secret);
  assert.equal(restored.code, 0, restored.stderr);
  assert.match(restored.stdout, /nobody without its passphrase can have made or changed it/);
  directory.remove();
});

it('a list of deleted accounts that was changed, swapped, put back or taken away is noticed', async () => {
  const directory = makeTempDir('swapped-list');
  const folder = `${directory.path}/backups`;
  const secret = { BACKUP_PASSPHRASE: words };
  const run = (args: string[], dataDir: string, more = {}) =>
    runCli(args, { DATA_DIR: dataDir, ...secret, ...more });
  await using server = await startTestServer({
    threads: 1,
    env: { BACKUP_FOLDER: folder, BACKUP_EVERY: '24h', ...secret },
  });
  const backupOf = () => readdirSync(folder).find((name) => name.endsWith('.backup'));
  await within(() => backupOf() !== undefined && existsSync(`${folder}/${list}`), 'a backup');
  const backup = `${folder}/${backupOf()}`;
  // Written once more behind the backup, so that it is not older.
  await within(async () => (await run(['verify', '--backup', backup], server.dataDir)).code === 0);
  const atBackup = readFileSync(`${folder}/${list}`, 'utf8');
  await server.cliJson('account', 'create', person);
  await server.cliJson('account', 'delete', person);
  await within(() => readFileSync(`${folder}/${list}`, 'utf8') !== atBackup, 'the line');
  const right = readFileSync(`${folder}/${list}`, 'utf8');
  assert.match(right, /^portcullis deleted accounts, written .*\n.*Z [\w-]{16}\nseal [\w-]{43}\n$/);
  assert.equal(
    readFileSync(`${server.dataDir}/${list}`, 'utf8').match(/^.* [\w-]{16}$/m)?.[0],
    right.split('\n')[1],
  );

  const otherDir = `${directory.path}/other`;
  const other = { BACKUP_FOLDER: `${directory.path}/others` };
  for (const args of [
    ['account', 'create', person],
    ['account', 'delete', person],
  ]) {
    assert.equal((await run(args, otherDir, other)).code, 0);
  }
  const others = readFileSync(`${directory.path}/others/${list}`, 'utf8');
  const target = `${directory.path}/target`;
  const key = Buffer.from(readFileSync(`${server.dataDir}/master.key`, 'utf8'), 'base64url');
  const seal = erasedSealOf(masterKeyFromBytes(key));
  const attempts: [string, string | undefined, RegExp][] = [
    ['taken away', undefined, /\(erased-accounts\.txt\) that was kept beside it is missing/],
    ['of another server', others, /sealed under the master key \w{8}, which is not the one of the/],
    ['a line less', right.replace(/\n.*Z .*\n/, '\n'), /was changed: its seal/],
    ['without a seal', `${right.split('\n')[1]}\n`, /is not sealed, so anybody/],
    ['put back', encodeErased(new Map(), seal, Date.now() - 3_600_000), /is older than the backup/],
  ];
  for (const [what, text, told] of attempts) {
    if (text === undefined) rmSync(`${folder}/${list}`);
    else writeFileSync(`${folder}/${list}`, text);
    for (const command of [['restore'], ['verify', '--backup']]) {
      const done = await run([...command, backup], target);
      assert.equal(done.code, 1, `${what}: ${done.stdout}`);
      assert.match(done.stderr, told, what);
    }
    assert.deepEqual(readdirSync(target), ['claim.lock'], what);
  }
  const all = await run(['verify', '--backup', backup, '--without-erasures'], target);
  assert.equal(all.code, 0, all.stderr);

  writeFileSync(`${folder}/${list}`, right);
  const restored = await run(['restore', backup, '--json'], target);
  assert.equal(restored.code, 0, restored.stderr);
  const { erasuresKnown, erasuresSealed, encrypted } = JSON.parse(restored.stdout);
  assert.deepEqual([encrypted, erasuresKnown, erasuresSealed], [true, true, true]);
  // Of an account that the backup never knew: a later backup may have it.
  const again = readFileSync(`${target}/${list}`, 'utf8');
  assert.equal(again.split('\n')[1], right.split('\n')[1]);
  directory.remove();
});
