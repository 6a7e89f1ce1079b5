/** Prefixes and ranges against plain big-integer arithmetic and brute force. */

import assert from 'node:assert/strict';
import { BlockList } from 'node:net';
import { test } from 'node:test';
import { formatIp, type IpFamily } from '../../src/ip/address.ts';
import {
  contains,
  formatPrefix,
  maskWords,
  type Prefix,
  parsePrefix,
  parseRange,
  rangeToPrefixes,
  widthOf,
} from '../../src/ip/prefix.ts';
import { value } from '../support/house/result.ts';
import {
  below,
  bigIntToWords,
  pick,
  type Seeded,
  seeded,
  wordsToBigInt,
} from '../support/reputation/addresses.ts';

function randomValue(random: Seeded, family: IpFamily): bigint {
  let bits = 0n;
  for (let i = 0; i < widthOf(family); i += 16)
    bits = (bits << 16n) | BigInt(below(random, 65_536));
  return bits;
}

test('prefixes are parsed and printed canonically', () => {
  const cases: [string, string][] = [
    ['10.0.0.0/8', '10.0.0.0/8'],
    ['0.0.0.0/0', '0.0.0.0/0'],
    ['192.0.2.7', '192.0.2.7/32'],
    ['2001:DB8::/32', '2001:db8::/32'],
    ['::/0', '::/0'],
    ['::1', '::1/128'],
    ['::ffff:10.0.0.0/104', '10.0.0.0/8'],
    ['::ffff:0:0/96', '0.0.0.0/0'],
    ['::ffff:1.2.3.4', '1.2.3.4/32'],
    ['::ffff:1.2.3.4/128', '1.2.3.4/32'],
  ];
  for (const [text, expected] of cases) {
    assert.equal(formatPrefix(value(parsePrefix(text))), expected);
  }
});

test('malformed prefixes are refused', () => {
  const texts = ['', '/', '/8', '1.2.3.4/', '1.2.3.4/33', '1.2.3.4/-1', '1.2.3.4/+8', '1.2.3.4/08'];
  texts.push('1.2.3.4/8/8', '1.2.3.4/8 ', '1.2.3.4 /8', '::/129', '::/0128', '::/', 'x/8', '10/8');
  texts.push('1.2.3.0/255.0.255.0', '1.2.3.4/1e1', '1.2.3.4/٨', '1.2.3.4/4294967304', '[::]/0');
  texts.push(`${'1'.repeat(60)}/8`);
  for (const text of texts) {
    const result = parsePrefix(text, 'mask');
    assert.equal(result.ok ? 'ok' : result.error, 'invalid_prefix', text);
  }
});

test('host bits are refused, or masked when asked', () => {
  const cases: [string, string][] = [
    ['10.0.0.1/8', '10.0.0.0/8'],
    ['255.255.255.255/0', '0.0.0.0/0'],
    ['2001:db8::1/64', '2001:db8::/64'],
    ['::ffff:10.1.2.3/104', '10.0.0.0/8'],
    ['::ffff:10.1.2.3/90', '::ffc0:0:0/90'],
    ['::ffff:0:0/80', '::/80'],
  ];
  for (const [text, masked] of cases) {
    const refused = parsePrefix(text);
    assert.equal(refused.ok ? 'ok' : refused.error, 'prefix_host_bits', text);
    assert.equal(formatPrefix(value(parsePrefix(text, 'mask'))), masked);
  }
});

test('mask and contains agree with big-integer arithmetic', () => {
  const seed = 23;
  const random = seeded(seed);
  for (let i = 0; i < 5_000; i++) {
    const family = pick(random, [4, 6] as const);
    const width = widthOf(family);
    const length = below(random, width + 1);
    const address = randomValue(random, family);
    const shift = BigInt(width - length);
    const words = bigIntToWords(family, address);
    maskWords(family, words, length);
    assert.equal(wordsToBigInt(family, words), (address >> shift) << shift, `seed ${seed}`);
    const prefix: Prefix = { family, words, length };
    const flipped = address ^ (1n << BigInt(below(random, width)));
    const inside = flipped >> shift === address >> shift;
    assert.equal(contains(prefix, family, bigIntToWords(family, flipped)), inside, `seed ${seed}`);
    assert.equal(contains(prefix, family === 4 ? 6 : 4, words), false);
  }
});

