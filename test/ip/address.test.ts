/** The strict parser against vectors, `node:net` and `ipaddr.js`, and the canonical format. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { isIP, SocketAddress } from 'node:net';
import { test } from 'node:test';
import ipaddr from 'ipaddr.js';
import { formatIp, parseIp, parseIpBytes } from '../../src/ip/address.ts';
import {
  groupsToWords,
  mutate,
  quadText,
  randomGarbage,
  randomGroups,
  randomWord,
  seeded,
  spellGroups,
} from '../support/reputation/addresses.ts';

function canonical(text: string): string {
  const words = new Uint32Array(4);
  const family = parseIp(text, words);
  const bytes = Buffer.from(`7${text}7`);
  const byteWords = new Uint32Array(4);
  assert.equal(parseIpBytes(bytes, 1, bytes.length - 1, byteWords), family, text);
  assert.deepEqual(byteWords, words, text);
  return family === 0 ? '-' : formatIp(family, words);
}

/** The same answer by Node's validator and `ipaddr.js`, which fold and print on their own. */
function reference(text: string): string {
  if (text.length > 45 || text.includes('%') || isIP(text) === 0) return '-';
  // The library reads "::1.2.3.4" as IPv4-mapped; RFC 4291 has it IPv4-compatible.
  const compatible = /^::(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(text)?.slice(1).map(Number);
  const [a, b, c, d] = compatible ?? [];
  const plain = compatible
    ? `::${(a! * 256 + b!).toString(16)}:${(c! * 256 + d!).toString(16)}`
    : text;
  const address = ipaddr.process(plain);
  return address.kind() === 'ipv6'
    ? (address as ipaddr.IPv6).toRFC5952String()
    : address.toString();
}

test('every vector has the expected canonical text', () => {
  const lines = readFileSync('test/vectors/ip.txt', 'utf8').split('\n');
  let cases = 0;
  for (const line of lines) {
    if (line === '' || line.startsWith('#')) continue;
    const [input, expected] = line.split('\t');
    assert.equal(canonical(JSON.parse(input!)), expected, line);
    cases++;
  }
  assert.ok(cases > 100);
});

test('valid spellings, mutations and garbage agree with node:net and ipaddr.js', () => {
  const seed = 20_260_101;
  const random = seeded(seed);
  let valid = 0;
  for (let i = 0; i < 60_000; i++) {
    let text =
      random.next() < 0.4
        ? quadText(randomWord(random))
        : spellGroups(random, randomGroups(random));
    if (random.next() < 0.6) text = mutate(random, text);
    if (random.next() < 0.1) text = randomGarbage(random);
    const expected = reference(text);
    if (expected !== '-') valid++;
    assert.equal(canonical(text), expected, `seed ${seed}, ${JSON.stringify(text)}`);
  }
  assert.ok(valid > 20_000 && valid < 50_000, `${valid} valid texts`);
});

test('every spelling of a mapped address is the IPv4 address', () => {
  const seed = 7;
  const random = seeded(seed);
  const words = new Uint32Array(4);
  for (let i = 0; i < 20_000; i++) {
    const word = randomWord(random);
    const text = spellGroups(random, [0, 0, 0, 0, 0, 0xffff, word >>> 16, word & 0xffff]);
    assert.equal(parseIp(text, words), 4, `seed ${seed}, ${text}`);
    assert.equal(words[0], word, `seed ${seed}, ${text}`);
  }
});

test('words hold the address, highest word first', () => {
  const seed = 11;
  const random = seeded(seed);
  const words = new Uint32Array(4);
  for (let i = 0; i < 5_000; i++) {
    const groups = randomGroups(random);
    groups[0] = groups[0]! | 0x2000;
    assert.equal(parseIp(spellGroups(random, groups), words), 6);
    assert.deepEqual([...words], [...groupsToWords(groups)], `seed ${seed}`);
  }
});

test('the format is a fixed point and equals what Node prints', () => {
  const seed = 13;
  const random = seeded(seed);
  const again = new Uint32Array(4);
  for (let i = 0; i < 5_000; i++) {
    const groups = randomGroups(random);
    groups[0] = groups[0]! | 1;
    const words = groupsToWords(groups);
    const text = formatIp(6, words);
    assert.equal(parseIp(text, again), 6);
    assert.deepEqual([...again], [...words], `seed ${seed}`);
    assert.equal(text, new SocketAddress({ address: text, family: 'ipv6' }).address);
  }
});

test('bytes are parsed inside their bounds only', () => {
  const seed = 17;
  const random = seeded(seed);
  const words = new Uint32Array(4);
  for (let i = 0; i < 5_000; i++) {
    const text = random.next() < 0.5 ? quadText(randomWord(random)) : '2001:db8::5';
    const around = Buffer.from(`9${text}5`);
    assert.equal(parseIpBytes(around, 1, 1 + text.length, words), isIP(text), `seed ${seed}`);
    const expected = isIP(text.slice(0, -1));
    assert.equal(parseIpBytes(around, 1, text.length, words), expected, `seed ${seed}, ${text}`);
  }
});

test('a byte above 0x7f is refused', () => {
  const words = new Uint32Array(4);
  for (let byte = 0x80; byte < 0x100; byte++) {
    assert.equal(parseIpBytes(Buffer.from([0x3a, 0x3a, byte]), 0, 3, words), 0);
    assert.equal(parseIp(`::${String.fromCharCode(byte)}`, words), 0);
    assert.equal(parseIp(`1.2.3.${String.fromCharCode(0x100 + 0x34)}`, words), 0);
  }
});

test('a refused text leaves the words as they were', () => {
  const words = Uint32Array.of(1, 2, 3, 4);
  for (const text of ['1.2.3', '::1::', '1:2:3:4:5:6:7:8:9', '::1.2.3.400', '']) {
    assert.equal(parseIp(text, words), 0);
    assert.deepEqual([...words], [1, 2, 3, 4]);
  }
});
