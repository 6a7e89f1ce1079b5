/** The number of the data format: who is refused, and that an update survives kill -9. */

import assert from 'node:assert/strict';
import { mkdirSync, readdirSync } from 'node:fs';
import { it } from 'node:test';
import { open as openEnvironment } from 'lmdb';
import { systemClock } from '../../src/core/clock.ts';
import { OperatorError } from '../../src/core/errors.ts';
import { createLog } from '../../src/core/log/log.ts';
import { systemRandom } from '../../src/core/random.ts';
import { checkBackup, restoreRows } from '../../src/storage/backup/restore.ts';
import { dataFormat, migrationSteps } from '../../src/storage/format.ts';
import { openLmdbStore } from '../../src/storage/lmdb.ts';
import { openStore } from '../../src/storage/migrate.ts';
import type { MigrationStep } from '../../src/storage/migrations/step.ts';
import type { Store } from '../../src/storage/store.ts';
import { type LineChild, startChild } from '../support/server/child.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';
import { aKey, bKey, testSteps } from './format-steps.ts';

const log = createLog('silent');
const clock = systemClock();
const child = new URL('./format-child.js', import.meta.url);
const names = Array.from({ length: 10 }, (_, i) => `row-${i}`);
const farAway = 4_000_000_000_000;

function optionsOf(dataDir: string, steps: readonly MigrationStep[] = migrationSteps) {
  const path = `${dataDir}/store`;
  return { path, dataDir, clock, random: systemRandom(), log, pid: process.pid, steps };
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
const migrationKey = Buffer.from('migration');

/** As a program of format 1 leaves it: ten numbers under `a`, one of them with a time of expiry. */
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
  await withMeta(dataDir, (meta) => {
    meta.putSync(formatKey, Buffer.from('00000001', 'hex'));
    meta.removeSync(migrationKey);
  });
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
  assert.match(
    names.join(' '),
    new RegExp(`^before-format-${dataFormat}-\\d{8}T\\d{6}Z\\.backup$`),
  );
  const source = { path: `${dataDir}/${names[0]}`, passphrase: async () => undefined };
  assert.equal((await checkBackup(source)).about.dataFormat, 1);
  const path = `${dataDir}/again/store`;
  mkdirSync(`${dataDir}/again`);
  await restoreRows(source, path, () => undefined);
  const again = await withMeta(`${dataDir}/again`, (meta) => ({
    format: meta.get(formatKey)?.toString('hex'),
    migration: meta.get(migrationKey),
  }));
  assert.deepEqual(again, { format: '00000001', migration: undefined });
  const store = await openStore({ ...optionsOf(`${dataDir}/again`, testSteps), batchRows: 3 });
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

it('an empty directory gets the present number, where every version since the first looks for it', async () => {
  const directory = makeDataDir();
  try {
    const store = await openStore(optionsOf(directory.path));
    await store.close();
    const row = await withMeta(directory.path, (meta) => Buffer.from(meta.get(formatKey)!));
    // Programs of format 1 compare these four bytes with 00000001 and refuse all others.
    assert.equal(row.toString('hex'), `0000000${dataFormat}`);
    openLmdbStore({ path: `${directory.path}/store`, clock, log }).close();
  } finally {
    directory.remove();
  }
});

it('a newer number is refused in one line that says what to do, and nothing is changed', async () => {
  const directory = makeDataDir();
  try {
    await (await openStore(optionsOf(directory.path))).close();
    const newer = Buffer.from(`0000000${dataFormat + 1}`, 'hex');
    await withMeta(directory.path, (meta) => meta.putSync(formatKey, newer));
    const refused = (error: unknown) =>
      error instanceof OperatorError &&
      error.message.includes(
        `data format ${dataFormat + 1}, this program knows ${dataFormat}: start the newer version again, or restore a backup`,
      ) &&
      !error.message.includes('\n');
    await assert.rejects(openStore(optionsOf(directory.path)), refused);
    assert.throws(() => openLmdbStore({ path: `${directory.path}/store`, clock, log }), refused);
    assert.deepEqual(
      await withMeta(directory.path, (meta) => Buffer.from(meta.get(formatKey)!)),
      newer,
    );
  } finally {
    directory.remove();
  }
});

it('a store with rows and no number counts as format 1', async () => {
  const directory = makeDataDir();
  try {
    await makeFormat1(directory.path);
    await withMeta(directory.path, (meta) => meta.removeSync(formatKey));
    const store = await openStore(optionsOf(directory.path, testSteps));
    await assertUpdated(store);
    await store.close();
  } finally {
    directory.remove();
  }
});

it('an older store is not opened by what can not lead it on', async () => {
  const directory = makeDataDir();
  try {
    await makeFormat1(directory.path);
    assert.throws(
      () => openLmdbStore({ path: `${directory.path}/store`, clock, log }),
      new RegExp(`data format 1 and its update to ${dataFormat} is not finished`),
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
      const store = await openStore({ ...optionsOf(directory.path, testSteps), batchRows: 4 });
      await assertUpdated(store);
      await store.close();
    }
    const later = { ...clock, now: () => farAway };
    const store = await openStore({ ...optionsOf(directory.path, testSteps), clock: later });
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
      assert.equal(row.toString('hex'), `0000000${dataFormat}`);
      const store = await openStore({ ...optionsOf(directory.path, testSteps), batchRows: 3 });
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
        openStore(optionsOf(directory.path, testSteps)),
        new RegExp(`in use by a command \\(pid ${first.process.pid}\\)`),
      );
    });
  } finally {
    directory.remove();
  }
});
