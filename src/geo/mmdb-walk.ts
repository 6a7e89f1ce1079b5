/**
 * Every network of a MaxMind DB in address order. The tree comes from a file, so the walk
 * trusts nothing: its depth ends with the address bits and its visits are counted, which stops
 * loops and records that share subtrees over and over.
 *
 * An IPv6 tree holds IPv4 under ::/96. Other places may point to that very node: 2002::/16
 * (6to4), 2001::/32 (Teredo) and ::ffff:0:0/96. They are not walked again but reported, so that
 * a reader can take the embedded IPv4 address to the IPv4 table.
 */

import { type Mmdb, MmdbError } from './mmdb.ts';
import type { PartitionBuilder } from './partition.ts';

export interface WalkResult {
  /** 2002::/16 answers as the IPv4 address in bits 16..47. */
  readonly sixToFour: boolean;
  /** 2001::/32 answers as the IPv4 address in bits 32..63. */
  readonly teredo: boolean;
}

/** A tree visits each node once; shared subtrees of other writers may add some. */
const visitsPerNodeMax = 8;

export function walkMmdb(
  db: Mmdb,
  v4: PartitionBuilder,
  v6: PartitionBuilder,
  idOf: (record: number) => number,
): WalkResult {
  const { nodeCount } = db;
  let visitsLeft = nodeCount * visitsPerNodeMax + 1_024;
  const aliases = { sixToFour: false, teredo: false };
  const ids = new Map<number, number>();
  /** The node above all IPv4 addresses, or a record that ends before it. */
  const v4Start = db.ipVersion === 4 ? 0 : startOfV4(db);

  function cachedId(record: number): number {
    let id = ids.get(record);
    if (id === undefined) {
      id = idOf(record);
      ids.set(record, id);
    }
    return id;
  }

  function countVisit(): void {
    if (--visitsLeft < 0) throw new MmdbError('the search tree loops');
  }

  const first4 = new Uint32Array(1);
  const last4 = new Uint32Array(1);
  function walk4(record: number, prefix: number, depth: number): void {
    if (record === nodeCount) return;
    if (record > nodeCount) {
      const id = cachedId(record);
      first4[0] = prefix;
      last4[0] = depth === 32 ? prefix : prefix + 2 ** (32 - depth) - 1;
      if (id !== 0) v4.add(first4, last4, id);
      return;
    }
    if (depth === 32) throw new MmdbError('the search tree is deeper than an address');
    countVisit();
    walk4(db.record(record, 0), prefix, depth + 1);
    walk4(db.record(record, 1), prefix + 2 ** (31 - depth), depth + 1);
  }

  const path = new Uint32Array(4);
  const last6 = new Uint32Array(4);
  function walk6(record: number, depth: number): void {
    if (record === nodeCount || skips(record, depth)) return;
    if (record > nodeCount) {
      const id = cachedId(record);
      for (let w = 0; w < 4; w++) last6[w] = path[w]! | hostBits(w, depth);
      if (id !== 0) v6.add(path, last6, id);
      return;
    }
    if (depth === 128) throw new MmdbError('the search tree is deeper than an address');
    countVisit();
    walk6(db.record(record, 0), depth + 1);
    const word = depth >>> 5;
    const bit = (0x8000_0000 >>> (depth & 31)) >>> 0;
    path[word] = path[word]! | bit;
    walk6(db.record(record, 1), depth + 1);
    path[word] = path[word]! & ~bit;
  }

  /** Returns true where an IPv6 walk must not go on: IPv4 addresses never reach the IPv6 table. */
  function skips(record: number, depth: number): boolean {
    if (depth === 96 && path[0] === 0 && path[1] === 0) return path[2] === 0 || path[2] === 0xffff;
    if (record !== v4Start || record >= nodeCount) return false;
    if (depth === 16 && path[0] === 0x2002_0000) aliases.sixToFour = true;
    else if (depth === 32 && path[0] === 0x2001_0000) aliases.teredo = true;
    else return false;
    return true;
  }

  walk4(v4Start, 0, 0);
  if (db.ipVersion === 6) walk6(0, 0);
  return aliases;
}

/** The record reached by 96 zero bits, or an earlier one that is not a node. */
function startOfV4(db: Mmdb): number {
  let record = 0;
  for (let depth = 0; depth < 96 && record < db.nodeCount; depth++) record = db.record(record, 0);
  return record;
}

/** Bits of word `index` behind the first `depth` of the address, all set. */
function hostBits(index: number, depth: number): number {
  const bits = depth - 32 * index;
  if (bits <= 0) return 0xffffffff;
  return bits >= 32 ? 0 : 0xffffffff >>> bits;
}
