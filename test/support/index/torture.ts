/**
 * Torture: one writer against reading threads, to show that no answer is torn or recycled.
 *
 * The writer, on the calling thread, changes records in place, takes hosts and prefixes out
 * and puts others in, as fast as it can, so that nodes and entry numbers are reused all the
 * time. Readers check each answer (torture.worker.ts). With `unsafeReuseAtOnce` the same run
 * must find violations: that shows that it can.
 */

import { once } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { createIpIndex, type IpIndex } from '../../../src/index/ip-index.ts';
import { hostMask, type IndexPrefix } from '../../../src/index/prefix.ts';
import type { createRetiredNodes } from '../../../src/index/trie/epochs.ts';
import { seededRandom } from '../seeded.ts';
import type { TortureReport, TortureTask } from './torture.worker.ts';
import { hashAround, writeChanging, writeFixed } from './torture-payload.ts';

interface TortureOptions {
  /** For each reader. */
  readonly lookups: number;
  readonly families: readonly (4 | 6)[];
  readonly seed: number;
  readonly unsafeReuseAtOnce?: boolean;
}

export interface TortureResult {
  /** Per reader, in the order of `families`. */
  readonly reports: TortureReport[];
  readonly violations: number;
  readonly lookups: number;
  readonly updatesInPlace: number;
  readonly replacements: number;
  readonly releasedNodes: number;
  readonly reusedEntries: number;
  readonly milliseconds: number;
}

const NETS = 40;
const STEADY_PER_NET = 10;
const SLICE_MS = 20;

interface Pools {
  readonly family: 4 | 6;
  readonly steady: Int32Array;
  readonly volatile: Int32Array;
  readonly absent: Int32Array;
}

/**
 * Hosts of the same /24 (or of the same eight last bits) are steady, volatile or absent by
 * their last bits, so that all three share nodes. Absent ones have bit 7 set, and no prefix
 * that ever exists reaches them.
 */
function createPools(family: 4 | 6, next: () => number): Pools {
  const steady: number[] = [];
  const volatile: number[] = [];
  const absent: number[] = [];
  for (let net = 0; net < NETS; net++) {
    // A few /16s with several nets in each.
    const first = ((0x2a00 + (net % 5)) << 16) | (Math.floor(next() * 256) << 8);
    const words = family === 4 ? [first, 0, 0, 0] : [first, net % 3, Math.floor(next() * 4), 0];
    const last = family === 4 ? 0 : 3;
    for (let host = 0; host < 256; host++) {
      const address = [...words];
      address[last] = address[last]! | host;
      const pool = host >= 128 ? absent : host % 12 === 0 ? steady : volatile;
      if (pool === steady && host / 12 >= STEADY_PER_NET) continue;
      pool.push(...address);
    }
  }
  const [a, b, c] = [steady, volatile, absent].map((words) => {
    const shared = new Int32Array(new SharedArrayBuffer(words.length * 4));
    shared.set(words);
    return shared;
  });
  return { family, steady: a!, volatile: b!, absent: c! };
}

/** The prefix of that length around an address of a pool. */
function prefixAround(family: 4 | 6, words: Int32Array, at: number, length: number): IndexPrefix {
  const out = new Uint32Array(family === 4 ? 1 : 4);
  for (let word = 0; word < out.length; word++) {
    out[word] = words[at + word]! & ~hostMask(length - (word << 5));
  }
  return { family, words: out, length };
}

interface Writer {
  step(): void;
  updatesInPlace(): number;
  replacements(): number;
}

