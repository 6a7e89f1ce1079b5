/** What is named is on disk before it has its name, and the name is on disk before anybody is told. */

import assert from 'node:assert/strict';
import fs, { mkdirSync, realpathSync } from 'node:fs';
import fsp from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { it } from 'node:test';
import { systemClock } from '../../src/core/clock.ts';
import { writeErasedFile } from '../../src/storage/backup/erased.ts';
import { restoreRows } from '../../src/storage/backup/restore.ts';
import { claimFolder, folderMarker, knownFolders } from '../../src/storage/backup/schedule.ts';
import { makeBackup } from '../../src/storage/backup/write.ts';
import { makeFileOnce } from '../../src/storage/files.ts';
import { scratchKey, text } from '../../src/storage/keys.ts';
import { compactStore } from '../../src/storage/lmdb/compact.ts';
import { seededRandom } from '../support/seeded.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';
import { open } from './lmdb-opener.ts';

const clock = systemClock();
const random = seededRandom(77);

/** Names, links and syncs in their order: `sync <path>`, `name <path>`, by the folder's own paths. */
async function traced(root: string, run: () => unknown): Promise<string[]> {
  const said: string[] = [];
  const short = (path: string) =>
    path.replace(root, '').replace(/\.[\w-]{8,12}(\.part)?$/, '.part') || '/';
  const pathOf = (fd: number) => short(fs.readlinkSync(`/proc/self/fd/${fd}`));
  const { fsyncSync, renameSync, linkSync } = fs;
  const { rename, link } = fsp;
  const probe = await fsp.open(root, 'r');
  const handle = Object.getPrototypeOf(probe) as { sync(this: fsp.FileHandle): Promise<void> };
  const { sync } = handle;
  await probe.close();
  Object.assign(fs, {
    fsyncSync(fd: number) {
      said.push(`sync ${pathOf(fd)}`);
      fsyncSync(fd);
    },
    renameSync(from: string, to: string) {
      renameSync(from, to);
      said.push(`name ${short(to)}`);
    },
    linkSync(from: string, to: string) {
      linkSync(from, to);
      said.push(`name ${short(to)}`);
    },
  });
  Object.assign(fsp, {
    async rename(from: string, to: string) {
      await rename(from, to);
      said.push(`name ${short(to)}`);
    },
    async link(from: string, to: string) {
      await link(from, to);
      said.push(`name ${short(to)}`);
    },
  });
  handle.sync = async function (this: fsp.FileHandle) {
    said.push(`sync ${pathOf(this.fd)}`);
    await sync.call(this);
  };
  syncBuiltinESMExports();
  try {
    await run();
  } finally {
    Object.assign(fs, { fsyncSync, renameSync, linkSync });
    Object.assign(fsp, { rename, link });
    handle.sync = sync;
    syncBuiltinESMExports();
  }
  return said;
}

async function withFolder(run: (root: string) => Promise<void>): Promise<void> {
  const directory = makeTempDir('synced');
  await run(realpathSync(directory.path));
  directory.remove();
}

/** A store with a row, closed. */
async function storeAt(path: string): Promise<void> {
  const store = await open(path, clock);
  await store.commit({ set: [{ key: scratchKey(text('row')), value: Buffer.from('value') }] });
  await store.close();
}

it('a restored store: its file, then its folder', () =>
  withFolder(async (root) => {
    await storeAt(`${root}/store`);
    const target = `${root}/one.backup`;
    const made = await traced(root, () =>
      makeBackup({ path: `${root}/store`, target, clock, random }),
    );
    const file = made.filter((line) => !line.includes('/store'));
    assert.deepEqual(
      file,
      ['sync /one.backup.part', 'name /one.backup', 'sync /'],
      'the backup itself',
    );
    const source = { path: target, passphrase: async () => undefined };
    const said = await traced(root, () => restoreRows(source, `${root}/new`, () => undefined));
    assert.deepEqual(said.slice(-2), ['sync /new/data.mdb', 'sync /new']);
  }));

it('a compacted store: the new file, its name, then the folder', () =>
  withFolder(async (root) => {
    await storeAt(`${root}/store`);
    const said = await traced(root, () => compactStore(`${root}/store`));
    assert.deepEqual(said.slice(-3), [
      'sync /store.compacting/data.mdb',
      'name /store/data.mdb',
      'sync /store',
    ]);
  }));

it('a file that is made once, a list of deleted accounts, the mark of a folder', () =>
  withFolder(async (root) => {
    const once = await traced(root, () => makeFileOnce(`${root}/master.key`, 'x', random));
    assert.deepEqual(once, ['sync /master.key.part', 'name /master.key', 'sync /']);
    const list = await traced(root, () => writeErasedFile(`${root}/list`, 'x', random));
    assert.deepEqual(list, ['sync /list.part', 'name /list', 'sync /']);
    mkdirSync(`${root}/data`);
    const place = { dataDir: `${root}/data`, folder: `${root}/backups` };
    const folder = await traced(root, () => claimFolder(place));
    assert.deepEqual(folder, [
      ...[`sync /backups/${folderMarker}.part`, `name /backups/${folderMarker}`, 'sync /backups'],
      ...[`sync /data/${knownFolders}.part`, `name /data/${knownFolders}`, 'sync /data'],
    ]);
  }));
