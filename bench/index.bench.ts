/**
 * The IP index against its goals: look-ups (with peers), memory, updates beside a reader,
 * snapshot, garbage collection, the costliest changes, and the torture run.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createIpIndex, type IpIndex } from '../src/index/ip-index.ts';
import type { Prefix } from '../src/index/prefix.ts';
import { setReports } from '../src/index/records.ts';
import { loadSnapshot, saveSnapshot } from '../src/index/snapshot.ts';
import {
  adversaries,
  clustered,
  clustered6,
  type Dice,
  dice,
  prefix4,
  sparse,
} from './index-data.ts';
import { createBlockList, createPatricia, openMmdb, textOf4 } from './index-peers.ts';
import { slowdown } from './index-slowdown.ts';
import { measure, type Subject, type Timing } from './rounds.ts';
import type { BenchRow } from './row.ts';
import { torture } from './torture.ts';

interface Plan {
  readonly entries: number;
  readonly queries: number;
  readonly rounds: number;
  readonly blockRules: number;
  readonly tortureLookups: number;
  readonly slowdownMs: number;
}

const plans: Readonly<Record<'tiny' | 'full', Plan>> = {
  tiny: {
    entries: 2_000,
    queries: 200,
    rounds: 1,
    blockRules: 100,
    tortureLookups: 20_000,
    slowdownMs: 20,
  },
  full: {
    entries: 1_000_000,
    queries: 1 << 18,
    rounds: 15,
    blockRules: 10_000,
    tortureLookups: 50_000_000,
    slowdownMs: 400,
  },
};

interface Table {
  readonly index: IpIndex;
  /** In order of insertion, which is random. */
  readonly prefixes: Prefix[];
  readonly insertNs: number;
}

function fill(source: Iterable<Prefix>, entries: number): Table {
  const index = createIpIndex({ entriesMax: Math.max(entries, 1000) * 2 });
  const prefixes: Prefix[] = [];
  const start = performance.now();
  for (const prefix of source) {
    const before = index.size();
    setReports(index.records, index.insert(prefix), 1);
    if (index.size() > before) prefixes.push(prefix);
    if (index.size() === entries) break;
  }
  return { index, prefixes, insertNs: ((performance.now() - start) * 1e6) / index.size() };
}

function addresses4({ prefixes }: Table): Uint32Array {
  return Uint32Array.from(prefixes, ({ words }) => words[0]!);
}

type Queries = Readonly<Record<'zipf' | 'hit' | 'near miss' | 'miss', Uint32Array>>;

function queries4({ index, prefixes }: Table, count: number, { next, below, word }: Dice): Queries {
  const pick = (rank: number): number => prefixes[rank]!.words[0]!;
  const make = (one: () => number): Uint32Array => Uint32Array.from({ length: count }, one);
  function missing(one: () => number): () => number {
    return () => {
      for (;;) {
        const address = one();
        if (index.find4(address) === 0) return address;
      }
    };
  }
  return {
    zipf: make(() => pick(Math.floor(prefixes.length ** next()) - 1)),
    hit: make(() => pick(below(prefixes.length))),
    'near miss': make(missing(() => pick(below(prefixes.length)) ^ (1 + below(255)))),
    miss: make(missing(word)),
  };
}

/** Runs `one` over all queries; the callback is inlined for each call site's closure. */
function over4(queries: Uint32Array, one: (address: number) => number): Subject {
  return {
    operations: queries.length,
    run() {
      let sum = 0;
      for (let i = 0; i < queries.length; i++) sum = (sum + one(queries[i]!)) | 0;
      return sum;
    },
  };
}

function goalRow(name: string, { median, min }: Timing, goalNs?: number): BenchRow {
  const goal = goalNs === undefined ? {} : { goal: `<= ${goalNs} ns`, ok: median <= goalNs };
  return { name, unit: 'ns', ours: round(median), ...goal, note: `min ${round(min)}` };
}

