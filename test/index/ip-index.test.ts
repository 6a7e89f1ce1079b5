/** The index against a golden table: look-ups, chains, exact gets and walks, under change. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { createIpIndex, type IpIndex } from '../../src/index/ip-index.ts';
import type { IndexPrefix } from '../../src/index/prefix.ts';
import { openIpIndexReader } from '../../src/index/reader.ts';
import { CHANGE_WORDS_MAX } from '../../src/index/trie/insert.ts';
import { COVERING_MAX } from '../../src/index/trie/layout.ts';
import { LOOKUPS_MAX } from '../../src/index/trie/lookup.ts';
import { createGolden, type Golden, masked, textOf } from './golden.ts';
import { chain, createSample, type Sample } from './sample.ts';

const small = { entriesMax: 50_000 };
const families = [4, 6] as const;
const out = new Int32Array(COVERING_MAX);

function checkAddress(index: IpIndex, golden: Golden, family: 4 | 6, words: Uint32Array): void {
  const expected = golden.covering(family, words);
  assert.equal(
    index.find(family, words),
    expected[0] ?? 0,
    `find ${textOf(masked(family, words, 128))}`,
  );
  const count = index.covering(family, words, out);
  assert.deepEqual([...out.subarray(0, count)], expected);
  if (family === 4) checkMany(index, golden, words[0]!);
}

const soles = new Int32Array(LOOKUPS_MAX);

/** Together with its neighbours: -1 only leaves it open, and nothing else may be said in place of what covers it. */
function checkMany(index: IpIndex, golden: Golden, address: number): void {
  const addresses = Uint32Array.of(address, address ^ 1, address ^ 0x100, address ^ 0x1_0000);
  index.sole4(addresses, addresses.length, soles);
  addresses.forEach((each, i) => {
    const covering = golden.covering(4, Uint32Array.of(each, 0, 0, 0));
    const sole = soles[i]!;
    if (sole >= 0) assert.deepEqual(sole === 0 ? [] : [sole], covering);
    else asMany++;
    if (sole > 0) alone++;
  });
}

let asMany = 0;
let alone = 0;
after(() => assert.ok(asMany > 1_000 && alone > 100));

function walked(index: IpIndex, within: IndexPrefix): string[] {
  const texts: string[] = [];
  index.walk(within, (entry) => texts.push(textOf(index.prefixOf(entry)!)));
  return texts;
}

/** Everything the golden table knows, and addresses beside it. */
function checkAll(index: IpIndex, golden: Golden, sample: Sample): void {
  assert.equal(index.size(), golden.entries.size);
  for (const { prefix, value } of golden.entries.values()) {
    assert.equal(index.get(prefix), value);
    assert.equal(textOf(index.prefixOf(value)!), textOf(prefix));
    const words = new Uint32Array(prefix.words.length);
    const length = index.readPrefix(value, words);
    assert.equal(textOf({ family: prefix.family, words, length }), textOf(prefix));
    checkAddress(index, golden, prefix.family, prefix.words);
  }
  for (const family of families) {
    for (let i = 0; i < 300; i++) checkAddress(index, golden, family, sample.address(family));
    const all = masked(family, new Uint32Array(4), 0);
    assert.deepEqual(walked(index, all), golden.within(all));
    for (let i = 0; i < 20; i++) {
      const within = sample.prefix(family);
      assert.deepEqual(walked(index, within), golden.within(within), textOf(within));
    }
  }
}

function insert(index: IpIndex, golden: Golden, prefix: IndexPrefix): void {
  const entry = index.insert(prefix);
  assert.ok(entry > 0);
  golden.set(prefix, entry);
}

