/**
 * Address text to words and back, beside `ipaddr.js`: interleaved rounds,
 * the median of each. Nanoseconds per address.
 */

import ipaddr from 'ipaddr.js';
import { formatIp, type IpFamily, parseIp, parseIpBytes } from '../src/ip/address.ts';
import { seededRandom } from '../test/support/seeded.ts';
import { measure, type Subject, type Timing } from './rounds.ts';
import { atMost, type BenchRow } from './row.ts';

interface Sample {
  readonly family: IpFamily;
  readonly texts: readonly string[];
  readonly bytes: readonly Uint8Array[];
  readonly words: readonly Uint32Array[];
}

/** Random addresses: IPv4 over the whole space; IPv6 in 2000::/3, most with a `::`. */
function sampleOf(family: IpFamily, count: number): Sample {
  const random = seededRandom(family);
  const words = Array.from({ length: count }, () => {
    const word = () => Math.floor(random.next() * 0x1_0000_0000);
    if (family === 4) return Uint32Array.of(word(), 0, 0, 0);
    const top = (0x2000_0000 | (word() & 0x1fff_ffff)) >>> 0;
    return Uint32Array.of(top, word(), random.next() < 0.6 ? 0 : word(), word());
  });
  // Through bytes, so that each is a flat string, as one from a request is.
  const texts = words.map((each) => Buffer.from(formatIp(family, each)).toString('latin1'));
  return { family, texts, bytes: texts.map((text) => Buffer.from(text)), words };
}

/** Median nanoseconds per item of each function, the functions taking turns in every round. */
function race<Name extends string>(
  rounds: number,
  count: number,
  runners: Readonly<Record<Name, () => number>>,
): Record<Name, number> {
  const passes = Math.ceil(count / 100);
  const subjects = Object.entries<() => number>(runners).map(([name, runner]) => {
    const run = () => {
      let sum = 0;
      for (let pass = 0; pass < passes; pass++) sum += runner();
      return sum;
    };
    return [name, { operations: count * passes, run }] as const;
  });
  const timings = measure(Object.fromEntries(subjects) as Record<Name, Subject>, rounds);
  const medians = Object.entries<Timing>(timings).map(([name, { median }]) => [name, median]);
  return Object.fromEntries(medians) as Record<Name, number>;
}

function row(
  name: string,
  ours: number,
  peer: string,
  peerValue: number,
  goalNs?: number,
): BenchRow {
  const base = { name, unit: 'ns', ours, peer, peerValue, ratio: peerValue / ours };
  return goalNs === undefined ? base : { ...base, ...atMost(ours, goalNs, 'ns') };
}

function benchFamily(family: IpFamily, count: number, rounds: number): BenchRow[] {
  const { texts, bytes, words } = sampleOf(family, count);
  const out = new Uint32Array(4);
  const times = race(rounds, count, {
    parse: () => {
      let sum = 0;
      for (const text of texts) sum += parseIp(text, out) ^ (out[0]! & 1);
      return sum;
    },
    parseBytes: () => {
      let sum = 0;
      for (const each of bytes) sum += parseIpBytes(each, 0, each.length, out) ^ (out[0]! & 1);
      return sum;
    },
    peerParse: () => {
      let sum = 0;
      for (const text of texts) sum += ipaddr.parse(text).toByteArray()[0]!;
      return sum;
    },
    format: () => {
      let sum = 0;
      for (const each of words) sum += formatIp(family, each).length;
      return sum;
    },
    peerFormat: () => {
      let sum = 0;
      for (const text of texts) sum += ipaddr.parse(text).toString().length;
      return sum;
    },
  });
  const { parse, parseBytes, peerParse, format, peerFormat } = times;
  const goalNs = family === 4 ? 60 : 120;
  return [
    row(`parse v${family} text`, parse, 'ipaddr.js parse', peerParse, goalNs),
    row(`parse v${family} bytes`, parseBytes, 'ipaddr.js parse', peerParse, goalNs),
    {
      ...row(`format v${family}`, format, 'ipaddr.js toString', peerFormat - peerParse),
      note: 'peer: parse and print, less the time of its parse',
    },
  ];
}

export async function run(size: 'tiny' | 'full'): Promise<BenchRow[]> {
  // Few enough to stay in the cache, as the text of the request at hand is.
  const count = size === 'full' ? 4_000 : 200;
  const rounds = size === 'full' ? 9 : 5;
  return [...benchFamily(4, count, rounds), ...benchFamily(6, count, rounds)];
}
