/**
 * A front-end thread without HTTP: the gate over shared memory, asked by messages. Its key cache
 * lives as long as the thread, so it remembers keys whose slots have other holders by now.
 */

import { parentPort, Worker, workerData } from 'node:worker_threads';
import { openAccountsTable } from '../../../src/access/accounts/accounts-table.ts';
import { createKeyCache, openKeyTableReader } from '../../../src/access/keys/key-table.ts';
import {
  createQuotaGuard,
  openQuotas,
  type QuotaGuard,
  quotaKind,
} from '../../../src/access/quota/quota.ts';
import type { SharedState } from '../../../src/app/state.ts';
import { manualClock } from '../seeded.ts';

export interface Asked {
  readonly text: string;
  /** Reads to spend. */
  readonly cost: number;
}

export interface Answered {
  readonly slot: number;
  readonly admitted: boolean;
  readonly limit: number;
  readonly remaining: number;
  readonly trust: number;
}

export interface GateThread {
  /** `nowMs`: of the monotonic clock. */
  ask(nowMs: number, asked: readonly Asked[]): Promise<Answered[]>;
  close(): Promise<unknown>;
}

export function startGateThread(shared: SharedState): GateThread {
  const worker = new Worker(new URL(import.meta.url), { workerData: shared });
  return {
    ask: (nowMs, asked) =>
      new Promise((resolve, reject) => {
        worker.once('error', reject);
        worker.once('message', (answers: Answered[]) => {
          worker.off('error', reject);
          resolve(answers);
        });
        worker.postMessage({ nowMs, asked });
      }),
    close: () => worker.terminate(),
  };
}

function openGate(shared: SharedState) {
  const clock = manualClock(0);
  const accounts = openAccountsTable(shared.accounts);
  const quotaGuard = createQuotaGuard({
    keys: createKeyCache(openKeyTableReader(shared.keys), 64),
    accounts,
    quotas: openQuotas({ handle: shared.quotas, accounts, clock }),
    clock,
  });
  return { clock, quotaGuard, accounts };
}

function answer(quotaGuard: QuotaGuard, trusts: Float32Array, { text, cost }: Asked): Answered {
  const slot = quotaGuard.authenticate(text);
  if (slot < 0) return { slot, admitted: false, limit: 0, remaining: 0, trust: 0 };
  const admitted = quotaGuard.spend(slot, quotaKind.read, cost);
  const { limit, remaining } = quotaGuard.quotas;
  return { slot, admitted, limit, remaining, trust: trusts[slot]! };
}

if (parentPort !== null && workerData !== null) {
  const port = parentPort;
  const { clock, quotaGuard, accounts } = openGate(workerData as SharedState);
  port.on('message', ({ nowMs, asked }: { nowMs: number; asked: Asked[] }) => {
    clock.advance(nowMs - clock.monotonicMs());
    port.postMessage(asked.map((one) => answer(quotaGuard, accounts.trust, one)));
  });
}