for (const seed of [1, 2, 3, 4, 5, 6]) {
  test(`random insertions and removals agree with the golden table (seed ${seed})`, () => {
    const sample = createSample(seed);
    const index = createIpIndex(small);
    const golden = createGolden();
    for (let round = 0; round < 12; round++) {
      const changes = sample.below(500);
      const isGrowing = round % 3 !== 2;
      for (let i = 0; i < changes; i++) {
        const known = [...golden.entries.values()];
        if (known.length > 0 && sample.next() < (isGrowing ? 0.2 : 0.9)) {
          const { prefix } = known[sample.below(known.length)]!;
          assert.equal(index.remove(prefix), true);
          assert.equal(golden.delete(prefix), true);
        } else insert(index, golden, sample.prefix(sample.next() < 0.5 ? 4 : 6));
      }
      checkAll(index, golden, sample);
    }
  });
}

test('removing in another order takes every insertion back, to the last word', () => {
  const sample = createSample(7);
  const index = createIpIndex(small);
  const empty = index.stats();
  const prefixes = new Map<string, IndexPrefix>();
  for (let i = 0; i < 5000; i++) {
    const prefix = sample.prefix(i % 2 === 0 ? 4 : 6);
    prefixes.set(textOf(prefix), prefix);
  }
  for (const prefix of sample.shuffle([...prefixes.values()])) index.insert(prefix);
  assert.equal(index.size(), prefixes.size);
  for (const prefix of sample.shuffle([...prefixes.values()])) assert.ok(index.remove(prefix));
  index.reclaim();
  const stats = index.stats();
  assert.equal(index.size(), 0);
  assert.equal(stats.waiting, 0);
  const keyBytes = 24 * [...prefixes.values()].filter(({ family }) => family === 6).length;
  assert.equal(stats.liveBytes - keyBytes, empty.liveBytes);
  // All blocks are free, so they have coalesced into nothing.
  assert.equal(stats.touchedBytes - keyBytes, empty.touchedBytes);
});

test('the order of insertion does not matter', () => {
  const sample = createSample(8);
  const prefixes = Array.from({ length: 800 }, (_, i) => sample.prefix(i % 2 === 0 ? 4 : 6));
  for (let round = 0; round < 4; round++) {
    const index = createIpIndex(small);
    const golden = createGolden();
    for (const prefix of sample.shuffle(prefixes)) insert(index, golden, prefix);
    checkAll(index, golden, sample);
  }
});

for (const family of families) {
  const ends = [new Uint32Array(4), new Uint32Array(4).fill(0xffff_ffff)];
  test(`nested prefixes of every length at both ends of IPv${family}`, () => {
    const sample = createSample(9);
    const index = createIpIndex(small);
    const golden = createGolden();
    const nested = ends.flatMap((words) => chain(family, words));
    for (const prefix of sample.shuffle(nested)) insert(index, golden, prefix);
    for (const words of ends) {
      checkAddress(index, golden, family, words);
      assert.equal(index.covering(family, words, out), family === 4 ? 33 : 129);
    }
    checkAll(index, golden, sample);
    for (const prefix of sample.shuffle(nested)) {
      golden.delete(prefix);
      index.remove(prefix);
      for (const words of ends) checkAddress(index, golden, family, words);
    }
    assert.equal(index.size(), 0);
  });
}

test('an address outside every entry finds nothing, also beside hosts', () => {
  const index = createIpIndex(small);
  const host = index.insert(masked(4, [0xffff_ffff], 32));
  assert.equal(index.find4(0xffff_ffff), host);
  assert.equal(index.find4(-1), host);
  for (const address of [0, 0xffff_fffe, 0xffff_fefe, 0x7fff_ffff]) {
    assert.equal(index.find4(address), 0);
  }
  assert.equal(index.find6(-1, -1, -1, -1), 0);
});

