/** Compaction: the same rows, none of the old bytes, and never under somebody's feet. */

import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { it } from 'node:test';
import { createLog } from '../../src/core/log.ts';
import { scratchKey, text, u32 } from '../../src/storage/keys.ts';
import { compactStore } from '../../src/storage/lmdb/compact.ts';
import { openLmdbStore } from '../../src/storage/lmdb/store.ts';
import { manualClock, seededRandom } from '../support/seeded.ts';
import { startChild } from '../support/server/child.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';

const clock = manualClock(Date.UTC(2026, 0, 1));
const open = (path: string) => openLmdbStore({ path, clock, log: createLog('silent') });

it('rows, versions, expiry and journal come through; removed and overwritten bytes do not', async () => {
  const directory = makeTempDir('compact');
  const path = `${directory.path}/store`;
  const random = seededRandom(21);
  const store = open(path);
  const kept = new Map<number, string>();
  for (let n = 0; n < 12_000; n += 100) {
    const set = Array.from({ length: 100 }, (_, i) => {
      const value = `${random.next() < 0.3 ? 'kept' : 'doomed'}-${n + i}-${'x'.repeat(random.next() * 90)}`;
      if (value.startsWith('kept')) kept.set(n + i, value);
      const row = { key: scratchKey(u32(n + i)), value: Buffer.from(value) };
      return n + i === 77 ? { ...row, expiresAt: clock.now() + 1_000 } : row;
    });
    const event = { id: `event-${n}`, kind: 'test', version: 1, body: Buffer.from(`body-${n}`) };
    await store.commit({ set, events: [event] });
  }
  kept.set(77, 'kept until it expires');
  const set = [
    { key: scratchKey(u32(77)), value: Buffer.from(kept.get(77)!), expiresAt: clock.now() + 1_000 },
  ];
  const large = Buffer.alloc(300_000, 'large-doomed ');
  await store.commit({ set: [...set, { key: scratchKey(text('large')), value: large }] });
  const doomed = Array.from({ length: 12_000 }, (_, n) => n).filter((n) => !kept.has(n));
  for (let at = 0; at < doomed.length; at += 1_000) {
    await store.commit({ del: doomed.slice(at, at + 1_000).map((n) => scratchKey(u32(n))) });
  }
  await store.commit({ del: [scratchKey(text('large'))] });
  await store.pruneEvents(50n);
  const version = (await store.get(scratchKey(u32([...kept.keys()][0]!))))!.version;
  await store.close();
  assert.ok(readFileSync(`${path}/data.mdb`).includes('doomed-'), 'there is something to clear');
  const done = await compactStore(path);
  assert.ok(done.bytesAfter < done.bytesBefore / 2, JSON.stringify(done));
  assert.ok(!readFileSync(`${path}/data.mdb`).includes('doomed'));
  const again = open(path);
  for (const [n, value] of kept) {
    const row = await again.get(scratchKey(u32(n)));
    assert.equal(Buffer.from(row!.value).toString(), value, `row ${n}, seed 21`);
  }
  assert.equal((await again.get(scratchKey(u32([...kept.keys()][0]!))))!.version, version);
  assert.equal(await again.lastSeq(), 120n);
  assert.equal((await again.read(50n, 1_000)).length, 70);
  clock.advance(1_000);
  assert.equal(await again.sweep(100), 1);
  const result = await again.commit({ set: [{ key: scratchKey(), value: Buffer.from('new') }] });
  assert.ok(result.ok && result.versions[0]! > version);
  await again.close();
  directory.remove();
});

it('remains of a compaction that was cut short are removed, the store is as it was', async () => {
  const directory = makeTempDir('compact-cut');
  const path = `${directory.path}/store`;
  const store = open(path);
  await store.commit({ set: [{ key: scratchKey(), value: Buffer.from('there') }] });
  await store.close();
  mkdirSync(`${path}.compacting`);
  writeFileSync(`${path}.compacting/data.mdb`, 'half a file');
  await compactStore(path);
  assert.equal(existsSync(`${path}.compacting`), false);
  const again = open(path);
  assert.equal(Buffer.from((await again.get(scratchKey()))!.value).toString(), 'there');
  await again.close();
  directory.remove();
});

it('a store that another process has is left alone', async () => {
  const directory = makeTempDir('compact-busy');
  const path = `${directory.path}/store`;
  const store = open(path);
  await store.commit({ set: [{ key: scratchKey(), value: Buffer.from('there') }] });
  await store.close();
  const child = startChild(new URL('./crash-child.js', import.meta.url), [path, '1']);
  try {
    await child.line(() => true);
    await assert.rejects(
      compactStore(path),
      new RegExp(`in use by a command \\(pid ${child.process.pid}\\)`),
    );
  } finally {
    child.process.kill('SIGKILL');
    await child.ended;
  }
  await compactStore(path);
  directory.remove();
});

it('killed at any moment it leaves the whole store', async () => {
  const directory = makeTempDir('compact-kill');
  const path = `${directory.path}/store`;
  const random = seededRandom(22);
  const rows = 5_000;
  let store = open(path);
  for (let n = 0; n < rows; n += 1_000) {
    const set = Array.from({ length: 1_000 }, (_, i) => {
      return { key: scratchKey(u32(n + i)), value: Buffer.from(`row ${n + i}`) };
    });
    await store.commit({ set });
  }
  await store.close();
  for (let round = 0; round < 8; round++) {
    const child = startChild(new URL('./compact-child.js', import.meta.url), [path]);
    await child.line((line) => line === 'compacted');
    await new Promise((resolve) => setTimeout(resolve, random.next() * 150));
    child.process.kill('SIGKILL');
    await child.ended;
    store = open(path);
    for (let n = 0; n < rows; n += 97) {
      const row = await store.get(scratchKey(u32(n)));
      const found = row && Buffer.from(row.value).toString();
      assert.equal(found, `row ${n}`, `round ${round}, seed 22`);
    }
    const key = scratchKey(text('round'), u32(round));
    assert.ok((await store.commit({ set: [{ key, value: Buffer.from('written') }] })).ok);
    await store.close();
  }
  const again = open(path);
  for (let round = 0; round < 8; round++) {
    assert.ok(await again.get(scratchKey(text('round'), u32(round))), `round ${round}`);
  }
  await again.close();
  directory.remove();
});
