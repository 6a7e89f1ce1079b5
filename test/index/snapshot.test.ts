/** Snapshots: what comes back is what went in, and anything else than that is refused. */

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { createIpIndex, type IpIndex } from '../../src/index/ip-index.ts';
import type { IndexPrefix } from '../../src/index/prefix.ts';
import { openIpIndexReader } from '../../src/index/reader.ts';
import { setReports } from '../../src/index/records.ts';
import { loadSnapshot, saveSnapshot } from '../../src/index/snapshot.ts';
import { CHANGE_WORDS_MAX } from '../../src/index/trie/insert.ts';
import { masked, textOf } from './golden.ts';
import { createSample } from './sample.ts';

const directory = mkdtempSync(join(tmpdir(), 'portcullis-index-'));
after(() => rmSync(directory, { recursive: true }));
const options = { entriesMax: 20_000 };

function contents(index: IpIndex): string[] {
  const lines: string[] = [];
  for (const family of [4, 6] as const) {
    index.walk(masked(family, new Uint32Array(4), 0), (entry) => {
      const row = index.records.word.slice(entry * 8, entry * 8 + 5);
      lines.push(`${entry} ${textOf(index.prefixOf(entry)!)} ${row}`);
    });
  }
  return lines;
}

function filled(seed: number, count: number): { index: IpIndex; prefixes: IndexPrefix[] } {
  const sample = createSample(seed);
  const index = createIpIndex(options);
  const prefixes: IndexPrefix[] = [];
  for (let i = 0; i < count; i++) {
    const prefix = sample.prefix(i % 2 === 0 ? 4 : 6);
    setReports(index.records, index.insert(prefix), i);
    if (i % 3 === 0) index.remove(prefix);
    else prefixes.push(prefix);
  }
  return { index, prefixes };
}

async function saved(
  name: string,
): Promise<{ path: string; index: IpIndex; prefixes: IndexPrefix[] }> {
  const path = join(directory, name);
  const { index, prefixes } = filled(1, 3000);
  const extra = new Map([
    ['contributions', Uint8Array.of(1, 2, 3)],
    ['empty', new Uint8Array(0)],
  ]);
  const result = await saveSnapshot(index, path, () => ({ sequence: 2n ** 63n + 5n, extra }));
  assert.ok(result.ok);
  return { path, index, prefixes };
}

test('a snapshot brings back entries, records, sequence and extra sections', async () => {
  const { path, index } = await saved('round-trip');
  const loaded = loadSnapshot(path, options);
  assert.ok(loaded.ok);
  assert.equal(loaded.value.sequence, 2n ** 63n + 5n);
  assert.deepEqual([...loaded.value.extra.keys()], ['contributions', 'empty']);
  assert.deepEqual([...loaded.value.extra.get('contributions')!], [1, 2, 3]);
  assert.deepEqual(contents(loaded.value.index), contents(index));
  assert.equal(loaded.value.index.size(), index.size());
});

test('a loaded index goes on as the saved one would, and gives all memory back', async () => {
  const { path, index, prefixes } = await saved('goes-on');
  assert.ok(index.stats().waiting > 0, 'something waits in limbo when it is saved');
  const loaded = loadSnapshot(path, options);
  assert.ok(loaded.ok);
  const copy = loaded.value.index;
  const sample = createSample(2);
  for (let i = 0; i < 2000; i++) {
    const prefix = sample.prefix(i % 2 === 0 ? 4 : 6);
    copy.insert(prefix);
    prefixes.push(prefix);
  }
  for (const prefix of sample.shuffle(prefixes)) copy.remove(prefix);
  copy.reclaim();
  assert.equal(copy.size(), 0);
  const fresh = createIpIndex(options).stats();
  assert.equal(copy.stats().touchedBytes - copy.image().keys.byteLength + 24, fresh.touchedBytes);
});

test('the file is of the moment of the capture, whatever changes before and after', async () => {
  const path = join(directory, 'moment');
  const { index } = filled(3, 500);
  let captured: string[] = [];
  const pending = saveSnapshot(index, path, () => {
    captured = contents(index);
    return { sequence: 0n, extra: new Map([['late', new Uint8Array(1 << 18).fill(7)]]) };
  });
  // More than the prepared memory has to spare.
  for (let i = 0; i < 5000; i++) index.insert(masked(4, [0x0b00_0000 + i * 3], 32));
  queueMicrotask(() => index.insert(masked(4, [0x0c00_0000], 32)));
  const result = await pending;
  assert.ok(result.ok);
  for (let i = 0; i < 5000; i++) index.remove(masked(4, [0x0b00_0000 + i * 3], 32));
  const loaded = loadSnapshot(path, options);
  assert.ok(loaded.ok);
  assert.ok(captured.length > 5000);
  assert.deepEqual(contents(loaded.value.index), captured);
  assert.deepEqual([...new Set(loaded.value.extra.get('late'))], [7]);
});

