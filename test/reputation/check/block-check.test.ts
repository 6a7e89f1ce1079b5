/** The reported hosts of a network, against a plain list, while the trie changes under the walk. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { SliceScheduler } from '../../../src/core/scheduling.ts';
import { packMeta, setMeta, setReportedAt, setReports } from '../../../src/index/records.ts';
import { type Prefix, parsePrefix } from '../../../src/ip/prefix.ts';
import { blockHostsMax, createBlockCheck } from '../../../src/reputation/check/block-check.ts';
import type { ReportStore } from '../../../src/reputation/reports/store/report-store.ts';
import { manualClock, seededRandom } from '../../support/seeded.ts';
import { openFold } from '../state/fixture.ts';

const now = Date.UTC(2026, 10, 21);
const daySeconds = 86_400;
const nowSeconds = now / 1_000;

function prefix(text: string): Prefix {
  const parsed = parsePrefix(text, 'mask');
  assert.ok(parsed.ok, text);
  return parsed.value;
}

interface Host {
  readonly text: string;
  readonly reports: number;
  readonly score: number;
  /** Days before now. */
  readonly first: number;
  readonly last: number;
}

function world(entriesMax = 20_000) {
  const { index, check } = openFold({ entriesMax, contributionsMax: entriesMax });
  const counted: string[] = [];
  let slices = 0;
  let betweenSlices = (): void => {};
  /** Each look at the clock finds the turn over. */
  const scheduler: SliceScheduler = {
    async yield() {
      slices++;
      betweenSlices();
    },
    beginSlice() {},
    shouldYield: () => true,
    workedMs: () => 0,
  };
  const inStore = new Map<number, number>();
  const reports: Pick<ReportStore, 'count'> = {
    async count(_family, words, _since, limit, goOn) {
      if (!(await goOn())) return 0;
      counted.push(String(words[0]));
      return Math.min(limit, inStore.get(words[0]!) ?? 0);
    },
  };
  const blockCheck = createBlockCheck({
    index,
    check,
    reports: reports as ReportStore,
    clock: manualClock(now),
    scheduler,
  });
  return {
    index,
    inStore,
    counted,
    slices: () => slices,
    onSlice(callback: () => void) {
      betweenSlices = callback;
    },
    put({ text, reports: count, score, first, last }: Host): void {
      index.insert(prefix(text), (entry) => {
        setMeta(index.records, entry, packMeta(score, 0, 0, 0));
        setReports(index.records, entry, count);
        setReportedAt(
          index.records,
          entry,
          nowSeconds - first * daySeconds,
          nowSeconds - last * daySeconds,
        );
      });
    },
    async find(network: string, days = 30, mayGoOn = () => true, isWanted = () => true) {
      const since = now - days * daySeconds * 1_000;
      return blockCheck.find(prefix(network), { since, mayGoOn, isWanted });
    },
    async reported(network: string, days = 30): Promise<[number, number, number][]> {
      const found = await this.find(network, days);
      assert.ok(found.ok);
      return found.value.map(({ words, score, reports: n }) => [words[0]! & 0xffff, score, n]);
    },
  };
}

