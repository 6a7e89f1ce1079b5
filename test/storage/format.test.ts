/** The number of the data format: who is refused, and that an update survives kill -9. */

import assert from 'node:assert/strict';
import { mkdirSync, readdirSync } from 'node:fs';
import { it } from 'node:test';
import { open as openEnvironment } from 'lmdb';
import { systemClock } from '../../src/core/clock.ts';
import { OperatorError } from '../../src/core/errors.ts';
import { createLog } from '../../src/core/log.ts';
import { systemRandom } from '../../src/core/random.ts';
import { checkBackup, restoreRows } from '../../src/storage/backup/restore.ts';
import { openTables } from '../../src/storage/lmdb/environment.ts';
import { type DataFormat, dataFormat } from '../../src/storage/lmdb/format.ts';
import { openLmdbStore, openStore } from '../../src/storage/lmdb/store.ts';
import type { Store } from '../../src/storage/store.ts';
import { type LineChild, startChild } from '../support/server/child.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';
import { aKey, bKey, format2 } from './format-steps.ts';

const log = createLog('silent');
const clock = systemClock();
const child = new URL('./format-child.js', import.meta.url);
const names = Array.from({ length: 10 }, (_, i) => `row-${i}`);
const farAway = 4_000_000_000_000;

function optionsOf(dataDir: string, format: DataFormat = dataFormat) {
  const path = `${dataDir}/store`;
  return { path, dataDir, clock, random: systemRandom(), log, format };
}

function makeDataDir() {
  const directory = makeTempDir('format');
  mkdirSync(`${directory.path}/store`);
  return directory;
}

/** Reads or writes the rows of `meta` as any program would, past the store. */
async function withMeta<T>(
  dataDir: string,
  use: (meta: {
    get(key: Uint8Array): Buffer | undefined;
    putSync(key: Uint8Array, value: Buffer): void;
    removeSync(key: Uint8Array): void;
  }) => T,
): Promise<T> {
  const binary = { encoding: 'binary', keyEncoding: 'binary' } as const;
  const root = openEnvironment<Buffer, Uint8Array>({
    path: `${dataDir}/store`,
    noSubdir: false,
    maxDbs: 8,
    ...binary,
  });
  try {
    return use(root.openDB<Buffer, Uint8Array>('meta', { ...binary }));
  } finally {
    await root.close();
  }
}

const formatKey = Buffer.from('format');

/** Ten numbers under `a`, one of them with a time of expiry. */
async function makeFormat1(dataDir: string): Promise<void> {
  const store = openLmdbStore({ path: `${dataDir}/store`, clock, log });
  await store.commit({
    set: names.map((name, i) => ({
      key: aKey(name),
      value: Uint8Array.of(i),
      ...(i === 3 ? { expiresAt: farAway } : {}),
    })),
    events: [{ id: 'one', kind: 'kept', version: 1, body: Uint8Array.of(7) }],
  });
  await store.close();
}

async function assertUpdated(store: Store): Promise<void> {
  for (const [i, name] of names.entries()) {
    assert.deepEqual([...(await store.get(aKey(name)))!.value], [i + 1], name);
    assert.deepEqual([...(await store.get(bKey(name)))!.value], [i + 1], name);
  }
  assert.equal((await store.read(0n, 10)).length, 1);
}

/** One, of before the first change, which makes the store of before. */
async function assertBackedUp(dataDir: string): Promise<void> {
  const names = readdirSync(dataDir).filter((name) => name.startsWith('before-'));
  assert.match(names.join(' '), /^before-format-2-\d{8}T\d{6}Z\.backup$/);
  const source = { path: `${dataDir}/${names[0]}`, passphrase: async () => undefined };
  assert.equal((await checkBackup(source)).about.dataFormat, 1);
  const path = `${dataDir}/again/store`;
  mkdirSync(`${dataDir}/again`);
  await restoreRows(source, path, () => undefined);
  const again = await withMeta(`${dataDir}/again`, (meta) => Buffer.from(meta.get(formatKey)!));
  assert.equal(again.toString('hex'), '0000000100000000');
  const store = await openStore({ ...optionsOf(`${dataDir}/again`, format2), batchRows: 3 });
  await assertUpdated(store);
  await store.close();
}

async function withChild(dataDir: string, use: (child: LineChild) => Promise<void>): Promise<void> {
  const started = startChild(child, [dataDir]);
  try {
    await use(started);
  } finally {
    started.process.kill('SIGKILL');
    await started.ended;
  }
}