function createWriter(index: IpIndex, pools: Pools[], next: () => number): Writer {
  let updatesInPlace = 0;
  let replacements = 0;
  let generation = 0;
  const below = (limit: number): number => Math.floor(next() * limit);

  function hashOfPrefix({ family, words, length }: IndexPrefix): number {
    const address = new Int32Array(4);
    address.set(words);
    return hashAround(family, address, 0, length);
  }

  function insert(prefix: IndexPrefix): void {
    const hash = hashOfPrefix(prefix);
    index.insert(prefix, (entry) => writeFixed(index.records, entry, hash));
  }

  for (const { family, steady } of pools) {
    for (let at = 0; at < steady.length; at += 4) {
      insert(prefixAround(family, steady, at, family === 4 ? 32 : 128));
    }
  }

  /** A host mostly, else a prefix that stays within the half that is not absent. */
  function volatilePrefix({ family, volatile }: Pools): IndexPrefix {
    const at = below(volatile.length >> 2) << 2;
    const bits = family === 4 ? 32 : 128;
    return prefixAround(family, volatile, at, next() < 0.8 ? bits : bits - below(8));
  }

  return {
    step() {
      const pool = pools[below(pools.length)]!;
      if (next() < 0.5) {
        const { family, steady } = pool;
        const at = below(steady.length >> 2) << 2;
        const prefix = prefixAround(family, steady, at, family === 4 ? 32 : 128);
        writeChanging(index.records, index.get(prefix), hashOfPrefix(prefix), ++generation);
        updatesInPlace++;
        return;
      }
      // Out with one, in with another: the next insertion takes what the removal gave back.
      const old = volatilePrefix(pool);
      if (!index.remove(old)) insert(old);
      else {
        insert(volatilePrefix(pool));
        replacements++;
      }
    },
    updatesInPlace: () => updatesInPlace,
    replacements: () => replacements,
  };
}

/** Reuses at once whatever is unlinked, while readers may be in it. */
const reuseAtOnce: typeof createRetiredNodes = (_epoch, release) => ({
  add: release,
  drainSome() {},
  drain() {},
  size: () => 0,
  items: () => new Int32Array(0),
});

export async function torture(options: TortureOptions): Promise<TortureResult> {
  const { families, lookups, seed, unsafeReuseAtOnce = false } = options;
  const { next } = seededRandom(seed);
  const index = createIpIndex({
    entriesMax: 100_000,
    ...(unsafeReuseAtOnce ? { retire: reuseAtOnce } : {}),
  });
  const pools = [...new Set(families)].map((family) => createPools(family, next));
  const writer = createWriter(index, pools, next);
  const signal = new Int32Array(new SharedArrayBuffer(4));
  const readers = await Promise.all(
    families.map(async (family, i) => {
      const { steady, volatile, absent } = pools.find((pool) => pool.family === family)!;
      const task: TortureTask = {
        handle: index.openReader()!,
        family,
        lookups,
        seed: seed + 1 + i,
        steady: steady.buffer as SharedArrayBuffer,
        volatile: volatile.buffer as SharedArrayBuffer,
        absent: absent.buffer as SharedArrayBuffer,
        signal: signal.buffer as SharedArrayBuffer,
      };
      const worker = new Worker(new URL('./torture.worker.js', import.meta.url), {
        workerData: task,
        execArgv: [],
      });
      await once(worker, 'message');
      return worker;
    }),
  );
  const reports: TortureReport[] = [];
  const ends = readers.map((worker, i) =>
    once(worker, 'message').then(([report]) => {
      reports[i] = report as TortureReport;
    }),
  );
  let isDone = false;
  const allEnded = Promise.all(ends).finally(() => {
    isDone = true;
  });
  const start = performance.now();
  Atomics.store(signal, 0, 1);
  Atomics.notify(signal, 0);
  while (!isDone) {
    const until = performance.now() + SLICE_MS;
    while (performance.now() < until) for (let i = 0; i < 200; i++) writer.step();
    await turn();
  }
  await allEnded;
  const milliseconds = performance.now() - start;
  await Promise.all(readers.map((worker) => worker.terminate()));
  const stats = index.stats();
  const violations = reports.reduce(
    (sum, r) => sum + r.foreign + r.lost + r.invented + r.disordered,
    0,
  );
  return {
    reports,
    violations,
    lookups: reports.reduce((sum, report) => sum + report.lookups, 0),
    updatesInPlace: writer.updatesInPlace(),
    replacements: writer.replacements(),
    releasedNodes: stats.releasedNodes,
    reusedEntries: stats.reusedEntries,
    milliseconds,
  };
}
