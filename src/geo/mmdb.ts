/**
 * MaxMind DB files (format 2.0), read with every offset checked: whatever the bytes say, a read
 * stays inside the file, a value costs a bounded number of steps, and a broken file throws
 * `MmdbError`, which callers turn into a warning.
 *
 *   search tree: node 0 | node 1 | ... | node n-1      (two records of 24, 28 or 32 bits each)
 *   16 zero bytes
 *   data section: maps, strings, numbers, pointers
 *   "\xab\xcd\xefMaxMind.com", metadata map
 *
 * A record below n is a node, n is "nothing", and above n it is an offset: n + 16 is the first
 * byte of the data section.
 */

import type { RangeSink } from './partition.ts';

class MmdbError extends Error {
  override readonly name = 'MmdbError';
}

export type MmdbValue = string | number | boolean | MmdbValue[] | Map<string, MmdbValue>;

type Mmdb = ReturnType<typeof openMmdb>;

const marker = Buffer.from('\xab\xcd\xefMaxMind.com', 'latin1');
const metadataLengthMax = 128 * 1024;
const separatorLength = 16;
const depthMax = 16;
/** Values read for one record; City records of eight languages take about 150. */
const stepsMax = 4_096;

/** Throws `MmdbError` when the file is not a readable MaxMind DB. */
export function openMmdb(bytes: Buffer) {
  const found = bytes.lastIndexOf(marker);
  if (found < 0 || bytes.length - found > metadataLengthMax) {
    throw new MmdbError('no MaxMind metadata at the end of the file');
  }
  const metadataStart = found + marker.length;
  const metadata = createDecoder(bytes, metadataStart, bytes.length)(metadataStart);
  if (!(metadata instanceof Map)) throw new MmdbError('the metadata is not a map');
  const nodeCount = metadata.get('node_count');
  const recordSize = metadata.get('record_size');
  const ipVersion = metadata.get('ip_version');
  if (typeof nodeCount !== 'number' || nodeCount < 1) throw new MmdbError('no nodes');
  if (recordSize !== 24 && recordSize !== 28 && recordSize !== 32) {
    throw new MmdbError('unsupported record size');
  }
  if (ipVersion !== 4 && ipVersion !== 6) throw new MmdbError('unsupported IP version');
  const treeSize = (nodeCount * recordSize) / 4;
  if (treeSize + separatorLength > found) throw new MmdbError('the search tree is cut off');
  const decode = createDecoder(bytes, treeSize + separatorLength, found);
  const buildEpoch = metadata.get('build_epoch');
  return {
    ipVersion,
    databaseType: String(metadata.get('database_type') ?? ''),
    /** Seconds since 1970. */
    buildEpoch: typeof buildEpoch === 'number' ? buildEpoch : 0,
    nodeCount,
    /** Reads the record of `node` on side 0 (left) or 1 (right). */
    record: recordReader(bytes, recordSize),
    /** Reads the value that a record above `nodeCount` points to. */
    decode(record: number): MmdbValue {
      if (record < nodeCount + separatorLength) throw new MmdbError('a record points nowhere');
      return decode(treeSize + record - nodeCount);
    },
  };
}

/** Nodes are below `nodeCount` and the tree lies inside the file, so these reads can't overrun. */
function recordReader(
  bytes: Buffer,
  recordSize: 24 | 28 | 32,
): (node: number, side: number) => number {
  if (recordSize === 24) return (node, side) => bytes.readUIntBE(node * 6 + side * 3, 3);
  if (recordSize === 32) return (node, side) => bytes.readUInt32BE(node * 8 + side * 4);
  return (node, side) => {
    // The middle byte holds the top four bits of both: left in its high half.
    const at = node * 7;
    const middle = bytes[at + 3]!;
    const top = side === 0 ? middle >>> 4 : middle & 0x0f;
    return top * 0x100_0000 + bytes.readUIntBE(at + side * 4, 3);
  };
}