function peerRow(
  name: string,
  ours: Timing,
  peer: string,
  theirs: Timing,
  times?: number,
): BenchRow {
  const ratio = ours.median / theirs.median;
  const goal =
    times === undefined ? {} : { goal: `peer >= ${times} times ours`, ok: ratio <= 1 / times };
  return {
    name,
    unit: 'ns',
    ours: round(ours.median),
    peer,
    peerValue: round(theirs.median),
    ratio: Number(ratio.toPrecision(3)),
    ...goal,
    note: `min ${round(ours.min)} and ${round(theirs.min)}`,
  };
}

function round(value: number): number {
  return Number(value.toPrecision(4));
}

function lookups4(table: Table, plan: Plan): BenchRow[] {
  const { index } = table;
  const queries = queries4(table, plan.queries, dice(11));
  const chain = new Int32Array(33);
  const times = measure(
    {
      zipf: over4(queries.zipf, (address) => index.find4(address)),
      hit: over4(queries.hit, (address) => index.find4(address)),
      near: over4(queries['near miss'], (address) => index.find4(address)),
      miss: over4(queries.miss, (address) => index.find4(address)),
      covering: over4(queries.hit, (address) => index.covering4(address, chain)),
    },
    plan.rounds,
  );
  return [
    goalRow('IPv4 look-up, zipf', times.zipf, 50),
    goalRow('IPv4 look-up, hit', times.hit, 75),
    goalRow('IPv4 look-up, near miss', times.near, 30),
    goalRow('IPv4 look-up, miss', times.miss, 18),
    goalRow('IPv4 all covering entries, hit', times.covering),
    ...peers4(table, queries, plan),
  ];
}

/** The same hits for all; texts for those that take nothing else. */
function peers4(table: Table, queries: Queries, plan: Plan): BenchRow[] {
  const { index, prefixes } = table;
  const patricia = createPatricia();
  const map = new Map<number, number>();
  prefixes.forEach(({ words, length }, i) => {
    patricia.insert(words[0]! | 0, length, i + 1);
    if (length === 32) map.set(words[0]!, i + 1);
  });
  const some = queries.hit.subarray(0, plan.queries >> 2);
  const texts = Array.from(some, textOf4);
  const mmdb = openMmdb();
  const times = measure(
    {
      ours: over4(some, (address) => index.find4(address)),
      patricia: over4(some, (address) => patricia.find(address | 0)),
      map: over4(some, (address) => map.get(address) ?? 0),
      mmdb: {
        operations: texts.length,
        run() {
          let sum = 0;
          for (const text of texts) sum += mmdb?.get(text) == null ? 0 : 1;
          return sum;
        },
      },
    },
    Math.min(plan.rounds, 7),
  );
  const name = 'IPv4 look-up, hit';
  const rows = [
    peerRow(name, times.ours, 'patricia of JS objects', times.patricia, 10),
    peerRow(name, times.ours, 'Map of hosts (no prefixes)', times.map),
  ];
  if (mmdb)
    rows.push(peerRow(name, times.ours, 'mmdb-lib (country table, from text)', times.mmdb, 15));
  return rows;
}

function blockList(plan: Plan): BenchRow {
  const hosts = addresses4(fill(sparse(dice(12)), plan.blockRules));
  const table = fill(
    Array.from(hosts, (host) => prefix4(host, 32)),
    hosts.length,
  );
  const list = createBlockList(hosts);
  const { below, word } = dice(13);
  const queries = Uint32Array.from({ length: 4_000 }, (_, i) =>
    i % 2 === 0 ? hosts[below(hosts.length)]! : word(),
  );
  const texts = Array.from(queries.subarray(0, 40), textOf4);
  const times = measure(
    {
      ours: over4(queries, (address) => table.index.find4(address)),
      list: {
        operations: texts.length,
        run: () => texts.reduce((sum, text) => sum + (list.check(text) ? 1 : 0), 0),
      },
    },
    Math.min(plan.rounds, 7),
  );
  const name = `IPv4 look-up, ${plan.blockRules} rules, half hits`;
  return peerRow(name, times.ours, 'net.BlockList', times.list, 1000);
}

