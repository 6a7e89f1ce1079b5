/** Writes small MaxMind DB files for tests: 24-, 28- and 32-bit records, aliases, pointers. */

import { parsePrefix } from '../../../src/ip/prefix.ts';

export type FixtureValue =
  | string
  | number
  | boolean
  | FixtureValue[]
  | { [key: string]: FixtureValue };

interface FixtureOptions {
  readonly recordSize: 24 | 28 | 32;
  readonly ipVersion: 4 | 6;
  readonly networks: readonly (readonly [prefix: string, value: FixtureValue])[];
  /** IPv6 prefixes that point to the node above all IPv4 addresses. */
  readonly aliases?: readonly string[];
}

type Slot = number | { value: string } | undefined;

function encodeControl(type: number, size: number): Buffer {
  const head = size < 29 ? size : size < 285 ? 29 : 30;
  const extra =
    head === 29 ? [size - 29] : head === 30 ? [(size - 285) >> 8, (size - 285) & 255] : [];
  return type < 8
    ? Buffer.from([(type << 5) | head, ...extra])
    : Buffer.from([head, type - 7, ...extra]);
}

export function encodeValue(value: FixtureValue): Buffer {
  if (typeof value === 'string') {
    const bytes = Buffer.from(value);
    return Buffer.concat([encodeControl(2, bytes.length), bytes]);
  }
  if (typeof value === 'boolean') return encodeControl(14, value ? 1 : 0);
  if (typeof value === 'number') {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(value);
    return Buffer.concat([encodeControl(6, 4), bytes]);
  }
  if (Array.isArray(value)) {
    return Buffer.concat([encodeControl(11, value.length), ...value.map(encodeValue)]);
  }
  const entries = Object.entries(value);
  const parts = entries.flatMap(([key, each]) => [encodeValue(key), encodeValue(each)]);
  return Buffer.concat([encodeControl(7, entries.length), ...parts]);
}

/** A pointer of the given size class (0..3) to `offset` in the data section. */
export function encodePointer(kind: 0 | 1 | 2 | 3, offset: number): Buffer {
  const value = offset - [0, 2_048, 526_336, 0][kind]!;
  const bytes = [24, 16, 8, 0].slice(3 - kind).map((shift) => (value >>> shift) & 255);
  const high = kind === 3 ? 0 : Math.floor(value / 256 ** (kind + 1)) & 7;
  return Buffer.from([0x20 | (kind << 3) | high, ...bytes]);
}

function bitsOf(prefix: string, ipVersion: 4 | 6): number[] {
  // The parser would fold this one to 0.0.0.0/0.
  if (prefix === '::ffff:0:0/96') return [...new Array(80).fill(0), ...new Array(16).fill(1)];
  const parsed = parsePrefix(prefix);
  if (!parsed.ok) throw new Error(prefix);
  const { family, words, length } = parsed.value;
  const own = Array.from({ length }, (_, i) => (words[i >>> 5]! >>> (31 - (i & 31))) & 1);
  return family === 4 && ipVersion === 6 ? [...new Array(96).fill(0), ...own] : own;
}

/** Builds a file; networks later in the list are put inside or over earlier ones. */
export function buildMmdb(options: FixtureOptions): Buffer {
  const nodes: [Slot, Slot][] = [[undefined, undefined]];
  function descend(bits: readonly number[]): [node: number, side: 0 | 1] {
    let node = 0;
    for (const bit of bits.slice(0, -1)) {
      const slot = nodes[node]![bit as 0 | 1];
      if (typeof slot === 'number') node = slot;
      else {
        // A wider network is split in two halves that both keep its value.
        nodes[node]![bit as 0 | 1] = nodes.length;
        node = nodes.push([slot, slot]) - 1;
      }
    }
    return [node, (bits.at(-1) ?? 0) as 0 | 1];
  }
  for (const [prefix, value] of options.networks) {
    const [node, side] = descend(bitsOf(prefix, options.ipVersion));
    nodes[node]![side] = { value: JSON.stringify(value) };
  }
  if (options.aliases) {
    const [above, side] = descend(new Array(96).fill(0));
    if (typeof nodes[above]![side] !== 'number') throw new Error('no IPv4 networks to alias');
    for (const alias of options.aliases) {
      const [node, aliasSide] = descend(bitsOf(alias, 6));
      nodes[node]![aliasSide] = nodes[above]![side];
    }
  }
  const offsets = new Map<string, number>();
  const data: Buffer[] = [];
  let dataLength = 0;
  function record(slot: Slot): number {
    if (typeof slot === 'number') return slot;
    if (slot === undefined) return nodes.length;
    let offset = offsets.get(slot.value);
    if (offset === undefined) {
      const bytes = encodeValue(JSON.parse(slot.value));
      offset = dataLength;
      offsets.set(slot.value, offset);
      data.push(bytes);
      dataLength += bytes.length;
    }
    return nodes.length + 16 + offset;
  }
  const records = nodes.map(([left, right]): [number, number] => [record(left), record(right)]);
  return assembleMmdb(options, records, Buffer.concat(data));
}

/** The file around given records and a given data section, however senseless they are. */
export function assembleMmdb(
  options: Pick<FixtureOptions, 'recordSize' | 'ipVersion'>,
  records: readonly (readonly [number, number])[],
  data: Buffer,
): Buffer {
  const { recordSize, ipVersion } = options;
  const tree = records.map(([left, right]) => {
    if (recordSize === 28) {
      const hex = (value: number) => value.toString(16).padStart(7, '0');
      const [l, r] = [hex(left), hex(right)];
      return Buffer.from(`${l.slice(1)}${l[0]}${r[0]}${r.slice(1)}`, 'hex');
    }
    const bytes = recordSize / 8;
    const node = Buffer.alloc(2 * bytes);
    node.writeUIntBE(left, 0, bytes);
    node.writeUIntBE(right, bytes, bytes);
    return node;
  });
  const metadata = encodeValue({
    binary_format_major_version: 2,
    binary_format_minor_version: 0,
    build_epoch: 1_700_000_000,
    database_type: 'Fixture',
    description: {},
    ip_version: ipVersion,
    languages: ['en'],
    node_count: records.length,
    record_size: recordSize,
  });
  const marker = Buffer.from('\xab\xcd\xefMaxMind.com', 'latin1');
  return Buffer.concat([...tree, Buffer.alloc(16), data, marker, metadata]);
}
