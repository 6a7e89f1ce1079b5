/** Tables that an attacker would choose: memory per entry and work per change stay bounded. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { adversaries } from '../../bench/index-data.ts';
import { createIpIndex, type IpIndex } from '../../src/index/ip-index.ts';
import type { IndexPrefix } from '../../src/index/prefix.ts';
import { masked } from './golden.ts';

/** Roots apart: 1 MiB however many entries there are. */
function bytesPerEntry(index: IpIndex): number {
  return (index.stats().touchedBytes - (1 << 20)) / index.size();
}

for (const { name, bytesMax, prefixes } of adversaries(20_000)) {
  test(`${name}: at most ${bytesMax} bytes per entry, and all is given back`, () => {
    const index = createIpIndex({ entriesMax: 100_000 });
    const seen: IndexPrefix[] = [];
    for (const prefix of prefixes()) {
      if (index.get(prefix) === 0) seen.push(prefix);
      assert.ok(index.insert(prefix) > 0);
    }
    index.settle();
    assert.ok(bytesPerEntry(index) <= bytesMax, `${bytesPerEntry(index)} bytes`);
    for (const prefix of seen) assert.equal(index.find(prefix.family, prefix.words) > 0, true);
    for (const prefix of seen) assert.ok(index.remove(prefix));
    index.settle();
    assert.equal(index.size(), 0);
    const { liveBytes, waiting } = index.stats();
    const keyBytes = index.image().keys.byteLength - 24;
    assert.equal(liveBytes - keyBytes, createIpIndex({ entriesMax: 1 }).stats().liveBytes);
    assert.equal(waiting, 0);
  });
}

test('growing all nodes in step does not strand the blocks they leave', () => {
  const index = createIpIndex({ entriesMax: 300_000 });
  for (let host = 0; host < 200; host++) {
    for (let net = 0; net < 1000; net++) {
      index.insert(masked(4, [((net * 64_007) << 8) | host], 32));
    }
  }
  index.settle();
  const { liveBytes, touchedBytes } = index.stats();
  assert.ok(
    touchedBytes - (1 << 20) < 1.6 * (liveBytes - (1 << 20)),
    `${touchedBytes} of ${liveBytes}`,
  );
});

test('a prefix above a hundred thousand hosts is one change, seen in every chain', () => {
  const index = createIpIndex({ entriesMax: 200_000 });
  const hosts = Array.from({ length: 100_000 }, (_, i) => 0x0a00_0000 + i * 167);
  for (const host of hosts) index.insert(masked(4, [host], 32));
  const nodesBefore = index.stats().releasedNodes + index.stats().waiting;
  const top = index.insert(masked(4, [0x0a00_0000], 8));
  assert.equal(index.stats().releasedNodes + index.stats().waiting, nodesBefore);
  const chain = new Int32Array(33);
  for (const host of hosts) {
    assert.equal(index.covering4(host, chain), 2);
    assert.equal(chain[1], top);
  }
});
