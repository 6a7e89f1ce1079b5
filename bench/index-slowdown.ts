/** How much a writer slows a reader down: the reader's rate with updates and without, in turns. */

import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { IpIndex } from '../src/index/ip-index.ts';
import { setReports } from '../src/index/records.ts';
import { dice } from './index-data.ts';
import type { SlowdownTask } from './index-slowdown.worker.ts';
import type { BenchRow } from './row.ts';

/** A hundred times what the service is meant to take in. */
const UPDATES_PER_SECOND = 100_000;
const SLICE_MS = 5;

export async function slowdown(
  index: IpIndex,
  addresses: Uint32Array,
  phaseMs: number,
  rounds: number,
): Promise<BenchRow> {
  const shared = new Uint32Array(new SharedArrayBuffer(addresses.byteLength));
  shared.set(addresses);
  const signal = new Int32Array(new SharedArrayBuffer(8));
  const handle = index.openReader()!;
  const task: SlowdownTask = {
    handle,
    addresses: shared.buffer as SharedArrayBuffer,
    signal: signal.buffer as SharedArrayBuffer,
  };
  const worker = new Worker(new URL('./index-slowdown.worker.js', import.meta.url), {
    workerData: task,
    execArgv: [],
  });
  await once(worker, 'message');
  const { below } = dice(18);
  let updates = 0;
  let updateMs = 0;

  async function phase(isWriting: boolean): Promise<number> {
    const before = Atomics.load(signal, 1);
    const start = performance.now();
    // On a busy machine the reader may not have run at all yet.
    while (performance.now() - start < phaseMs || Atomics.load(signal, 1) === before) {
      if (isWriting) {
        const slice = performance.now();
        for (let i = 0; i < (UPDATES_PER_SECOND * SLICE_MS) / 1000; i++) {
          setReports(index.records, index.find4(addresses[below(addresses.length)]!), i);
          updates++;
        }
        updateMs += performance.now() - slice;
      }
      await sleep(SLICE_MS);
    }
    return (Atomics.load(signal, 1) - before) / (performance.now() - start);
  }

  // The best phase of each kind: other load on the machine only makes a phase slower.
  let quiet = 0;
  let busy = 0;
  await phase(false);
  for (let round = 0; round < rounds; round++) {
    quiet = Math.max(quiet, await phase(false));
    busy = Math.max(busy, await phase(true));
  }
  Atomics.store(signal, 0, 1);
  await once(worker, 'message');
  await worker.terminate();
  index.closeReader(handle);
  const percent = Number(((quiet / busy - 1) * 100).toPrecision(3));
  return {
    name: 'reader slowed down by 100,000 updates/s',
    unit: '%',
    ours: percent,
    goal: '<= 10 %',
    ok: percent <= 10,
    note: `${Math.round((updateMs * 1e6) / updates)} ns per update, ${updates} updates`,
  };
}
