/** Commits that were acknowledged and are gone: the store notices before it writes on, and for good. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync } from 'node:fs';
import { it } from 'node:test';
import { manualClock } from '../../src/core/clock.ts';
import { scratchKey, text } from '../../src/store/keys.ts';
import { openLmdbStore } from '../../src/store/lmdb.ts';
import {
  openTables,
  readCounters,
  type TableCounters,
  writeCounters,
} from '../../src/store/lmdb-tables.ts';
import type { Commit, Store } from '../../src/store/store.ts';
import { memoryLog } from '../support/server/memory-log.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';

interface Opened {
  readonly store: Store;
  readonly path: string;
  write(commit: Commit): Promise<void>;
  /** Longer than between two looks at LMDB's number of transactions. */
  later(): void;
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
        clock.advance(1_000);
        assert.ok((await store.commit(commit)).ok);
      },
      later: () => clock.advance(1_000),
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

/** As a program outside that puts an older file over the one that is open. */
function putBack(copy: string, path: string): void {
  const done = spawnSync('dd', [`if=${copy}`, `of=${path}/data.mdb`, 'conv=notrunc', 'bs=1M']);
  assert.equal(done.status, 0, String(done.stderr));
}

const lost: readonly [string, Commit][] = [
  ['an event', { events: [event('two')] }],
  ['a row', { set: [row('two')] }],
];
for (const [name, commit] of lost) {
  it(`an older file written over the open one is fatal, also where ${name} is all that is lost`, async () => {
    await withStore(async ({ store, path, write, later }) => {
      await write({ set: [row('one'), row('more')], events: [event('one')] });
      const copy = `${path}/../older`;
      copyFileSync(`${path}/data.mdb`, copy);
      await write(commit);
      // A transaction that writes nothing, in which the number is looked at.
      await write({ check: [{ key: row('none').key, version: null }] });
      putBack(copy, path);
      later();
      await assertFatal(store);
    });
  });
}