test('changes while the file is written are not in it', async () => {
  const path = join(directory, 'while-writing');
  const { index } = filled(6, 500);
  let captured: string[] = [];
  const result = await saveSnapshot(index, path, () => {
    captured = contents(index);
    setImmediate(() => {
      for (let i = 0; i < 5000; i++) index.insert(masked(4, [0x0b00_0000 + i * 3], 32));
    });
    return { sequence: 0n };
  });
  assert.ok(result.ok);
  assert.ok(contents(index).length > captured.length);
  const loaded = loadSnapshot(path, options);
  assert.ok(loaded.ok);
  assert.deepEqual(contents(loaded.value.index), captured);
});

test('an empty index survives too', async () => {
  const path = join(directory, 'empty');
  assert.ok((await saveSnapshot(createIpIndex(options), path, () => ({ sequence: 0n }))).ok);
  const loaded = loadSnapshot(path, options);
  assert.ok(loaded.ok);
  assert.equal(loaded.value.index.size(), 0);
  assert.equal(loaded.value.index.insert(masked(4, [1], 32)), 1);
});

test('every flipped bit and every cut is refused', async () => {
  const path = join(directory, 'damage');
  const { index } = filled(4, 40);
  const extra = new Map([['extra', Uint8Array.of(9)]]);
  assert.ok((await saveSnapshot(index, path, () => ({ sequence: 1n, extra }))).ok);
  const good = readFileSync(path);
  const bad = join(directory, 'damaged');
  const sample = createSample(5);
  const rootEnd = 32 + 9 * 48 + 4 * 65_536 * 4;
  // All of the head, all behind the root (which is mostly zeros), and a sample of the root.
  const positions = Array.from({ length: 64 }, () => sample.below(good.length));
  for (let i = 0; i < 32 + 9 * 48; i += 5) positions.push(i);
  for (let i = rootEnd; i < good.length; i += 97) positions.push(i);
  for (const position of positions) {
    const damaged = Buffer.from(good);
    damaged[position]! ^= 1 << sample.below(8);
    writeFileSync(bad, damaged);
    const loaded = loadSnapshot(bad, options);
    assert.ok(!loaded.ok && loaded.error === 'snapshot_unusable', `byte ${position}`);
  }
  for (const length of [0, 7, 31, 32, 100, 1000, rootEnd, good.length - 1]) {
    writeFileSync(bad, good.subarray(0, length));
    assert.equal(loadSnapshot(bad, options).ok, false, `cut at ${length}`);
  }
  writeFileSync(bad, Buffer.concat([good, Buffer.of(0)]));
  assert.equal(loadSnapshot(bad, options).ok, false, 'one byte more');
  writeFileSync(bad, good);
  assert.equal(loadSnapshot(bad, options).ok, true);
});

test('no file, a directory, and a table too small for the file are failures, not errors', async () => {
  const { path } = await saved('large');
  for (const result of [
    loadSnapshot(join(directory, 'absent'), options),
    loadSnapshot(directory, options),
    loadSnapshot(path, { entriesMax: 100 }),
  ]) {
    assert.ok(!result.ok);
    assert.equal(result.error, 'snapshot_unusable');
  }
});

test('a file that cannot be written is a failure and leaves the earlier one', async () => {
  const { path, index } = await saved('kept');
  const before = readFileSync(path);
  const result = await saveSnapshot(index, join(directory, 'no', 'such', 'folder'), () => ({
    sequence: 1n,
  }));
  assert.ok(!result.ok);
  assert.equal(result.error, 'snapshot_not_written');
  assert.deepEqual(readFileSync(path), before);
});

test('room that a reader held back between entries is room again, and after a start too', async () => {
  const nodeBytesMax = 1 << 20;
  const index = createIpIndex({ ...options, nodeBytesMax });
  const reader = openIpIndexReader(index.openReader()!);
  const before = index.stats().touchedBytes;
  const used = () => index.stats().touchedBytes - before;
  const lineBytes = 64;
  const keptLines = Math.ceil((CHANGE_WORDS_MAX + 65_536) / 16);
  const host = (i: number) => masked(4, [0x0a00_0000 + 256 * Math.floor(i / 40) + (i % 40)], 32);
  reader.enter();
  // Of forty copies of a node the last one stays: nowhere below the top is there room for all that an insertion leaves free.
  let count = 0;
  while (used() + lineBytes <= nodeBytesMax - keptLines * lineBytes)
    assert.ok(index.insert(host(count++)) > 0);
  reader.leave();
  index.reclaim();
  const path = join(directory, 'between');
  assert.ok((await saveSnapshot(index, path, () => ({ sequence: 1n }))).ok);
  const loaded = loadSnapshot(path, { ...options, nodeBytesMax });
  assert.ok(loaded.ok);
  for (const one of [index, loaded.value.index]) {
    for (let more = count; more < count + 200; more++) assert.ok(one.insert(host(more)) > 0);
    assert.equal(one.size(), count + 200);
  }
});
