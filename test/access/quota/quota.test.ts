/** Quotas by a clock that the test moves: the real minute against a slow, plainly right model. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAccountsTable } from '../../../src/access/accounts/accounts-table.ts';
import { createQuotaMemory, openQuotas, quotaKind } from '../../../src/access/quota/quota.ts';
import type { Clock } from '../../../src/core/clock.ts';
import { seededRandom } from '../../support/seeded.ts';

const epochMs = 1_750_000_000_000;

/** Stands at `ms`; may be set back, as a thread that slept would see it. */
function settableClock(startMs: number): Clock & { ms: number } {
  const clock = { ms: startMs, now: () => epochMs + clock.ms, monotonicMs: () => clock.ms };
  return clock;
}

function setUp(readPerMinute: number, startMs = 5_000) {
  const clock = settableClock(startMs);
  const accounts = createAccountsTable(8);
  for (let slot = 0; slot < 8; slot++) {
    accounts.set(slot, { readPerMinute, writePerMinute: 3, trust: 0, disabled: false });
  }
  const handle = createQuotaMemory(8);
  const quotas = openQuotas({ handle, accounts, clock });
  return { clock, accounts, handle, quotas };
}

test('the limit is admitted at once, and one more is refused for at most 60 seconds', () => {
  const { quotas, clock } = setUp(1_000);
  for (let i = 0; i < 1_000; i++) {
    assert.ok(quotas.take(0, quotaKind.read, 1, clock.ms), `request ${i}`);
    assert.equal(quotas.remaining, 999 - i);
  }
  assert.equal(quotas.take(0, quotaKind.read, 1, clock.ms), false);
  assert.deepEqual([quotas.limit, quotas.remaining, quotas.retryAfterSeconds], [1_000, 0, 60]);
  assert.equal(quotas.resetSecond, (epochMs + 5_000) / 1_000 + 60);
  clock.ms += 59_999;
  assert.equal(quotas.take(0, quotaKind.read, 1, clock.ms), false);
  assert.equal(quotas.retryAfterSeconds, 1);
  clock.ms += 1;
  assert.ok(quotas.take(0, quotaKind.read, 1_000, clock.ms));
});

test('refused requests do not prolong the wait', () => {
  const { quotas, clock } = setUp(10);
  assert.ok(quotas.take(0, quotaKind.read, 10, clock.ms));
  for (let i = 0; i < 599; i++) {
    clock.ms += 100;
    assert.equal(quotas.take(0, quotaKind.read, 1, clock.ms), false);
  }
  clock.ms += 100;
  assert.ok(quotas.take(0, quotaKind.read, 10, clock.ms));
});

test('a bulk request is refused whole when less is left', () => {
  const { quotas, clock } = setUp(100);
  assert.ok(quotas.take(0, quotaKind.read, 60, clock.ms));
  assert.equal(quotas.take(0, quotaKind.read, 41, clock.ms), false);
  assert.equal(quotas.remaining, 40);
  assert.ok(quotas.take(0, quotaKind.read, 40, clock.ms));
  assert.equal(quotas.take(1, quotaKind.read, 101, clock.ms), false);
  assert.deepEqual([quotas.remaining, quotas.retryAfterSeconds], [100, 60]);
});

test('accounts and kinds do not share', () => {
  const { quotas, clock } = setUp(2);
  assert.ok(quotas.take(0, quotaKind.read, 2, clock.ms));
  assert.ok(quotas.take(0, quotaKind.write, 3, clock.ms));
  assert.ok(quotas.take(1, quotaKind.read, 2, clock.ms));
  assert.equal(quotas.take(0, quotaKind.write, 1, clock.ms), false);
});

test('a thread that slept is judged for a moment inside its call', () => {
  const { quotas, clock, handle, accounts } = setUp(2, 59_900);
  const sleeper = openQuotas({ handle, accounts, clock });
  const readBeforeSleep = clock.ms;
  clock.ms = 200_500;
  assert.ok(quotas.take(0, quotaKind.read, 1, clock.ms));
  assert.ok(sleeper.take(0, quotaKind.read, 1, readBeforeSleep));
  assert.equal(sleeper.countedAtMs, 200_500);
  assert.equal(quotas.take(0, quotaKind.read, 1, clock.ms + 59_999), false);
});

test('random spending is admitted exactly when the last 240 buckets leave room', () => {
  for (let seed = 1; seed <= 30; seed++) replay(seed);
});