const pointerBase = [0, 2_048, 526_336, 0] as const;

/** Decodes values inside `[start, end)`; pointers count from `start`. */
function createDecoder(bytes: Buffer, start: number, end: number): (offset: number) => MmdbValue {
  let at = 0;
  let steps = 0;

  function uint(length: number): number {
    if (length > end - at) throw new MmdbError('a value reaches past its section');
    let value = 0;
    for (let i = 0; i < length; i++) value = value * 256 + bytes[at++]!;
    return value;
  }

  function sizeOf(control: number): number {
    const size = control & 0x1f;
    if (size < 29) return size;
    if (size === 29) return 29 + uint(1);
    return size === 30 ? 285 + uint(2) : 65_821 + uint(3);
  }

  function pointer(control: number, depth: number): MmdbValue {
    const kind = (control >>> 3) & 3;
    const high = kind === 3 ? 0 : (control & 7) * 256 ** (kind + 1);
    const target = start + high + uint(kind + 1) + pointerBase[kind]!;
    const back = at;
    at = target;
    const value = valueAt(depth + 1);
    at = back;
    return value;
  }

  function text(size: number): string {
    if (size > end - at) throw new MmdbError('a string reaches past its section');
    at += size;
    return bytes.toString('utf8', at - size, at);
  }

  function map(size: number, depth: number): MmdbValue {
    const entries = new Map<string, MmdbValue>();
    for (let i = 0; i < size; i++) {
      const key = valueAt(depth + 1);
      if (typeof key !== 'string') throw new MmdbError('a map key is not a string');
      entries.set(key, valueAt(depth + 1));
    }
    return entries;
  }

  function list(size: number, depth: number): MmdbValue {
    const items: MmdbValue[] = [];
    for (let i = 0; i < size; i++) items.push(valueAt(depth + 1));
    return items;
  }

  function valueAt(depth: number): MmdbValue {
    if (depth > depthMax || ++steps > stepsMax) throw new MmdbError('a value is nested too deep');
    if (at < start || at >= end) throw new MmdbError('a value lies outside of its section');
    const control = bytes[at++]!;
    const short = control >>> 5;
    if (short === 1) return pointer(control, depth);
    const type = short === 0 ? 7 + uint(1) : short;
    const size = sizeOf(control);
    switch (type) {
      case 2:
        return text(size);
      case 7:
        return map(size, depth);
      case 11:
        return list(size, depth);
      case 14:
        return size !== 0;
      // Doubles, bytes, integers and floats: only small unsigned ones are ever asked for.
      case 3:
      case 4:
      case 5:
      case 6:
      case 8:
      case 9:
      case 10:
      case 15:
        if (size > 16) {
          text(size);
          return 0;
        }
        return uint(size);
      default:
        throw new MmdbError('an unknown type of value');
    }
  }

  return (offset) => {
    at = offset;
    steps = 0;
    return valueAt(0);
  };
}

// Every network of a MaxMind DB in address order. The tree comes from a file, so the walk
// trusts nothing: its depth ends with the address bits and its visits are counted, which stops
// loops and records that share subtrees over and over.
//
// An IPv6 tree holds IPv4 under ::/96. Other places may point to that very node: 2002::/16
// (6to4), 2001::/32 (Teredo) and ::ffff:0:0/96. They are not walked again but reported, so that
// a reader can take the embedded IPv4 address to the IPv4 table.

interface WalkResult {
  /** 2002::/16 answers as the IPv4 address in bits 16..47. */
  readonly sixToFour: boolean;
  /** 2001::/32 answers as the IPv4 address in bits 32..63. */
  readonly teredo: boolean;
}

/** A tree visits each node once; shared subtrees of other writers may add some. */
const visitsPerNodeMax = 8;

export function walkMmdb(
  db: Mmdb,
  v4: RangeSink,
  v6: RangeSink,
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
