/** Tables that an attacker would choose: memory per entry and work per change stay bounded. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { prefix4, prefix6 } from '../../bench/index-table.ts';
import { createIpIndex, type IpIndex } from '../../src/index/ip-index.ts';
import type { IndexPrefix } from '../../src/index/prefix.ts';
import { masked } from './golden.ts';

interface Adversary {
  readonly name: string;
  /** Bytes per entry that nodes and key blocks may take; records and roots apart. */
  readonly bytesMax: number;
  prefixes(): Iterable<IndexPrefix>;
}

/** Sets of about `count` prefixes made to waste memory or time. */
function adversaries(count: number): Adversary[] {
  return [
    {
      name: 'one host in each of many /24s',
      bytesMax: 20,
      *prefixes() {
        for (let i = 0; i < count; i++) yield prefix4((i << 8) | (i & 255), 32);
      },
    },
    {
      name: 'two hosts in each of many /24s',
      bytesMax: 50,
      *prefixes() {
        for (let i = 0; i < count; i++) yield prefix4(((i >> 1) << 8) | (i & 1), 32);
      },
    },
    {
      name: 'two /25s in each of many /24s, apart',
      bytesMax: 80,
      *prefixes() {
        for (let i = 0; i < count; i++) yield prefix4(((i >> 1) << 16) | ((i & 1) << 7), 25);
      },
    },
    {
      name: 'IPv4 chains of every length',
      bytesMax: 30,
      *prefixes() {
        for (let i = 0; i < count; i++) yield prefix4(Math.imul(i >> 5, 0x9e37_79b1), 1 + (i & 31));
      },
    },
    {
      name: 'IPv6 chains of every length',
      bytesMax: 80,
      *prefixes() {
        for (let i = 0; i < count; i++) {
          const hash = Math.imul(i >> 7, 0x9e37_79b1);
          yield prefix6([hash, hash ^ -1, hash, hash ^ -1], 1 + (i & 127));
        }
      },
    },
    {
      name: 'deep IPv6 siblings',
      bytesMax: 120,
      *prefixes() {
        for (let i = 0; i < count; i++) {
          const hash = Math.imul(i >> 1, 0x9e37_79b1);
          yield prefix6([0x2001_0db8, hash, hash ^ -1, i & 1], 128);
        }
      },
    },
    {
      name: 'IPv6 prefixes that part in the last byte of their length',
      bytesMax: 160,
      *prefixes() {
        for (let i = 0; i < count; i++) {
          const hash = Math.imul(i >> 1, 0x9e37_79b1);
          yield prefix6([0x2001_0db8, hash, hash ^ -1, (i & 1) << 7], 121 + (i & 1));
        }
      },
    },
  ];
}

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
    index.reclaim();
    assert.ok(bytesPerEntry(index) <= bytesMax, `${bytesPerEntry(index)} bytes`);
    for (const prefix of seen) assert.equal(index.find(prefix.family, prefix.words) > 0, true);
    for (const prefix of seen) assert.ok(index.remove(prefix));
    index.reclaim();
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
  index.reclaim();
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
