/** A backup is the store at one position of the journal, whoever writes meanwhile, or no file at all. */

import assert from 'node:assert/strict';
import {
  existsSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import files from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { runTask, tasksEnded } from '../../../src/app/tasks.ts';
import type { OperationCall } from '../../../src/contracts/operation.ts';
import { systemClock } from '../../../src/core/clock.ts';
import { checkBackup, restoreRows } from '../../../src/storage/backup/restore.ts';
import { startBackups } from '../../../src/storage/backup/schedule.ts';
import { intoFile, makeBackup } from '../../../src/storage/backup/write.ts';
import { scratchKey, text, u32 } from '../../../src/storage/keys.ts';
import { claimDataDir, claimFile } from '../../../src/storage/lmdb/claim.ts';
import { openTables } from '../../../src/storage/lmdb/environment.ts';
import { manualClock, seededRandom } from '../../support/seeded.ts';
import { startChild } from '../../support/server/child.ts';
import { memoryLog } from '../../support/server/memory-log.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';
import { open } from '../lmdb-opener.ts';
import { allEntries, replay, writePairs } from '../pairs.ts';

const clock = systemClock();
const random = seededRandom(31);
/** But for the claim, which stays. */
const filesIn = (path: string) =>
  readdirSync(path)
    .filter((name) => name !== claimFile)
    .sort();

const noPassphrase = async () => undefined;

it('what is restored is what the journal up to the position of the backup adds up to', async () => {
  const directory = makeTempDir('backup');
  const path = `${directory.path}/store`;
  const claim = claimDataDir(directory.path, 'a test');
  const store = await open(path, clock);
  let written = 0;
  try {
    for (let round = 0; round < 4; round++) {
      // Where the backup waits for a busy machine, what is replayed later stays small.
      const writer = writePairs(store, `r${round + 1}`, () => {
        if (writer.acknowledged() >= 5_000) void writer.stop();
      });
      await writer.atLeast(500);
      const known = written + writer.acknowledged();
      const file = `${directory.path}/${round}.backup`;
      const inherited = { dataDir: directory.path, pid: process.pid };
      const made = await runTask(
        'backup',
        { path, claim: inherited, file, sealing: {}, masterKey: undefined },
        unwatched(),
      ).finally(writer.stop);
      written += writer.acknowledged();
      assert.ok(made.seq >= known, `${made.seq} of ${known} that were acknowledged before`);
      const source = { path: file, passphrase: noPassphrase };
      const { about } = await checkBackup(source);
      assert.equal(about.seq, made.seq);
      const restored = `${directory.path}/restored-${round}`;
      await restoreRows(source, restored, () => undefined);
      const copy = await open(restored, clock);
      const { ids, model } = await replay(copy);
      assert.equal(ids.length, made.seq);
      assert.ok(model.size > 0);
      assert.deepEqual(await allEntries(copy), model, `round ${round}`);
      // It goes on where it was: versions and numbers of events do not come twice.
      const event = { id: 'after', kind: 'none', version: 1, body: new Uint8Array() };
      assert.equal((await copy.commit({ events: [event] })).seq, BigInt(made.seq + 1));
      await copy.close();
    }
  } finally {
    await store.close();
    claim.release();
    directory.remove();
  }
});

function unwatched(): OperationCall {
  async function* nothing() {
    // There is no input.
  }
  const signal = new AbortController().signal;
  return { signal, input: nothing(), progress() {}, note() {}, async write() {} };
}

it('a backup reaches whoever takes it slowly whole, in its order, and is done behind its last byte', async () => {
  const directory = makeTempDir('backup-slow');
  const path = `${directory.path}/store`;
  const claim = claimDataDir(directory.path, 'a test');
  const store = await open(path, clock);
  const value = () => Buffer.concat([random.bytes(180_000), Buffer.alloc(700_000)]);
  for (let n = 0; n < 16; n++) {
    await store.commit({ set: [{ key: scratchKey(u32(n)), value: value() }] });
  }
  const taken: Uint8Array[] = [];
  let underWay = 0;
  const call = {
    ...unwatched(),
    async write(bytes: Uint8Array) {
      underWay += 1;
      assert.equal(underWay, 1, 'bytes are given while others are being taken');
      await delay(20);
      taken.push(bytes);
      underWay -= 1;
    },
  };
  const inherited = { dataDir: directory.path, pid: process.pid };
  const task = { path, claim: inherited, sealing: {}, masterKey: undefined };
  const made = await runTask('backup', { ...task, file: undefined }, call);
  const file = `${directory.path}/slow.backup`;
  writeFileSync(file, Buffer.concat(taken));
  assert.equal(statSync(file).size, made.bytes);
  await checkBackup({ path: file, passphrase: noPassphrase });
  await store.close();
  claim.release();
  directory.remove();
});

it('a task that is cancelled is over when its thread has let the store go', async () => {
  const directory = makeTempDir('backup-cancelled');
  const path = `${directory.path}/store`;
  const claim = claimDataDir(directory.path, 'a test');
  await (await open(path, clock)).close();
  const isOpen = () =>
    readdirSync('/proc/self/fd').some((name) => {
      const to = `/proc/self/fd/${name}`;
      return existsSync(to) && readlinkSync(to) === `${path}/data.mdb`;
    });
  assert.ok(!isOpen());
  const ending = new AbortController();
  const inherited = { dataDir: directory.path, pid: process.pid };
  const task = { path, claim: inherited, sealing: {}, masterKey: undefined };
  const call = {
    ...unwatched(),
    signal: ending.signal,
    async write() {
      ending.abort();
    },
  };
  await assert.rejects(runTask('backup', { ...task, file: undefined }, call), /cancelled/);
  await tasksEnded();
  assert.ok(!isOpen());
  claim.release();
  directory.remove();
});

it('a backup that is killed half-way has no file of its name, and the next one is made', async () => {
  const directory = makeTempDir('backup-killed');
  const path = `${directory.path}/store`;
  const store = await open(path, clock);
  for (let n = 0; n < 4; n++) {
    await store.commit({ set: [{ key: scratchKey(u32(n)), value: random.bytes(900_000) }] });
  }
  await store.close();
  const target = `${directory.path}/one.backup`;
  const child = startChild(new URL('./stuck-backup-child.js', import.meta.url), [path, target]);
  await child.line(() => true);
  child.process.kill('SIGKILL');
  await child.ended;
  const left = readdirSync(directory.path).filter((name) => name.startsWith('one'));
  assert.equal(existsSync(target), false);
  assert.match(left.join(' '), /^one\.backup\.[\w-]+\.part$/);
  await makeBackup({ path, target, clock, random });
  await checkBackup({ path: target, passphrase: noPassphrase });
  await assert.rejects(makeBackup({ path, target, clock, random }), /one\.backup exists/);
  directory.remove();
});

it('a damaged row makes no backup', async () => {
  const directory = makeTempDir('backup-damaged');
  const path = `${directory.path}/store`;
  const store = await open(path, clock);
  const key = scratchKey(text('row'));
  await store.commit({ set: [{ key, value: Buffer.from('as it was written') }] });
  await store.close();
  const tables = openTables(path);
  const row = Buffer.from(tables.entries.get(key)!);
  row[15]! ^= 1;
  tables.entries.putSync(key, row);
  await tables.root.close();
  const target = `${directory.path}/one.backup`;
  const name = Buffer.from(key).toString('hex');
  await assert.rejects(
    makeBackup({ path, target, clock, random }),
    new RegExp(`row ${name} of entries`),
  );
  assert.deepEqual(filesIn(directory.path), ['store']);
  directory.remove();
});

function backupsIn(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.backup'))
    .sort();
}

it('the schedule makes one when it is due, keeps the newest, and tells of a failure', async (t) => {
  const directory = makeTempDir('schedule');
  const path = `${directory.path}/store`;
  const folder = `${directory.path}/backups`;
  await (await open(path, clock)).close();
  const time = manualClock(Date.UTC(2026, 0, 1));
  const { log, lines } = memoryLog();
  let failing = false;
  const hour = 3_600_000;
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const schedule = startBackups({
    folder,
    dataDir: directory.path,
    everyMs: hour,
    keep: 2,
    clock: time,
    log,
    async make(target) {
      if (failing) throw new Error('no room');
      return makeBackup({ path, target, clock: time, random });
    },
  });
  const files = () => (existsSync(folder) ? backupsIn(folder) : []);
  async function until(test: () => boolean): Promise<void> {
    while (!test()) {
      await new Promise(setImmediate);
      t.mock.timers.tick(30_000);
    }
  }
  const day = 'portcullis-20260101T';
  await until(() => schedule.stats().done === 1);
  assert.deepEqual(files(), [`${day}000000.000Z.backup`]);
  const after = (ms: number) => time.advance(ms);
  after(hour - 1);
  let turns = 0;
  await until(() => ++turns > 100);
  assert.equal(schedule.stats().done, 1, 'not due yet');
  for (const done of [2, 3]) {
    after(hour);
    await until(() => schedule.stats().done === done);
  }
  const kept = [`${day}015959.999Z.backup`, `${day}025959.999Z.backup`];
  await until(() => files().length === 2);
  assert.deepEqual(files(), kept);
  failing = true;
  after(hour);
  await until(() => schedule.stats().failed === 1);
  assert.deepEqual(files(), kept, 'nothing goes for one that was not made');
  assert.match(JSON.stringify(lines), /backup: not made.*no room|no room.*backup: not made/);
  await schedule.stop();
  const again = startBackups({
    folder,
    dataDir: directory.path,
    everyMs: 10 * hour,
    keep: 2,
    clock: time,
    log,
    make: () => assert.fail('the folder says that it is not due'),
  });
  await until(() => again.stats().newestAt === Date.UTC(2026, 0, 1, 3) - 1);
  await again.stop();
  directory.remove();
});

it('backups of a clock that was ahead neither push out new ones nor go', async (t) => {
  const directory = makeTempDir('schedule-ahead');
  const folder = directory.path;
  const ahead = ['20270101', '20280101'].map((day) => `portcullis-${day}T000000.000Z.backup`);
  for (const name of ahead) writeFileSync(join(folder, name), '');
  const time = manualClock(Date.UTC(2027, 0, 1) - 1);
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { log } = memoryLog();
  let failing = true;
  const schedule = startBackups({
    folder,
    dataDir: directory.path,
    everyMs: 3_600_000,
    keep: 1,
    clock: time,
    log,
    async make(target) {
      if (failing) throw new Error('no room');
      writeFileSync(target, '');
      return { seq: 1, rows: 1, bytes: 1, encrypted: false };
    },
  });
  while (schedule.stats().failed === 0) await new Promise(setImmediate);
  failing = false;
  time.advance(Date.UTC(2026, 0, 1) - time.now());
  for (const endMs = performance.now() + 120_000; performance.now() < endMs; ) {
    if (schedule.stats().done > 0) break;
    await new Promise(setImmediate);
    t.mock.timers.tick(30_000);
  }
  assert.equal(schedule.stats().done, 1, 'what failed by that clock holds up nothing');
  await schedule.stop();
  const made = 'portcullis-20260101T000000.000Z.backup';
  assert.deepEqual(backupsIn(folder), [made, ...ahead]);
  assert.equal(schedule.stats().newestAt, time.now());
  directory.remove();
});

it('a folder that knows no hard links takes backups too, and keeps a name that is taken', async (t) => {
  const directory = makeTempDir('linkless');
  const path = `${directory.path}/store`;
  const target = `${directory.path}/one.backup`;
  await (await open(path, clock)).close();
  const eperm = Object.assign(new Error('EPERM'), { code: 'EPERM', syscall: 'link' });
  t.mock.method(files, 'link', async () => {
    throw eperm;
  });
  syncBuiltinESMExports();
  t.after(() => {
    t.mock.restoreAll();
    syncBuiltinESMExports();
    directory.remove();
  });
  await makeBackup({ path, target, clock, random });
  assert.deepEqual(filesIn(directory.path), ['one.backup', 'store']);
  const taken = `${directory.path}/two.backup`;
  const write = async () => writeFileSync(taken, 'mine');
  await assert.rejects(intoFile(taken, random, write), /two.backup can't be written/);
  assert.equal(readFileSync(taken, 'utf8'), 'mine');
});
