/** What hangs or fails half-way holds up neither the service nor its end. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
} from 'node:fs';
import { it } from 'node:test';
import { masterKeyFromBytes } from '../../src/access/keys/master-key.ts';
import { readConfig } from '../../src/config.ts';
import { systemClock } from '../../src/core/clock.ts';
import { openDestinations } from '../../src/reputation/lists/import/download.ts';
import { storedWebhooks } from '../../src/reputation/webhooks/webhook-store.ts';
import { startSignon } from '../../src/signon/module.ts';
import { erasedFile, openErasedList, readErasedFile } from '../../src/storage/backup/erased.ts';
import { localMaintenance } from '../../src/storage/maintenance.ts';
import { open } from '../storage/lmdb-opener.ts';
import { readSources } from '../support/house/sources.ts';
import { hasTool } from '../support/house/tools.ts';
import { seededRandom } from '../support/seeded.ts';
import { memoryLog } from '../support/server/memory-log.ts';
import { runCli, within } from '../support/server/server.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';

const judges = {
  isPrefix: () => true,
  isTooWide: () => false,
  isPhoneCountry: () => true,
  suffixFault: () => undefined,
  isEndpoint: () => true,
};

it('a sign-on that fails while it opens leaves no timer behind', async (t) => {
  const directory = makeTempDir('half-open');
  const clock = systemClock();
  const { log } = memoryLog();
  const store = await open(`${directory.path}/store`, clock);
  const begun = t.mock.method(globalThis, 'setTimeout');
  const ended = t.mock.method(globalThis, 'clearTimeout');
  try {
    const starting = startSignon({
      store: { ...store, scan: () => Promise.reject(new Error('the disk is gone')) },
      maintenance: localMaintenance(store),
      clock,
      random: seededRandom(1),
      log,
      demo: false,
      personalData: () => [],
      webhooks: storedWebhooks(store),
      destinations: openDestinations({ allowPrivate: false }),
      masterKey: masterKeyFromBytes(new Uint8Array(32)),
      config: { ...readConfig({}, judges), dataDir: directory.path },
    });
    await assert.rejects(starting, /the disk is gone/);
    const timers = begun.mock.calls.map(({ result }) => result);
    assert.ok(timers.length > 0, 'sign-on has timers');
    const cleared = new Set(ended.mock.calls.map((call) => call.arguments[0]));
    assert.deepEqual(
      timers.filter((timer) => !cleared.has(timer)),
      [],
    );
  } finally {
    await store.close();
    directory.remove();
  }
});

it('a folder of backups that does not answer holds up no deletion', {
  timeout: 120_000,
}, async (t) => {
  const directory = makeTempDir('hung-folder');
  const [dataDir, backupFolder] = [`${directory.path}/data`, `${directory.path}/backups`];
  const { log, lines } = memoryLog();
  mkdirSync(backupFolder);
  // Opening it to write waits until somebody reads, as a file on a machine that is away does.
  const pipe = `${backupFolder}/${erasedFile}`;
  if (!hasTool(t, 'mkfifo')) return;
  assert.equal(spawnSync('mkfifo', [pipe]).status, 0);
  const clock = systemClock();
  const store = await open(`${directory.path}/store`, clock);
  const seal = { masterKeyId: '00000000', key: new Uint8Array(32) };
  const random = seededRandom(1);
  const list = openErasedList({
    store,
    seal,
    config: { dataDir, backupFolder },
    clock,
    random,
    log,
  });
  await list.add('first', 1);
  await list.add('second', 2);
  assert.match(readFileSync(`${dataDir}/${erasedFile}`, 'latin1'), / first\n.* second\nseal .*\n$/);
  assert.deepEqual(lines, []);
  // The folder answers again: the end of a process waits for what waits for files.
  closeSync(openSync(pipe, constants.O_RDWR));
  await store.close();
  directory.remove();
});

it('a command that deletes an account ends though the folder of backups does not answer', {
  timeout: 240_000,
}, async (t) => {
  const directory = makeTempDir('hung-command');
  const backups = `${directory.path}/backups`;
  const env = { DATA_DIR: `${directory.path}/data`, BACKUP_FOLDER: backups };
  mkdirSync(backups);
  const pipe = `${backups}/${erasedFile}`;
  if (!hasTool(t, 'mkfifo')) return;
  assert.equal(spawnSync('mkfifo', [pipe]).status, 0);
  const password = 'three quiet harbours';
  const create = ['account', 'create', 'gone@example.net', '--password-stdin'];
  const made = await runCli(create, env, `${password}\n`);
  assert.equal(made.code, 0, made.stderr);
  const deleted = await runCli(['account', 'delete', 'gone@example.net'], env);
  assert.equal(deleted.code, 0, deleted.stderr);
  assert.match(deleted.stdout, /is deleted/);
  assert.match(deleted.stderr, /not in the list for restores/);
  const own = await readErasedFile(`${env.DATA_DIR}/${erasedFile}`, undefined);
  assert.equal(own?.ids.size, 1);
  // The folder answers again: what was left behind adds the line.
  const answering = openSync(pipe, constants.O_RDWR);
  rmSync(pipe);
  closeSync(answering);
  const isAdded = async () =>
    existsSync(pipe) && (await readErasedFile(pipe, undefined))?.ids.size === 1;
  await within(isAdded, 'the line beside the backups');
  assert.deepEqual((await readErasedFile(pipe, undefined))?.ids, own?.ids);
  directory.remove();
});

it('what the server does in the folder of backups never waits for a file', () => {
  const own = ['schedule.ts', 'erased.ts'].map((name) => `src/storage/backup/${name}`);
  const sources = readSources('src').filter(({ path }) => own.includes(path));
  assert.equal(sources.length, own.length);
  for (const { path, text } of sources) {
    const calls = [...text.matchAll(/\b(\w+Sync)\(/g)].map(([, name]) => name);
    assert.deepEqual(calls, [], path);
  }
});
