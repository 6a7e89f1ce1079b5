/** Changes of the index: updates, the costliest ones, walks, snapshots, collection pauses. */

import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Worker } from 'node:worker_threads';
import { createIpIndex, type IpIndex } from '../src/index/ip-index.ts';
import { setReports } from '../src/index/records.ts';
import { loadSnapshot, saveSnapshot } from '../src/index/snapshot.ts';
import { makeTempDir } from '../test/support/server/temp-dir.ts';
import {
  clustered,
  dice,
  fill,
  goalRow,
  type IndexPlan,
  prefix4,
  prefixAt,
  round,
  type Table,
} from './index-table.ts';
import { measure } from './rounds.ts';
import { atMost, type BenchRow, besidePeer, median, rowAtMost } from './row.ts';
import { millisecondsOf } from './work.ts';

// How much a writer slows a reader down: the reader's rate with updates and without, in turns.

/** A hundred times what the service is meant to take in. */
const UPDATES_PER_SECOND = 100_000;
const SLICE_MS = 5;

async function slowdown(
  index: IpIndex,
  addresses: Uint32Array,
  phaseMs: number,
  rounds: number,
): Promise<BenchRow> {
  const shared = new Uint32Array(new SharedArrayBuffer(addresses.byteLength));
  shared.set(addresses);
  const signal = new Int32Array(new SharedArrayBuffer(8));
  const handle = index.openReader()!;
  const worker = new Worker(new URL('./index-slowdown.worker.js', import.meta.url), {
    workerData: { handle, words: shared, signal },
    execArgv: [],
  });
  await once(worker, 'message');
  const { below } = dice(18);
  let [updates, updateMs] = [0, 0];

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
  let [quiet, busy] = [0, 0];
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

async function updates(table: Table, plan: IndexPlan): Promise<BenchRow[]> {
  const { index, words, lengths } = table;
  const { below } = dice(15);
  const picks = Uint32Array.from({ length: plan.queries }, () => below(lengths.length));
  const few = Array.from(picks.subarray(0, picks.length >> 3), (pick) => prefixAt(table, 4, pick));
  const times = await measure(
    {
      update: {
        operations: picks.length,
        run() {
          for (const pick of picks) {
            setReports(index.records, index.find4(words[pick * 4]!), pick);
          }
          return 0;
        },
      },
      replace: {
        operations: few.length,
        run() {
          let sum = 0;
          for (const prefix of few) {
            index.remove(prefix);
            sum ^= index.insert(prefix);
          }
          return sum;
        },
      },
      walk: {
        operations: index.size(),
        run() {
          let sum = 0;
          index.walk(prefix4(0, 0), (entry) => {
            sum ^= entry;
          });
          return sum;
        },
      },
    },
    Math.min(plan.rounds, 9),
  );
  return [
    goalRow('one live update: look-up and a field in place', times.update, 1000),
    goalRow('an entry removed and inserted again', times.replace),
    goalRow('walk in address order, per entry', times.walk),
  ];
}

/** The changes that touch most: short prefixes above everything, with and without others there. */
function costliest({ index }: Table): BenchRow {
  const crowded = createIpIndex({ entriesMax: 200_000 });
  for (let i = 0; i < 32_768; i++) crowded.insert(prefix4(i << 17, 15));
  const changes = [0, 1, 7, 8, 15].map((length) => [index, prefix4(0x0100_0000, length)] as const);
  const times = [...changes, [crowded, prefix4(0, 0)] as const].flatMap(([table, prefix]) => [
    millisecondsOf(() => table.insert(prefix)),
    millisecondsOf(() => table.remove(prefix)),
  ]);
  const ours = round(Math.max(...times));
  return rowAtMost('costliest change: /0 to /15 above the table', 'ms', ours, 10, 'ms');
}

async function snapshots({ index }: Table): Promise<BenchRow[]> {
  using directory = makeTempDir('bench-index');
  const path = `${directory.path}/index`;
  const [captures, loads]: [number[], number[]] = [[], []];
  let bytes = 0;
  for (let i = 0; i < 5; i++) {
    let start = 0;
    const saved = await saveSnapshot(index, path, () => {
      start = performance.now();
      // What follows in the same turn is the copy.
      queueMicrotask(() => captures.push(performance.now() - start));
      return { sequence: 1n };
    });
    bytes = saved.ok ? saved.value.bytes : 0;
    loads.push(
      millisecondsOf(() => {
        const loaded = loadSnapshot(path);
        if (!loaded.ok || loaded.value.index.size() !== index.size()) throw new Error('not loaded');
      }),
    );
  }
  const note = (times: number[]): string =>
    `min ${round(Math.min(...times))}, ${round(bytes / 1e6)} MB`;
  const capture = round(median(captures));
  const load = round(median(loads));
  return [
    { name: 'snapshot: blocked while captured', unit: 'ms', ours: capture, note: note(captures) },
    { ...rowAtMost('snapshot: load', 'ms', load, 50, 'ms'), note: note(loads) },
  ];
}

export async function changes(plan: IndexPlan): Promise<BenchRow[]> {
  const table = fill(clustered(dice(1)), plan.entries);
  const rows = [...(await updates(table, plan)), costliest(table), ...(await snapshots(table))];
  const hosts = table.words.filter((_, i) => (i & 3) === 0);
  rows.push(await slowdown(table.index, hosts, plan.slowdownMs, Math.min(plan.rounds, 9)));
  return rows;
}

export function heap(plan: IndexPlan): BenchRow[] {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
  const heapBefore = process.memoryUsage().heapUsed;
  const empty = round(median(Array.from({ length: 9 }, () => millisecondsOf(collect))));
  const { index } = fill(clustered(dice(16)), plan.entries);
  collect();
  const bytes = process.memoryUsage().heapUsed - heapBefore;
  const pauses = Array.from({ length: 9 }, () => millisecondsOf(collect));
  // Used after the measurement, so that it was alive during it.
  if (index.size() === 0) throw new Error('the table is empty');
  const pause = round(median(pauses));
  const heapMiB = round(bytes / 2 ** 20);
  const before = 'the same thread before';
  return [
    {
      ...besidePeer('full garbage collection, table loaded', 'ms', pause, before, empty),
      ...atMost(pause, 8, 'ms'),
      note: `min ${round(Math.min(...pauses))}`,
    },
    { name: 'JS heap of the index', unit: 'MiB', ours: heapMiB, goal: '< 5 MiB', ok: heapMiB < 5 },
  ];
}