test('a second insertion returns the same entry and leaves its record alone', () => {
  const index = createIpIndex(small);
  const prefix = masked(4, [0x0a00_0000], 8);
  const entry = index.insert(prefix, (fresh) => {
    assert.equal(index.find4(0x0a01_0203), 0, 'not found before it is filled');
    index.records.float[fresh << 3] = 1.5;
  });
  assert.equal(
    index.insert(prefix, () => assert.fail('filled twice')),
    entry,
  );
  assert.equal(index.records.float[entry << 3], 1.5);
  assert.equal(index.remove(prefix), true);
  assert.equal(index.remove(prefix), false);
  assert.equal(index.prefixOf(entry) !== undefined, true, 'readable until it is released');
  index.reclaim();
  assert.equal(index.prefixOf(entry), undefined);
  assert.equal(index.readPrefix(entry, new Uint32Array(4)), -1);
});

test('a prefix with bits past its length or a length out of range is a bug of the caller', () => {
  const index = createIpIndex(small);
  for (const bad of [
    { family: 4 as const, words: Uint32Array.of(0x0a00_0001), length: 31 },
    { family: 4 as const, words: Uint32Array.of(0), length: 33 },
    { family: 4 as const, words: Uint32Array.of(0), length: -1 },
    { family: 6 as const, words: Uint32Array.of(0, 0, 0), length: 64 },
    { family: 6 as const, words: Uint32Array.of(0, 0, 0, 1), length: 64 },
  ]) {
    assert.throws(() => index.insert(bad), RangeError);
  }
});

test('a full table refuses with 0 and keeps answering; a removal makes room', () => {
  const index = createIpIndex({ entriesMax: 100 });
  for (let i = 0; i < 100; i++) assert.ok(index.insert(masked(4, [i << 8], 32)) > 0);
  assert.equal(index.insert(masked(4, [0x0100_0000], 32)), 0);
  assert.ok(index.find4(5 << 8) > 0);
  assert.equal(index.remove(masked(4, [5 << 8], 32)), true);
  assert.ok(index.insert(masked(4, [0x0100_0000], 32)) > 0);
  assert.equal(index.insert(masked(4, [0x0200_0000], 32)), 0);
});

test('a full node arena refuses with 0, and removals still work to the end', () => {
  const index = createIpIndex({ entriesMax: 200_000, nodeBytesMax: 1 << 20 });
  const hosts: IndexPrefix[] = [];
  for (let i = 0; i < 200_000; i++) {
    // Two hosts that part in the last byte: the costliest kind.
    const host = masked(6, [0x2001_0000 + (i >> 1), 0, i >> 1, i & 1], 128);
    if (index.insert(host) === 0) break;
    hosts.push(host);
  }
  assert.ok(hosts.length > 5_000 && hosts.length < 200_000);
  for (const host of hosts) assert.ok(index.find(6, host.words) > 0);
  for (const host of hosts) assert.equal(index.remove(host), true);
  assert.ok(index.insert(hosts[0]!) > 0);
});

test('a walk in slices meets every lasting entry once and in order, whatever changes meanwhile', () => {
  const sample = createSample(10);
  for (const family of families) {
    const index = createIpIndex(small);
    const golden = createGolden();
    for (let i = 0; i < 1500; i++) insert(index, golden, sample.prefix(family));
    const kept = golden.within(masked(family, new Uint32Array(4), 0));
    const added = new Set<string>();
    const all = masked(family, new Uint32Array(4), 0);
    const seen: string[] = [];
    let after: IndexPrefix | undefined;
    do {
      after = index.walk(all, (entry) => seen.push(textOf(index.prefixOf(entry)!)), {
        after,
        limit: 7,
      });
      const prefix = sample.prefix(family);
      if (index.get(prefix) === 0) {
        index.insert(prefix);
        added.add(textOf(prefix));
      }
      if (sample.next() < 0.5 && after !== undefined) {
        // The position itself may go.
        if (added.has(textOf(after)) || golden.has(after)) index.remove(after);
      }
    } while (after !== undefined);
    // What was added, if only again after a removal, may be seen or not.
    const isSteady = (text: string) => !added.has(text);
    assert.deepEqual(seen.filter(isSteady), kept.filter(isSteady));
    assert.ok(kept.filter(isSteady).length > 500);
  }
});