function lookups6(table: Table, plan: Plan): BenchRow[] {
  const { index, prefixes } = table;
  const { below, word } = dice(14);
  function make(isHit: boolean): Uint32Array {
    const words = new Uint32Array(plan.queries * 4);
    for (let i = 0; i < words.length; ) {
      words.set(prefixes[below(prefixes.length)]!.words, i);
      if (!isHit) words.set([0x2a00_0000 + below(0x0100_0000), word(), word(), word()], i);
      if (isHit || index.find(6, words.subarray(i, i + 4)) === 0) i += 4;
    }
    return words;
  }
  const over6 = (words: Uint32Array): Subject => ({
    operations: words.length >> 2,
    run() {
      let sum = 0;
      for (let i = 0; i < words.length; i += 4) {
        sum = (sum + index.find6(words[i]!, words[i + 1]!, words[i + 2]!, words[i + 3]!)) | 0;
      }
      return sum;
    },
  });
  const times = measure({ hit: over6(make(true)), miss: over6(make(false)) }, plan.rounds);
  return [
    goalRow('IPv6 look-up, hit', times.hit, 150),
    goalRow('IPv6 look-up, miss', times.miss, 150),
  ];
}

/** Roots, nodes and key blocks as touched, and the prefix's two words of each record. */
function memoryRow(name: string, { index }: Table, bytesMax?: number): BenchRow {
  const { touchedBytes, liveBytes, size } = index.stats();
  const ours = round(touchedBytes / size + 8);
  const goal = bytesMax === undefined ? {} : { goal: `<= ${bytesMax} B`, ok: ours <= bytesMax };
  return { name, unit: 'B/entry', ours, ...goal, note: `live ${round(liveBytes / size + 8)}` };
}

function changes(table: Table, plan: Plan): BenchRow[] {
  const { index, prefixes } = table;
  const { below } = dice(15);
  const picks = Uint32Array.from({ length: plan.queries }, () => below(prefixes.length));
  const times = measure(
    {
      update: {
        operations: picks.length,
        run() {
          for (const pick of picks) {
            const entry = index.find4(prefixes[pick]!.words[0]!);
            setReports(index.records, entry, pick);
          }
          return 0;
        },
      },
      replace: {
        operations: picks.length >> 3,
        run() {
          let sum = 0;
          for (const pick of picks.subarray(0, picks.length >> 3)) {
            index.remove(prefixes[pick]!);
            sum ^= index.insert(prefixes[pick]!);
          }
          return sum;
        },
      },
    },
    Math.min(plan.rounds, 7),
  );
  return [
    goalRow('one live update: look-up and a field in place', times.update, 1000),
    goalRow('remove an entry and insert it again', times.replace),
  ];
}

function millisecondsOf(work: () => unknown): number {
  const start = performance.now();
  work();
  return performance.now() - start;
}

function hostsAsHeap(plan: Plan): BenchRow[] {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
  const before = process.memoryUsage().heapUsed;
  const index = createIpIndex({ entriesMax: plan.entries });
  const source = clustered(dice(16));
  while (index.size() < plan.entries) index.insert(source.next().value as Prefix);
  collect();
  const heap = process.memoryUsage().heapUsed - before;
  const pauses = Array.from({ length: 5 }, () => millisecondsOf(collect)).sort((a, b) => a - b);
  const pause = round(pauses[2]!);
  // Used after the measurement, so that it was alive during it.
  if (index.size() === 0) throw new Error('the table is empty');
  return [
    {
      name: 'full garbage collection, table loaded',
      unit: 'ms',
      ours: pause,
      goal: '<= 8 ms',
      ok: pause <= 8,
    },
    {
      name: 'JS heap of the index',
      unit: 'MiB',
      ours: round(heap / 2 ** 20),
      goal: '< 5 MiB',
      ok: heap < 5 * 2 ** 20,
    },
  ];
}

/** The changes that touch most: short prefixes above everything, with and without others there. */
function largeChanges({ index }: Table): BenchRow[] {
  const prefixes = [0, 1, 7, 8, 15].map((length) => prefix4(0, length));
  const times = prefixes.flatMap((prefix) => [
    millisecondsOf(() => index.insert(prefix)),
    millisecondsOf(() => index.remove(prefix)),
  ]);
  const sixteens = createIpIndex({ entriesMax: 200_000 });
  for (let i = 0; i < 65_536; i++) sixteens.insert(prefix4(i << 16, 15));
  const top = prefix4(0, 0);
  times.push(
    millisecondsOf(() => sixteens.insert(top)),
    millisecondsOf(() => sixteens.remove(top)),
  );
  const worst = round(Math.max(...times));
  return [
    {
      name: 'costliest change: /0 to /15 above the table',
      unit: 'ms',
      ours: worst,
      goal: '<= 10 ms',
      ok: worst <= 10,
    },
  ];
}