test('ranges are parsed with or without spaces', () => {
  const range = value(parseRange('10.0.0.1 - 10.0.0.9'));
  assert.equal(range.family, 4);
  assert.deepEqual([range.first[0], range.last[0]], [0x0a000001, 0x0a000009]);
  assert.equal(value(parseRange('::1-::2')).family, 6);
  assert.equal(value(parseRange('::ffff:1.2.3.4-1.2.3.5')).family, 4);
  for (const text of [
    '',
    '-',
    '1.2.3.4',
    '1.2.3.4-',
    '1.2.3.4-1.2.3',
    '1.2.3.4-::1',
    '2.0.0.0-1.0.0.0',
  ]) {
    const result = parseRange(text);
    assert.equal(result.ok ? 'ok' : result.error, 'invalid_range', text);
  }
  assert.equal(parseRange('1.2.3.4-\t1.2.3.5').ok, false);
  assert.equal(parseRange('1.2.3.4-1.2.3.5-1.2.3.6').ok, false);
});

/** Fewest prefixes by splitting the whole space in halves: right by construction, and slow. */
function coverByHalving(family: IpFamily, first: bigint, last: bigint): string[] {
  const width = widthOf(family);
  const found: string[] = [];
  const visit = (start: bigint, length: number): void => {
    const end = start + (1n << BigInt(width - length)) - 1n;
    if (end < first || start > last) return;
    if (start >= first && end <= last) {
      found.push(`${formatIp(family, bigIntToWords(family, start))}/${length}`);
      return;
    }
    visit(start, length + 1);
    visit(start + (1n << BigInt(width - length - 1)), length + 1);
  };
  visit(0n, 0);
  return found;
}

test('a range is covered exactly by the fewest prefixes', () => {
  const seed = 29;
  const random = seeded(seed);
  for (let i = 0; i < 600; i++) {
    const family = pick(random, [4, 6] as const);
    const width = widthOf(family);
    const max = (1n << BigInt(width)) - 1n;
    const a = randomValue(random, family);
    const span = randomValue(random, family) >> BigInt(below(random, width));
    const first = random.next() < 0.05 ? 0n : a;
    const last = random.next() < 0.05 ? max : first + span > max ? max : first + span;
    const words = [bigIntToWords(family, first), bigIntToWords(family, last)] as const;
    const cover = rangeToPrefixes(family, ...words).map(formatPrefix);
    assert.deepEqual(cover, coverByHalving(family, first, last), `seed ${seed}, ${first}-${last}`);
  }
});

test('the widest ranges need 62 and 254 prefixes, the whole space one, an empty range none', () => {
  const count = (family: IpFamily, first: bigint, last: bigint) =>
    rangeToPrefixes(family, bigIntToWords(family, first), bigIntToWords(family, last)).length;
  assert.equal(count(4, 1n, (1n << 32n) - 2n), 62);
  assert.equal(count(6, 1n, (1n << 128n) - 2n), 254);
  assert.equal(count(4, 0n, (1n << 32n) - 1n), 1);
  assert.equal(count(6, 0n, (1n << 128n) - 1n), 1);
  assert.equal(count(4, 2n, 1n), 0);
});

test('containment agrees with net.BlockList', () => {
  const seed = 31;
  const random = seeded(seed);
  for (let i = 0; i < 300; i++) {
    const family = pick(random, [4, 6] as const);
    const length = 1 + below(random, widthOf(family));
    const address = randomValue(random, family);
    const words = bigIntToWords(family, address);
    maskWords(family, words, length);
    const list = new BlockList();
    const name = family === 4 ? 'ipv4' : 'ipv6';
    list.addSubnet(formatIp(family, words), length, name);
    const other = bigIntToWords(family, address ^ (1n << BigInt(below(random, widthOf(family)))));
    // BlockList folds mapped addresses on its own; random ones are never mapped.
    assert.equal(
      contains({ family, words, length }, family, other),
      list.check(formatIp(family, other), name),
      `seed ${seed}`,
    );
  }
});