it('an empty directory gets the present number', async () => {
  const directory = makeDataDir();
  try {
    const store = await openStore(optionsOf(directory.path));
    await store.close();
    const row = await withMeta(directory.path, (meta) => Buffer.from(meta.get(formatKey)!));
    assert.equal(row.toString('hex'), '0000000100000000');
    openLmdbStore({ path: `${directory.path}/store`, clock, log }).close();
  } finally {
    directory.remove();
  }
});

it('a newer number is refused in one line that says what to do, and nothing is changed', async () => {
  const directory = makeDataDir();
  try {
    await makeFormat1(directory.path);
    await (await openStore(optionsOf(directory.path, format2))).close();
    const refused = (error: unknown) =>
      error instanceof OperatorError &&
      error.message.includes(
        'data format 2, this program knows 1: start the newer version again, or restore a backup',
      ) &&
      !error.message.includes('\n');
    await assert.rejects(openStore(optionsOf(directory.path)), refused);
    assert.throws(() => openLmdbStore({ path: `${directory.path}/store`, clock, log }), refused);
    const row = await withMeta(directory.path, (meta) => Buffer.from(meta.get(formatKey)!));
    assert.equal(row.toString('hex'), '0000000200000002');
  } finally {
    directory.remove();
  }
});

it('what a build from before format 1 wrote is refused in one line, and nothing is changed', async () => {
  for (const number of [undefined, '00000001', '00000003']) {
    const directory = makeDataDir();
    try {
      await makeFormat1(directory.path);
      const before = number === undefined ? undefined : Buffer.from(number, 'hex');
      await withMeta(directory.path, (meta) => {
        if (before === undefined) meta.removeSync(formatKey);
        else meta.putSync(formatKey, before);
      });
      const refused =
        /^the data directory was written by a build from before data format 1, .* set another DATA_DIR, or go on with that build$/;
      await assert.rejects(openStore(optionsOf(directory.path)), { message: refused });
      const { path } = optionsOf(directory.path);
      assert.throws(() => openLmdbStore({ path, clock, log }), { message: refused });
      const found = await withMeta(directory.path, (meta) => meta.get(formatKey)?.toString('hex'));
      assert.equal(found, number);
    } finally {
      directory.remove();
    }
  }
});

it('an older store is not opened by what can not lead it on', async () => {
  const directory = makeDataDir();
  try {
    await makeFormat1(directory.path);
    assert.throws(
      () => openTables(`${directory.path}/store`, format2),
      /data format 1 and its update to 2 is not finished/,
    );
  } finally {
    directory.remove();
  }
});

it('each step runs once over each row, keeps its expiry, and not again at the next open', async () => {
  const directory = makeDataDir();
  try {
    await makeFormat1(directory.path);
    for (let round = 0; round < 3; round++) {
      const store = await openStore({ ...optionsOf(directory.path, format2), batchRows: 4 });
      await assertUpdated(store);
      await store.close();
    }
    const later = { ...clock, now: () => farAway };
    const store = await openStore({ ...optionsOf(directory.path, format2), clock: later });
    assert.equal(await store.get(aKey('row-3')), undefined);
    assert.notEqual(await store.get(aKey('row-4')), undefined);
    await store.close();
  } finally {
    directory.remove();
  }
});

it('killed after any batch, the update goes on at the next open and ends the same', async () => {
  for (let batches = 1; batches <= 8; batches++) {
    const directory = makeDataDir();
    try {
      await makeFormat1(directory.path);
      await withChild(directory.path, async (first) => {
        for (let n = 1; n < batches; n++) {
          await first.line(() => first.lines.length >= n);
          first.process.stdin!.write('on\n');
        }
        await first.line(() => first.lines.length >= batches);
      });
      // Whatever was done so far: a program of format 1 reads another number from now on.
      const row = await withMeta(directory.path, (meta) => Buffer.from(meta.get(formatKey)!));
      assert.equal(row.readUInt32BE(0), 2);
      const store = await openStore({ ...optionsOf(directory.path, format2), batchRows: 3 });
      await assertUpdated(store);
      await store.close();
      await assertBackedUp(directory.path);
    } finally {
      directory.remove();
    }
  }
});

it('while one process updates, another one is refused', async () => {
  const directory = makeDataDir();
  try {
    await makeFormat1(directory.path);
    await withChild(directory.path, async (first) => {
      await first.line((line) => line === 'batch');
      await assert.rejects(
        openStore(optionsOf(directory.path, format2)),
        new RegExp(`in use by a command \\(pid ${first.process.pid}\\)`),
      );
    });
  } finally {
    directory.remove();
  }
});
