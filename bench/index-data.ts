/**
 * Tables for the index benches. Clustered: hosts in 12,000 /24s of 2,000 /16s, as blocklists
 * have them. Mixed: the same, with one entry in a hundred a /20 to /28, so that nearly every
 * node has covers. Sparse: hosts anywhere. Seeded, so every run is alike.
 */

import { seededRandom } from '../src/core/random.ts';
import { hostMask, type IndexPrefix } from '../src/index/prefix.ts';

export function prefix4(address: number, length: number): IndexPrefix {
  return { family: 4, words: Uint32Array.of(address & ~hostMask(length)), length };
}

function prefix6(words: ArrayLike<number>, length: number): IndexPrefix {
  const out = Uint32Array.from({ length: 4 }, (_, i) => words[i]! & ~hostMask(length - 32 * i));
  return { family: 6, words: out, length };
}

export interface Dice {
  next(): number;
  below(limit: number): number;
  word(): number;
}

export function dice(seed: number): Dice {
  const { next } = seededRandom(seed);
  const below = (limit: number): number => Math.floor(next() * limit);
  return { next, below, word: () => below(4_294_967_296) };
}

/** Endless; may repeat itself. */
export function* clustered({ next, below, word }: Dice, cidrShare = 0): Generator<IndexPrefix> {
  const sites = Array.from({ length: 2_000 }, () => word() & 0xffff_0000);
  const nets = Array.from({ length: 12_000 }, () => sites[below(2_000)]! | (below(256) << 8));
  for (;;) {
    const net = nets[below(nets.length)]!;
    yield prefix4(net | below(256), next() >= cidrShare ? 32 : 20 + below(9));
  }
}

export function* sparse({ word }: Dice): Generator<IndexPrefix> {
  for (;;) yield prefix4(word(), 32);
}

/** Hosts in /64s of providers' /32s, one in fifty a /48 to /64. */
export function* clustered6({ next, below, word }: Dice): Generator<IndexPrefix> {
  const sites = Array.from({ length: 3_000 }, () => 0x2400_0000 | below(0x0c00_0000));
  const nets = Array.from({ length: 60_000 }, () => [sites[below(3_000)]!, word()] as const);
  for (;;) {
    const [w0, w1] = nets[below(nets.length)]!;
    const isDense = next() < 0.5;
    const host = isDense ? [0, below(4096)] : [word(), word()];
    yield prefix6([w0, w1, ...host], next() < 0.98 ? 128 : 48 + below(17));
  }
}

export interface Adversary {
  readonly name: string;
  /** Bytes per entry that nodes and key blocks may take; records and roots apart. */
  readonly bytesMax: number;
  prefixes(): Iterable<IndexPrefix>;
}

/** Sets of about `count` prefixes made to waste memory or time. */
export function adversaries(count: number): Adversary[] {
  return [
    {
      name: 'one host in each of many /24s',
      bytesMax: 20,
      *prefixes() {
        for (let i = 0; i < count; i++) yield prefix4((i << 8) | (i & 255), 32);
      },
    },
    {
      name: 'two hosts in each of many /24s',
      bytesMax: 50,
      *prefixes() {
        for (let i = 0; i < count; i++) yield prefix4(((i >> 1) << 8) | (i & 1), 32);
      },
    },
    {
      name: 'two /25s in each of many /24s, apart',
      bytesMax: 80,
      *prefixes() {
        for (let i = 0; i < count; i++) yield prefix4(((i >> 1) << 16) | ((i & 1) << 7), 25);
      },
    },
    {
      name: 'IPv4 chains of every length',
      bytesMax: 30,
      *prefixes() {
        for (let i = 0; i < count; i++) yield prefix4(Math.imul(i >> 5, 0x9e37_79b1), 1 + (i & 31));
      },
    },
    {
      name: 'IPv6 chains of every length',
      bytesMax: 80,
      *prefixes() {
        for (let i = 0; i < count; i++) {
          const hash = Math.imul(i >> 7, 0x9e37_79b1);
          yield prefix6([hash, hash ^ -1, hash, hash ^ -1], 1 + (i & 127));
        }
      },
    },
    {
      name: 'deep IPv6 siblings',
      bytesMax: 120,
      *prefixes() {
        for (let i = 0; i < count; i++) {
          const hash = Math.imul(i >> 1, 0x9e37_79b1);
          yield prefix6([0x2001_0db8, hash, hash ^ -1, i & 1], 128);
        }
      },
    },
    {
      name: 'IPv6 prefixes that part in the last byte of their length',
      bytesMax: 160,
      *prefixes() {
        for (let i = 0; i < count; i++) {
          const hash = Math.imul(i >> 1, 0x9e37_79b1);
          yield prefix6([0x2001_0db8, hash, hash ^ -1, (i & 1) << 7], 121 + (i & 1));
        }
      },
    },
  ];
}
