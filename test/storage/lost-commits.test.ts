/** Commits that were acknowledged and are gone: the store notices before it writes on, and for good. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, renameSync, rmSync } from 'node:fs';
import { it } from 'node:test';
import { scratchKey, text } from '../../src/storage/keys.ts';
import { openTables } from '../../src/storage/lmdb/environment.ts';
import { openLmdbStore } from '../../src/storage/lmdb/store.ts';
import { readCounters, type TableCounters, writeCounters } from '../../src/storage/lmdb/tables.ts';
import type { Commit, Store } from '../../src/storage/store.ts';
import { manualClock } from '../support/seeded.ts';
import { memoryLog } from '../support/server/memory-log.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';

interface Opened {
  readonly store: Store;
  readonly path: string;
  write(commit: Commit): Promise<void>;
}

async function withStore(run: (opened: Opened) => Promise<void>): Promise<void> {
  const directory = makeTempDir('lost-commits');
  const path = `${directory.path}/store`;
  const clock = manualClock(1_800_000_000_000);
  const store = openLmdbStore({ path, clock, log: memoryLog().log, probeMs: 2 });
  try {
    await run({
      store,
      path,
      async write(commit) {
        assert.ok((await store.commit(commit)).ok);
      },
    });
  } finally {
    await store.close();
    directory.remove();
  }
}

const row = (name: string) => ({ key: scratchKey(text(name)), value: Buffer.from(name) });
const event = (id: string) => ({ id, kind: 'test', version: 1, body: new Uint8Array() });

/** Refused with one line, now and after probes, and nothing was written. */
async function assertFatal(store: Store): Promise<void> {
  for (let round = 0; round < 2; round++) {
    const done = await store.commit({ set: [row('late')], events: [event('late')] });
    assert.ok(!done.ok && done.error === 'store_unavailable');
    assert.match(done.detail, /^commits that were acknowledged are gone from the store: .+backup$/);
    const { available, fatal, detail } = store.writeState();
    assert.deepEqual([available, fatal, detail.includes('\n')], [false, true, false]);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  assert.equal(await store.get(row('late').key), undefined);
}

const rewrites: readonly [string, (now: TableCounters) => TableCounters][] = [
  ['the end of the journal', (now) => ({ ...now, lastSeq: now.lastSeq - 1 })],
  ['the last version', (now) => ({ ...now, lastVersion: now.lastVersion - 1 })],
];
for (const [name, change] of rewrites) {
  it(`${name} that went back through another handle is fatal`, async () => {
    await withStore(async ({ store, path, write }) => {
      await write({ set: [row('one')], events: [event('one')] });
      await write({ set: [row('two')], events: [event('two')] });
      const other = openTables(path);
      other.root.transactionSync(() => writeCounters(other.meta, change(readCounters(other.meta))));
      await other.root.close();
      await assertFatal(store);
    });
  });
}

it('what goes forward through another handle is no loss', async () => {
  await withStore(async ({ store, path, write }) => {
    await write({ set: [row('one')], events: [event('one')] });
    const other = openTables(path);
    other.root.transactionSync(() => {
      const { lastVersion, ...now } = readCounters(other.meta);
      writeCounters(other.meta, { ...now, lastVersion: lastVersion + 1 });
    });
    await other.root.close();
    await write({ set: [row('two')], events: [event('two')] });
    assert.equal(store.writeState().available, true);
  });
});

/** As a program outside that writes an older file over the one that is open. @param pages how many of it */
function writeOver(older: string, file: string, pages: number): void {
  const over = ['conv=notrunc', 'bs=4096', `count=${pages}`];
  const done = spawnSync('dd', [`if=${older}`, `of=${file}`, ...over]);
  assert.equal(done.status, 0, String(done.stderr));
}

const damages: readonly [string, (older: string, file: string) => void][] = [
  ['an older file written over the open one', (older, file) => writeOver(older, file, 1_000)],
  [
    'older meta pages written over those of the open one',
    (older, file) => writeOver(older, file, 2),
  ],
  ['an older file with its name', (older, file) => renameSync(older, file)],
];
const lost: readonly [string, readonly Commit[]][] = [
  ['an event', [{ events: [event('two')] }]],
  ['a row', [{ set: [row('two')] }]],
  ['a removal', [{ del: [row('one').key] }]],
  ['two removals', [{ del: [row('one').key] }, { del: [row('more').key] }]],
];
for (const [damage, put] of damages) {
  for (const [name, commits] of lost) {
    it(`${damage} is fatal, also where all that is lost is ${name}`, async () => {
      await withStore(async ({ store, path, write }) => {
        await write({ set: [row('one'), row('more'), row('less')], events: [event('one')] });
        // LMDB goes on at the other meta page than the last one: what it finds there is no older by a version.
        await write({ del: [row('less').key] });
        const [file, older] = [`${path}/data.mdb`, `${path}/../older`];
        copyFileSync(file, older);
        for (const commit of commits) await write(commit);
        put(older, file);
        await assertFatal(store);
      });
    });
  }
}

const gone: readonly [string, (file: string) => void][] = [
  ['that was removed', (file) => rmSync(file)],
  ['that was renamed', (file) => renameSync(file, `${file}.old`)],
  [
    'with a copy in its place',
    (file) => {
      copyFileSync(file, `${file}.copy`);
      renameSync(`${file}.copy`, file);
    },
  ],
];
for (const [name, take] of gone) {
  it(`a file ${name} is fatal: what is written to it is lost`, async () => {
    await withStore(async ({ store, path, write }) => {
      await write({ set: [row('one')] });
      take(`${path}/data.mdb`);
      await assertFatal(store);
    });
  });
}

it('a sweep of a store whose commits are gone ends, so nothing waits for it', async () => {
  await withStore(async ({ store, path, write }) => {
    await write({ set: [row('one')] });
    rmSync(`${path}/data.mdb`);
    for (let round = 0; round < 2; round++) {
      // By its name: the sweeper is silent about it, for the store itself has said it.
      await assert.rejects(store.sweep(10), {
        name: 'StoreUnavailableError',
        message: /store unavailable: commits that were acknowledged/,
      });
    }
  });
});