describe('check of a block', () => {
  it('gives the hosts reported in time, the worst first, and nothing else', async () => {
    const w = world();
    w.put({ text: '8.8.0.1', reports: 3, score: 40, first: 5, last: 1 });
    w.put({ text: '8.8.0.2', reports: 1, score: 90, first: 5, last: 5 });
    w.put({ text: '8.8.0.3', reports: 2, score: 40, first: 5, last: 0 });
    w.put({ text: '8.8.0.4', reports: 0, score: 99, first: 0, last: 0 });
    w.put({ text: '8.8.0.5', reports: 9, score: 40, first: 60, last: 31 });
    w.put({ text: '8.8.0.0/24', reports: 7, score: 10, first: 1, last: 1 });
    w.put({ text: '8.7.255.255', reports: 7, score: 80, first: 1, last: 1 });
    w.put({ text: '8.9.0.0', reports: 7, score: 80, first: 1, last: 1 });
    assert.deepEqual(await w.reported('8.8.0.0/16'), [
      [2, 90, 1],
      [3, 40, 2],
      [1, 40, 3],
    ]);
    assert.deepEqual(await w.reported('8.8.0.2/31'), [
      [2, 90, 1],
      [3, 40, 2],
    ]);
    assert.deepEqual(await w.reported('8.8.1.0/24'), []);
    assert.deepEqual(w.counted, [], 'the store is asked only when some reports are too old');
  });

  it('ends once nobody waits for it, in the walk and in the counting', async () => {
    const w = world();
    for (let i = 0; i < 2_000; i++) {
      const text = `8.8.${i >> 8}.${i & 255}`;
      w.put({ text, reports: 3, score: 50, first: 100, last: 1 });
      w.inStore.set(prefix(text).words[0]!, 1);
    }
    let asked = 0;
    await w.find('8.8.0.0/16', 30, undefined, () => ++asked < 3);
    assert.equal(asked, 3);
    assert.deepEqual(w.counted, []);
    await w.find('8.8.0.0/16', 30, undefined, () => w.counted.length < 5);
    assert.equal(w.counted.length, 5);
  });

  it('counts in the store where some reports are older, and drops what has none in time', async () => {
    const w = world();
    w.put({ text: '8.8.0.1', reports: 30, score: 80, first: 100, last: 1 });
    w.put({ text: '8.8.0.2', reports: 30, score: 70, first: 100, last: 1 });
    w.inStore.set(prefix('8.8.0.1').words[0]!, 4);
    assert.deepEqual(await w.reported('8.8.0.0/24'), [[1, 80, 4]]);
    assert.equal(w.counted.length, 2);
    assert.deepEqual(await w.reported('8.8.0.0/24', 365), [
      [1, 80, 30],
      [2, 70, 30],
    ]);
    assert.equal(w.counted.length, 2);
  });

  it(`keeps the worst ${blockHostsMax} of more`, async () => {
    const seed = 77;
    const random = seededRandom(seed);
    const w = world();
    const all: [number, number][] = [];
    for (let i = 0; i < blockHostsMax + 3_000; i++) {
      const score = Math.floor(random.next() * 100);
      w.put({ text: `8.8.${i >> 8}.${i & 255}`, reports: 1, score, first: 1, last: 1 });
      all.push([i, score]);
    }
    const expected = all.sort((a, b) => b[1] - a[1] || a[0] - b[0]).slice(0, blockHostsMax);
    const found = await w.reported('8.8.0.0/16');
    assert.deepEqual(
      found.map(([host, score]) => [host, score]),
      expected,
      `seed ${seed}`,
    );
  });

  it('ends when it may not go on, after each thousand entries', async () => {
    const w = world();
    for (let i = 0; i < 3_500; i++)
      w.put({ text: `8.8.${i >> 8}.${i & 255}`, reports: 1, score: 1, first: 1, last: 1 });
    let asked = 0;
    const all = await w.find('8.8.0.0/16', 30, () => ++asked > 0);
    assert.equal(all.ok && all.value.length, 3_500);
    assert.equal(asked, 3);
    asked = 0;
    const ended = await w.find('8.8.0.0/16', 30, () => ++asked < 2);
    assert.equal(ended.ok ? 'ok' : ended.error, 'quota_exceeded');
    assert.equal(asked, 2);
  });

  for (const network of ['8.8.0.0/16', '2a00:1450:4001::/48']) {
    it(`misses no host of ${network} that stays, while others come and go`, async () => {
      const seed = 4_711;
      const random = seededRandom(seed);
      const w = world();
      const isV4 = network.startsWith('8');
      const text = (i: number) =>
        isV4 ? `8.8.${i >> 8}.${i & 255}` : `2a00:1450:4001:${(i & 7).toString(16)}::${i}`;
      const host = (i: number) =>
        w.put({ text: text(i), reports: 1, score: 50, first: 1, last: 1 });
      // Even ones stay, odd ones come and go between any two slices.
      for (let i = 0; i < 8_000; i++) host(i);
      w.onSlice(() => {
        for (let n = 0; n < 400; n++) {
          const i = 2 * Math.floor(random.next() * 4_000) + 1;
          if (!w.index.remove(prefix(text(i)))) host(i);
        }
        w.index.reclaim();
      });
      const found = await w.find(network);
      assert.ok(found.ok);
      assert.ok(w.slices() > 20, `${w.slices()} slices`);
      const seen = new Set(found.value.map(({ words }) => [...words].join()));
      assert.equal(seen.size, found.value.length, `twice, seed ${seed}`);
      for (let i = 0; i < 8_000; i += 2) {
        const { words } = prefix(text(i));
        assert.ok(seen.has([...words].join()), `${text(i)} is missing, seed ${seed}`);
      }
    });
  }
});
