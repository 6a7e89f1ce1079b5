/**
 * A thread that spends one account's quota as fast as it can and keeps, for each call, the clock
 * before, the moment it was judged for, the clock after, and the cost.
 */

import { parentPort, workerData } from 'node:worker_threads';
import {
  type AccountsHandle,
  openAccountsTable,
} from '../../../src/access/accounts/accounts-table.ts';
import { openQuotas, type QuotaHandle, quotaKind } from '../../../src/access/quota/quota.ts';
import { systemClock } from '../../../src/core/clock.ts';
import { seededRandom } from '../seeded.ts';

export interface SpenderInput {
  readonly handle: QuotaHandle;
  readonly accounts: AccountsHandle;
  readonly bucketMs: number;
  readonly runMs: number;
  readonly seed: number;
  readonly threads: number;
  readonly gate: Int32Array;
}

/** One call: `admitted` 1 or 0. */
export type Spending = readonly [
  beforeMs: number,
  countedAtMs: number,
  afterMs: number,
  cost: number,
  admitted: number,
];

export interface Spent {
  readonly spendings: Spending[];
  /** The longest call: the thread may have slept in the middle of it. */
  readonly longestMs: number;
}

const refusalsMax = 20_000;

function spend(input: SpenderInput): Spent {
  const clock = systemClock();
  const { handle, bucketMs } = input;
  const quotas = openQuotas({
    handle,
    accounts: openAccountsTable(input.accounts),
    clock,
    bucketMs,
  });
  const random = seededRandom(input.seed);
  const spendings: Spending[] = [];
  let refusals = 0;
  let longestMs = 0;
  Atomics.add(input.gate, 0, 1);
  while (Atomics.load(input.gate, 0) < input.threads) Atomics.wait(input.gate, 1, 0, 1);
  const endMs = clock.monotonicMs() + input.runMs;
  let beforeMs = clock.monotonicMs();
  while (beforeMs < endMs) {
    const cost = random.next() < 0.1 ? 1 + Math.floor(random.next() * 20) : 1;
    const admitted = quotas.take(0, quotaKind.read, cost, beforeMs);
    const afterMs = clock.monotonicMs();
    longestMs = Math.max(longestMs, afterMs - beforeMs);
    if (admitted) {
      spendings.push([beforeMs, quotas.countedAtMs, afterMs, cost, 1]);
    } else if (refusals < refusalsMax && random.next() < 0.05) {
      refusals++;
      spendings.push([beforeMs, quotas.countedAtMs, afterMs, cost, 0]);
    }
    beforeMs = clock.monotonicMs();
  }
  return { spendings, longestMs };
}

parentPort?.postMessage(spend(workerData as SpenderInput));