/** Clock jumps from milliseconds to days, late readings, changing limits, bulk costs. */
function replay(seed: number): void {
  const random = seededRandom(seed);
  const below = (n: number) => Math.floor(random.next() * n);
  const jumps = [0, 1, 7, 100, 249, 250, 5_000, 59_750, 60_000, 60_250, 64_000, 128_000];
  const { quotas, clock, accounts } = setUp(40, below(5_000_000));
  const models = Array.from({ length: 4 }, () => ({ newest: 0, spent: new Map<number, number>() }));
  let limit = 40;
  for (let step = 0; step < 3_000; step++) {
    const jump = below(100);
    if (jump < 60) clock.ms += jumps[below(5)]!;
    else if (jump < 97) clock.ms += below(2_000);
    else if (jump < 99) clock.ms += jumps[below(jumps.length)]!;
    else clock.ms += 64_000 * below(2_000) + below(3) * 1_000;
    if (below(200) === 0) {
      limit = below(80);
      for (let slot = 0; slot < 4; slot++) {
        accounts.set(slot, { readPerMinute: limit, writePerMinute: 0, trust: 0, disabled: false });
      }
    }
    const slot = below(4);
    const model = models[slot]!;
    const nowMs = below(20) === 0 ? Math.max(0, clock.ms - below(3_000)) : clock.ms;
    const cost = below(10) === 0 ? below(50) : 1;
    const bucket = Math.max(Math.floor(nowMs / 250), model.newest);
    model.newest = bucket;
    const used = (from: number) => {
      let sum = 0;
      for (const [at, count] of model.spent) {
        if (at < bucket - 800) model.spent.delete(at);
        else if (at >= from - 239) sum += count;
      }
      return sum;
    };
    const where = `seed ${seed} step ${step}`;
    const before = used(bucket);
    const admitted = quotas.take(slot, quotaKind.read, cost, nowMs);
    assert.equal(admitted, before + cost <= limit, where);
    if (admitted) model.spent.set(bucket, (model.spent.get(bucket) ?? 0) + cost);
    const after = used(bucket);
    assert.equal(quotas.limit, limit, where);
    assert.equal(quotas.remaining, Math.max(0, limit - after), where);
    assert.equal(quotas.countedAtMs, Math.max(nowMs, bucket * 250), where);
    const counted = [...model.spent].filter(([at, n]) => at >= bucket - 239 && n > 0);
    const oldest = Math.min(...counted.map(([at]) => at));
    const leaves = Math.ceil((epochMs + (oldest + 240) * 250) / 1_000);
    if (after > 0) assert.equal(quotas.resetSecond, leaves, where);
    if (admitted) {
      assert.equal(quotas.retryAfterSeconds, 0, where);
    } else if (cost <= limit) {
      const wait = quotas.retryAfterSeconds;
      const then = Math.floor((quotas.countedAtMs + wait * 1_000) / 250);
      assert.ok(
        wait >= 1 && wait <= 60 && used(then) + cost <= limit,
        `${where}: waiting ${wait} s is not enough`,
      );
      const earlier = Math.floor((quotas.countedAtMs + (wait - 1) * 1_000) / 250);
      assert.ok(wait === 1 || used(earlier) + cost > limit, `${where}: ${wait} s is too long`);
    }
  }
}

test('whoever spreads what he may over the minute is never refused', () => {
  for (const [limit, perMinute] of [
    [1_000, 995],
    [1_000, 1_000],
    [60, 60],
    [7, 7],
    [3_000, 2_999],
  ] as const) {
    const { quotas, clock } = setUp(limit, 5_123);
    const first = clock.ms;
    for (let i = 0; i < perMinute * 4; i++) {
      clock.ms = first + (i * 60_000) / perMinute;
      assert.ok(quotas.take(0, quotaKind.read, 1, clock.ms), `${perMinute} of ${limit}: ${i}`);
    }
  }
});

/**
 * The promise itself, by moments and without buckets: what leaves room in the last 60 s is admitted,
 * and no 60 s hold more than the limit and what was admitted in one quarter of a second.
 */
test('random spending keeps the promise of any 60 seconds', () => {
  for (let seed = 1; seed <= 30; seed++) {
    const random = seededRandom(seed);
    const below = (n: number) => Math.floor(random.next() * n);
    const limit = 1 + below(60);
    const { quotas, clock } = setUp(limit, below(1_000_000));
    const admitted: { atMs: number; cost: number }[] = [];
    const spentAfter = (ms: number) =>
      admitted.reduce((sum, one) => sum + (one.atMs > ms ? one.cost : 0), 0);
    const pauses = [0, 1, 60, 240, 60_000 / limit, 30_000, 59_999, 60_000];
    const mostlyPaused = pauses[below(5)]!;
    for (let step = 0; step < 2_000; step++) {
      clock.ms += below(10) > 0 ? mostlyPaused : pauses[below(pauses.length)]! * random.next() * 2;
      const cost = below(20) === 0 ? below(limit + 3) : 1;
      const isRoom = spentAfter(clock.ms - 60_000) + cost <= limit;
      const isAdmitted = quotas.take(0, quotaKind.read, cost, clock.ms);
      const where = `seed ${seed} step ${step}`;
      assert.ok(isAdmitted || !isRoom, `${where}: refused with room`);
      assert.ok(quotas.retryAfterSeconds <= 60, where);
      if (!isAdmitted) continue;
      admitted.push({ atMs: clock.ms, cost });
      const over = spentAfter(clock.ms - 60_000) - limit;
      if (over <= 0) continue;
      const perBucket = new Map<number, number>();
      for (const one of admitted) {
        const bucket = Math.floor(one.atMs / 250);
        perBucket.set(bucket, (perBucket.get(bucket) ?? 0) + one.cost);
      }
      const oldest = Math.floor((clock.ms - 60_000) / 250);
      assert.ok(over <= (perBucket.get(oldest) ?? 0), `${where}: ${over} more than a bucket holds`);
    }
  }
});

