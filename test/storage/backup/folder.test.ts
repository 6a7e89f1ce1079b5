/** The folder of backups: made once, and missed when another one stands in its place. */

import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { it } from 'node:test';
import { refreshErasedFile } from '../../../src/storage/backup/erased.ts';
import {
  claimFolder,
  folderMarker,
  isVanished,
  knownFolders,
  startBackups,
} from '../../../src/storage/backup/schedule.ts';
import { manualClock, seededRandom } from '../../support/seeded.ts';
import { memoryLog } from '../../support/server/memory-log.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';

it('a folder is made and marked once; without its mark nothing is written there, and nothing is made', async () => {
  const directory = makeTempDir('backup-folder');
  const [dataDir, folder] = [directory.path, `${directory.path}/mnt/a/backups`];
  const place = { dataDir, folder };
  assert.equal(await isVanished(place), false, 'never used');
  await claimFolder(place);
  await claimFolder(place);
  assert.ok(existsSync(`${folder}/${folderMarker}`));
  assert.equal(readFileSync(`${dataDir}/${knownFolders}`, 'utf8'), `${folder}\n`);
  // An empty mount point, then none at all.
  rmSync(`${folder}/${folderMarker}`);
  for (const isThere of [true, false]) {
    if (!isThere) rmSync(`${directory.path}/mnt`, { recursive: true });
    assert.equal(await isVanished(place), true);
    await assert.rejects(claimFolder(place), /is not the one that was used before.*Mount its disk/);
    const seal = { masterKeyId: '00000000', key: new Uint8Array(32) };
    const list = { file: `${folder}/erased-accounts.txt`, ids: new Map(), seal, nowMs: 1, dataDir };
    const writing = refreshErasedFile({ ...list, isOwn: false }, seededRandom(1));
    await assert.rejects(writing, /is not the one that was used before/);
    assert.equal(existsSync(`${folder}/erased-accounts.txt`), false);
    assert.equal(existsSync(folder), isThere);
  }
  // Another folder is new, and told so by itself.
  await claimFolder({ dataDir, folder: `${directory.path}/other` });
  assert.equal(await isVanished(place), true);
  // The disk is back.
  mkdirSync(folder, { recursive: true });
  writeFileSync(`${folder}/${folderMarker}`, '');
  await claimFolder(place);
  assert.equal(await isVanished(place), false);
  directory.remove();
});

it('a folder that can’t be made is refused in words and at once, wherever it is', async () => {
  const directory = makeTempDir('backup-nowhere');
  writeFileSync(`${directory.path}/file`, '');
  for (const folder of [
    '/proc/none/backups',
    '/proc/backups',
    `${directory.path}/file/backups`,
    '/dev/null/x',
  ]) {
    const claiming = claimFolder({ dataDir: directory.path, folder });
    await assert.rejects(claiming, /can't be made or used \(E[A-Z]+\)/, folder);
  }
  directory.remove();
});

it('the schedule tells of a folder that vanished, writes nothing, and goes on when it is back', async (t) => {
  const directory = makeTempDir('backup-vanished');
  const folder = `${directory.path}/backups`;
  const dataDir = directory.path;
  await claimFolder({ dataDir, folder });
  rmSync(folder, { recursive: true });
  const clock = manualClock(Date.UTC(2026, 0, 1));
  const { log, lines } = memoryLog();
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let made = 0;
  const schedule = startBackups({
    folder,
    dataDir,
    everyMs: 3_600_000,
    keep: 2,
    clock,
    log,
    async make() {
      made += 1;
      return { seq: 1, rows: 1, bytes: 1, encrypted: false };
    },
  });
  while (schedule.stats().failed === 0) await new Promise(setImmediate);
  assert.equal(schedule.stats().isVanished, true);
  assert.match(JSON.stringify(lines), /is not the one that was used before/);
  assert.equal(existsSync(folder), false);
  assert.equal(made, 0);
  mkdirSync(folder);
  writeFileSync(`${folder}/${folderMarker}`, '');
  clock.advance(3_600_000);
  while (schedule.stats().done === 0) {
    await new Promise(setImmediate);
    t.mock.timers.tick(30_000);
  }
  assert.equal(schedule.stats().isVanished, false);
  await schedule.stop();
  directory.remove();
});