test('a walk must not change the index', () => {
  const index = createIpIndex(small);
  const all = masked(4, [0], 0);
  index.insert(all);
  assert.throws(() => index.walk(all, () => void index.remove(all)), /walk/);
  assert.equal(index.remove(all), true);
});

test("a reader looks up only between enter and leave, and sees the owner's entries", async () => {
  const index = createIpIndex(small);
  const handle = index.openReader()!;
  const reader = openIpIndexReader(handle);
  const prefix = masked(4, [0xc000_0200], 24);
  assert.throws(() => reader.find4(0xc000_0201), /enter/);
  reader.enter();
  const entry = index.insert(prefix);
  assert.equal(reader.find4(0xc000_0201), entry);
  assert.equal(reader.get(prefix), entry);
  assert.equal(reader.size(), 1);
  index.remove(prefix);
  index.reclaim();
  assert.equal(index.stats().waiting, 1, 'held back by the open request');
  reader.leave();
  index.reclaim();
  assert.equal(index.stats().waiting, 0);
  reader.enter();
  index.insert(prefix);
  index.remove(prefix);
  index.closeReader(handle);
  index.reclaim();
  assert.equal(index.stats().waiting, 0, 'a closed reader holds nothing back');
});

test('64 readers at most', () => {
  const index = createIpIndex(small);
  const handles = Array.from({ length: 64 }, () => index.openReader()!);
  assert.equal(new Set(handles.map(({ reader }) => reader)).size, 64);
  assert.equal(index.openReader(), undefined);
  index.closeReader(handles[5]!);
  assert.equal(index.openReader()!.reader, 5);
});

test('a full arena that only waits for a reader gives way when the reader does', async () => {
  const index = createIpIndex({ entriesMax: 100, nodeBytesMax: 1 << 20 });
  const handle = index.openReader()!;
  // Another thread enters, and leaves a while later.
  const worker = new Worker(new URL('./slow-reader.worker.js', import.meta.url), {
    workerData: handle,
    execArgv: [],
  });
  await once(worker, 'message');
  const net = Array.from({ length: 60 }, (_, host) => masked(4, [0x0a00_0000 + host], 32));
  for (const prefix of net) assert.ok(index.insert(prefix) > 0);
  // Far more copies than the arena holds.
  for (let round = 0; round < 100; round++) {
    for (const prefix of net) {
      assert.equal(index.remove(prefix), true);
      assert.ok(index.insert(prefix) > 0);
    }
  }
  await worker.terminate();
});

test('what a reader held back is room again, wherever it lies', () => {
  const nodeBytesMax = 1 << 20;
  const index = createIpIndex({ entriesMax: 50_000, nodeBytesMax });
  const reader = openIpIndexReader(index.openReader()!);
  const host = masked(4, [0x0a00_0001], 32);
  const before = index.stats().touchedBytes;
  const used = () => index.stats().touchedBytes - before;
  const lineBytes = 64;
  const keptLines = Math.ceil((CHANGE_WORDS_MAX + 65_536) / 16);
  for (const other of [0x0a00_0002, 0x0a00_0003]) index.insert(masked(4, [other], 32));
  reader.enter();
  // Until what an insertion leaves free begins. The last copy, in use, lies there; what is below waits.
  while (used() + lineBytes <= nodeBytesMax - keptLines * lineBytes) {
    assert.ok(index.insert(host) > 0);
    assert.ok(index.remove(host));
  }
  reader.leave();
  assert.ok(index.insert(host) > 0);
  assert.ok(index.find4(0x0a00_0001) > 0 && index.find4(0x0a00_0002) > 0);
});

test('a number that is lost with an insertion that failed is not replaced by none', () => {
  const index = createIpIndex({ entriesMax: 1 });
  const [first, second] = [1, 2].map((host) => masked(4, [host], 32));
  assert.throws(() => index.insert(first!, () => assert.fail('no record')));
  assert.equal(index.insert(second!), 0);
  assert.equal(index.size(), 0);
});