test('the running total may wrap', () => {
  const { quotas, clock, handle } = setUp(1_000);
  const words = new Int32Array(handle.buffer);
  words[0] = -500;
  for (let round = 0; round < 3; round++) {
    assert.ok(quotas.take(0, quotaKind.read, 999, clock.ms));
    assert.equal(quotas.take(0, quotaKind.read, 2, clock.ms), false);
    assert.ok(quotas.take(0, quotaKind.read, 1, clock.ms));
    clock.ms += 60_000;
  }
  assert.ok(words[0]! > 0);
});

test('a ring word that a sleeper of over a minute left behind only makes the quota stricter', () => {
  const { quotas, clock, handle } = setUp(10);
  const words = new Int32Array(handle.buffer);
  assert.ok(quotas.take(0, quotaKind.read, 4, clock.ms));
  clock.ms += 2_000;
  assert.ok(quotas.take(0, quotaKind.read, 4, clock.ms));
  // The word of the bucket 239 before, as of one turn of the ring earlier.
  const bucket = Math.floor(clock.ms / 250) + 512 - 239;
  words[16 + (bucket & 255)] = (((bucket >>> 8) - 1) << 26) | 0;
  assert.equal(quotas.take(0, quotaKind.read, 1, clock.ms), false);
  clock.ms += 250;
  assert.ok(quotas.take(0, quotaKind.read, 1, clock.ms));
});

test('a ring word from the future moves a sleeper up to it', () => {
  const { quotas, clock, handle } = setUp(10);
  const words = new Int32Array(handle.buffer);
  assert.ok(quotas.take(0, quotaKind.read, 10, clock.ms));
  const first = Math.floor(clock.ms / 250) + 512 - 239;
  // Somebody with a clock 256 − 239 buckets ahead is about to open that bucket.
  words[16 + ((first + 256) & 255)] = (((first + 256) >>> 8) << 26) | 10;
  assert.equal(quotas.take(0, quotaKind.read, 1, clock.ms), false);
  assert.equal(quotas.countedAtMs, clock.ms - (clock.ms % 250) + 17 * 250);
  assert.equal(quotas.remaining, 0);
});

/**
 * Three spenders of one quota, each put to sleep before a random one of its atomic operations
 * while the next spends, up to minutes later. Plain loads in between are not interrupted.
 */
test('whoever sleeps before an atomic operation exceeds no window', (t) => {
  for (let seed = 1; seed <= 20; seed++) {
    const random = seededRandom(seed);
    const below = (n: number) => Math.floor(random.next() * n);
    const limit = 5;
    const { clock, handle, accounts } = setUp(limit);
    const spenders = [0, 1, 2].map(() => openQuotas({ handle, accounts, clock }));
    const admitted: { atMs: number; cost: number }[] = [];
    let depth = 0;
    let untilSleep = 0;

    const spend = () => {
      const quotas = spenders[depth]!;
      const cost = 1 + below(2);
      const beforeMs = clock.ms;
      untilSleep = 1 + below(6);
      if (quotas.take(0, quotaKind.read, cost, beforeMs)) {
        assert.ok(quotas.countedAtMs >= beforeMs && quotas.countedAtMs <= clock.ms);
        admitted.push({ atMs: quotas.countedAtMs, cost });
      }
    };
    const mayBeInterrupted =
      <Args extends unknown[]>(operation: (...args: Args) => unknown) =>
      (...args: Args) => {
        if (--untilSleep === 0 && depth < 2) {
          depth++;
          for (let i = below(8); i >= 0; i--) {
            clock.ms += below(4) === 0 ? below(130_000) : below(2_000);
            spend();
          }
          depth--;
        }
        return operation(...args);
      };
    const mocks = [
      t.mock.method(Atomics, 'load', mayBeInterrupted(Atomics.load as never)),
      t.mock.method(Atomics, 'compareExchange', mayBeInterrupted(Atomics.compareExchange as never)),
    ];
    for (let step = 0; step < 400; step++) {
      clock.ms += below(8) === 0 ? below(70_000) : below(3_000);
      spend();
    }
    for (const { mock } of mocks) mock.restore();

    for (const { atMs } of admitted) {
      const inWindow = admitted.filter((a) => a.atMs > atMs - 59_750 && a.atMs <= atMs);
      const sum = inWindow.reduce((total, a) => total + a.cost, 0);
      assert.ok(sum <= limit, `seed ${seed}: ${sum} in the 239 buckets to ${atMs}`);
    }
    assert.ok(admitted.length > 100);
  }
});
