/** Look-ups of the index, alone and beside peers. */

import { readFileSync } from 'node:fs';
import { BlockList } from 'node:net';
import { type CountryResponse, Reader } from 'mmdb-lib';
import { defaultSource } from '../src/geo/sources.ts';
import { hostText } from './check-table.ts';
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

export async function lookups4(plan: IndexPlan): Promise<BenchRow[]> {
  const table = fill(clustered(dice(1)), plan.entries);
  const { index } = table;
  const queries = queries4(table, plan.queries, dice(11));
  const chain = new Int32Array(33);
  const find = (asked: Uint32Array) => over4(asked, (address) => index.find4(address));
  const times = await measure(
    {
      zipf: find(queries.zipf),
      hit: find(queries.hit),
      near: find(queries.near),
      miss: find(queries.miss),
      covering: over4(queries.hit, (address) => index.covering4(address, chain)),
    },
    plan.rounds,
  );
  return [
    goalRow('IPv4 look-up, zipf', times.zipf, 50),
    goalRow('IPv4 look-up, hit', times.hit, 75),
    goalRow('IPv4 look-up, near miss', times.near, 30),
    goalRow('IPv4 look-up, miss', times.miss, 18),
    goalRow('IPv4 look-up, all covering entries of a hit', times.covering),
    memoryRow('IPv4 memory, clustered, records apart', table, 40),
    rowAtMost('build, random order, per entry', 'ns', round(table.insertNs), 1500, 'ns'),
    ...(await peers4(table, queries, plan)),
  ];
}

/** Peers push each other's tables out of the caches: each runs long enough to have its own back. */
const PASSES = 8;

/** The same hits for all; texts for those that take nothing else. */
async function peers4(table: Table, queries: Queries, plan: IndexPlan): Promise<BenchRow[]> {
  const { index, words, lengths } = table;
  const patricia = new Patricia();
  const map = new Map<number, number>();
  for (let i = 0; i < lengths.length; i++) {
    patricia.insert(words[i * 4]! | 0, lengths[i]!, i + 1);
    if (lengths[i] === 32) map.set(words[i * 4]!, i + 1);
  }
  const some = queries.hit.subarray(0, plan.queries >> 2);
  const mmdb = openMmdb();
  const times = await measure(
    {
      ours: over4(some, (address) => index.find4(address), PASSES),
      patricia: over4(some, (address) => patricia.find(address | 0), PASSES),
      map: over4(some, (address) => map.get(address) ?? 0, PASSES),
      mmdb: overTexts(some, (text) => mmdb?.get(text) != null),
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

function overTexts(addresses: Uint32Array, isFound: (text: string) => boolean): Subject {
  const texts = Array.from(addresses, hostText);
  return {
    operations: texts.length,
    run: () => texts.reduce((sum, text) => sum + (isFound(text) ? 1 : 0), 0),
  };
}

export async function blockList(plan: IndexPlan): Promise<BenchRow[]> {
  const { words } = fill(sparse(dice(12)), plan.blockRules);
  const hosts = words.filter((_, i) => (i & 3) === 0);
  const prefixes = Array.from(hosts, (host) => prefix4(host, 32));
  const { index } = fill(prefixes, hosts.length);
  const list = new BlockList();
  for (const address of hosts) list.addAddress(hostText(address));
  const { below, word } = dice(13);
  const queries = Uint32Array.from({ length: 4_000 }, (_, i) =>
    i % 2 === 0 ? hosts[below(hosts.length)]! : word(),
  );
  const times = await measure(
    {
      ours: over4(queries, (address) => index.find4(address), 20),
      list: overTexts(queries.subarray(0, 40), (text) => list.check(text)),
    },
    Math.min(plan.rounds, 9),
  );
  const name = `IPv4 look-up, ${plan.blockRules} rules, half hits`;
  return [peerRow(name, times.ours, 'net.BlockList', times.list, 1000)];
}

export async function lookups6(plan: IndexPlan): Promise<BenchRow[]> {
  const all = await lookups6In(plan.entries, plan);
  return [...all, ...(await lookups6In(plan.entries / 10, plan))];
}

async function lookups6In(entries: number, plan: IndexPlan): Promise<BenchRow[]> {
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
  const times = await measure({ hit: over6(make(true)), miss: over6(make(false)) }, plan.rounds);
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

interface PatriciaNode {
  readonly key: number;
  readonly length: number;
  value: number;
  left: PatriciaNode | undefined;
  right: PatriciaNode | undefined;
}

/** A binary trie of objects with path compression: what one writes first in JavaScript. */
class Patricia {
  readonly #root: PatriciaNode = { key: 0, length: 0, value: 0, left: undefined, right: undefined };

  insert(address: number, length: number, value: number): void {
    let node = this.#root;
    while (node.length < length) {
      const child = isRight(address, node.length) ? node.right : node.left;
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

  find(address: number): number {
    let node: PatriciaNode | undefined = this.#root;
    let best = 0;
    while (node !== undefined && isWithin(address, node)) {
      if (node.value !== 0) best = node.value;
      if (node.length === 32) break;
      node = isRight(address, node.length) ? node.right : node.left;
    }
    return best;
  }
}

function isWithin(address: number, { key, length }: PatriciaNode): boolean {
  return length === 0 || (address ^ key) >>> (32 - length) === 0;
}

function isRight(address: number, length: number): boolean {
  return ((address >>> (31 - length)) & 1) === 1;
}

function attach(parent: PatriciaNode, node: PatriciaNode): void {
  if (isRight(node.key, parent.length)) parent.right = node;
  else parent.left = node;
}

/** The country table that the service uses by default; undefined when it is not installed. */
function openMmdb(): Reader<CountryResponse> | undefined {
  const source = defaultSource('country');
  return source && new Reader(readFileSync(source.paths[0]!));
}