async function snapshotRows({ index }: Table): Promise<BenchRow[]> {
  const directory = mkdtempSync(join(tmpdir(), 'portcullis-bench-index-'));
  try {
    const path = join(directory, 'index');
    let pending: ReturnType<typeof saveSnapshot> | undefined;
    const captures: number[] = [];
    const loads: number[] = [];
    let bytes = 0;
    for (let i = 0; i < 5; i++) {
      captures.push(millisecondsOf(() => (pending = saveSnapshot(index, path, { sequence: 1n }))));
      const saved = await pending!;
      bytes = saved.ok ? saved.value.bytes : 0;
      loads.push(
        millisecondsOf(() => {
          const loaded = loadSnapshot(path);
          if (!loaded.ok || loaded.value.index.size() !== index.size())
            throw new Error('not loaded');
        }),
      );
    }
    const [capture, load] = [captures, loads].map((times) =>
      round(times.sort((a, b) => a - b)[2]!),
    );
    return [
      {
        name: 'snapshot: blocked while captured',
        unit: 'ms',
        ours: capture!,
        note: `${round(bytes / 1e6)} MB`,
      },
      { name: 'snapshot: load', unit: 'ms', ours: load!, goal: '<= 50 ms', ok: load! <= 50 },
    ];
  } finally {
    rmSync(directory, { recursive: true });
  }
}

function walkRow({ index }: Table, plan: Plan): BenchRow {
  const all = prefix4(0, 0);
  const subject = {
    operations: index.size(),
    run() {
      let sum = 0;
      index.walk(all, (entry) => {
        sum ^= entry;
      });
      return sum;
    },
  };
  const { walk } = measure({ walk: subject }, Math.min(plan.rounds, 5));
  return goalRow('walk in address order, per entry', walk);
}

async function tortureRow(plan: Plan): Promise<BenchRow> {
  const result = await torture({ lookups: plan.tortureLookups, families: [4, 6], seed: 17 });
  const { violations, lookups, updatesInPlace, replacements, releasedNodes, reusedEntries } =
    result;
  const counts = `${lookups} look-ups, ${updatesInPlace} updates in place, ${replacements} replacements, ${releasedNodes} nodes and ${reusedEntries} entry numbers reused`;
  return {
    name: 'torture: torn or recycled answers',
    unit: 'answers',
    ours: violations,
    goal: '0',
    ok: violations === 0,
    note: counts,
  };
}

export async function run(size: 'tiny' | 'full'): Promise<BenchRow[]> {
  const plan = plans[size];
  const rows = hostsAsHeap(plan);
  const four = fill(clustered(dice(1)), plan.entries);
  rows.push(...lookups4(four, plan), blockList(plan));
  const six = fill(clustered6(dice(2)), plan.entries);
  rows.push(...lookups6(six, plan));
  rows.push(memoryRow('IPv4 memory, clustered, records apart', four, 40));
  rows.push(
    memoryRow('IPv4 memory, sparse, records apart', fill(sparse(dice(3)), plan.entries), 100),
  );
  rows.push(memoryRow('IPv6 memory, clustered, records apart', six));
  for (const { name, prefixes } of adversaries(plan.entries >> 2)) {
    rows.push(memoryRow(`memory, ${name}`, fill(prefixes(), plan.entries >> 2)));
  }
  rows.push({
    name: 'build, random order, per entry',
    unit: 'ns',
    ours: round(four.insertNs),
    goal: '<= 1500 ns',
    ok: four.insertNs <= 1500,
  });
  rows.push(...changes(four, plan), ...largeChanges(four), walkRow(four, plan));
  rows.push(...(await snapshotRows(four)));
  rows.push(
    await slowdown(four.index, addresses4(four), plan.slowdownMs, Math.min(plan.rounds, 9)),
  );
  rows.push(await tortureRow(plan));
  return rows;
}
