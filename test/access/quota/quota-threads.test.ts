/**
 * Four threads spend one quota across many edges of a scaled window (240 buckets of 2.5 ms). Every
 * admission keeps the moment for which it was judged, which is the moment the promise is about;
 * that it lies inside the call is checked first, so the replay needs no tolerance.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { createAccountsTable } from '../../../src/access/accounts/accounts-table.ts';
import { createQuotaMemory } from '../../../src/access/quota/quota.ts';
import type { SpenderInput, Spending, Spent } from '../../support/signon/quota-spender.ts';

const threads = 4;
const bucketMs = 2.5;
/** In which no more than the limit is admitted, and what a bucket more than it counts. */
const windowMs = 239 * bucketMs;
const runMs = 1_500;
/** How far the clocks of two threads may be apart. */
const clockErrorMs = 0.05;

function run(limit: number): Promise<Spent[]> {
  const accounts = createAccountsTable(2);
  accounts.set(0, { readPerMinute: limit, writePerMinute: 0, trust: 0, disabled: false });
  const shared = {
    handle: createQuotaMemory(2),
    accounts: accounts.handle,
    bucketMs,
    runMs,
    threads,
    gate: new Int32Array(new SharedArrayBuffer(8)),
  };
  const source = new URL('../../support/signon/quota-spender.js', import.meta.url);
  return Promise.all(
    Array.from({ length: threads }, (_, i) => {
      const workerData: SpenderInput = { ...shared, seed: limit + i };
      const worker = new Worker(source, { workerData });
      return new Promise<Spent>((resolve, reject) => {
        worker.on('message', resolve).on('error', reject);
      });
    }),
  );
}

function checkWindows(admitted: Spending[], limit: number): void {
  const sorted = admitted.toSorted((a, b) => a[1] - b[1]);
  let sum = 0;
  let first = 0;
  for (const [, atMs, , cost] of sorted) {
    sum += cost;
    while (sorted[first]![1] <= atMs - windowMs) sum -= sorted[first++]![3];
    assert.ok(sum <= limit, `${sum} of ${limit} within a window that ends at ${atMs}`);
  }
}

/**
 * What may have stood in the way of a refused call: admissions that began before its end, less
 * those that ended before its last 240 buckets. A thread that sleeps while it opens a bucket makes
 * the others stricter by what is admitted meanwhile, on a busy machine by several buckets' worth.
 */
function checkRefusals(all: Spending[], limit: number, longestMs: number): void {
  const admitted = all.filter((s) => s[4] === 1);
  const slept = longestMs > bucketMs ? mostWithin(admitted, longestMs) : 0;
  const begun = costUpTo(admitted.map((s) => [s[0], s[3]]));
  const ended = costUpTo(admitted.map((s) => [s[2], s[3]]));
  for (const [, atMs, afterMs, cost, wasAdmitted] of all) {
    if (wasAdmitted === 1) continue;
    const fromMs = Math.floor(atMs / bucketMs) * bucketMs - windowMs - clockErrorMs;
    const inTheWay = begun(afterMs + clockErrorMs) - ended(fromMs);
    const used = inTheWay + slept;
    assert.ok(used + cost > limit, `refused ${cost} with ${inTheWay} of ${limit} used`);
  }
}

/** Returns the highest cost admitted in any span of this length. */
function mostWithin(admitted: Spending[], spanMs: number): number {
  const sorted = admitted.toSorted((a, b) => a[1] - b[1]);
  let [first, sum, most] = [0, 0, 0];
  for (const [, atMs, , cost] of sorted) {
    sum += cost;
    while (sorted[first]![1] < atMs - spanMs) sum -= sorted[first++]![3];
    most = Math.max(most, sum);
  }
  return most;
}

/** Sum of the costs at or before a moment. */
function costUpTo(events: [atMs: number, cost: number][]): (ms: number) => number {
  events.sort((a, b) => a[0] - b[0]);
  let sum = 0;
  const sums = events.map(([, cost]) => (sum += cost));
  return (ms) => {
    let low = 0;
    let high = events.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (events[middle]![0] <= ms) low = middle + 1;
      else high = middle;
    }
    return sums[low - 1] ?? 0;
  };
}

for (const limit of [37, 2_000, 100_000]) {
  test(`four threads never exceed ${limit} in a window, nor are refused without reason`, async () => {
    const perThread = await run(limit);
    const all = perThread.flatMap(({ spendings }) => spendings);
    const longestMs = Math.max(...perThread.map((one) => one.longestMs));
    for (const [beforeMs, atMs, afterMs] of all) {
      assert.ok(beforeMs <= atMs && atMs <= afterMs + clockErrorMs, 'moment inside the call');
    }
    const admitted = all.filter((s) => s[4] === 1);
    checkWindows(admitted, limit);
    checkRefusals(all, limit, longestMs);
    const costOf = (calls: Spending[]) => calls.reduce((sum, s) => sum + s[3], 0);
    // A slow machine may not get to the limit in time; then nothing may have been refused.
    const due = Math.min(limit, costOf(all));
    assert.ok(costOf(admitted) >= due, `${costOf(admitted)} of ${due} admitted`);
  });
}
