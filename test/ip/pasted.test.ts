/** What people paste into the address box: every usual way to write an address, and no other text. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { formatIp, parseIp } from '../../src/ip/address.ts';
import { formatPrefix, widthOf } from '../../src/ip/prefix.ts';
import { addressesIn } from '../../src/ip/typed-address.ts';

const max = 10;
function namesIn(text: string): string[] {
  return addressesIn(text, max).found.map((prefix) =>
    prefix.length === widthOf(prefix.family)
      ? formatIp(prefix.family, prefix.words)
      : formatPrefix(prefix),
  );
}

const pasted: readonly (readonly [text: string, ...found: string[]])[] = [
  ['1.2.3.4', '1.2.3.4'],
  ['  2001:DB8:0::1 ', '2001:db8::1'],
  ['1.2.3.4:443', '1.2.3.4'],
  ['[2001:db8::1]:443', '2001:db8::1'],
  ['https://1.2.3.4/x?from=5.6.7.8#top', '1.2.3.4', '5.6.7.8'],
  ['http://user@[2001:db8::1]:8080/', '2001:db8::1'],
  ['hxxp://1[.]2[.]3[.]4/', '1.2.3.4'],
  ['1(.)2[dot]3{.}4', '1.2.3.4'],
  ['2001[:]db8[:][:]1', '2001:db8::1'],
  ['77.90.185.5/24', '77.90.185.0/24'],
  ['2001:db8::ff/32', '2001:db8::/32'],
  ['::ffff:1.2.3.4', '1.2.3.4'],
  ['2001:db8::1: connection refused', '2001:db8::1'],
  ['http://192.0.2.1/99', '192.0.2.1'],
  ['fe80::1%eth0', 'fe80::1'],
  ['Nov 21 09:12:33 host sshd[12]: Failed password from 203.0.113.7 port 22', '203.0.113.7'],
  ['203.0.113.7 - - [21/Nov/2026:09:12:33 +0000] "GET /1.2 HTTP/1.1"', '203.0.113.7'],
  ['src=10.0.0.1,dst=10.0.0.2;', '10.0.0.1', '10.0.0.2'],
  ['1.2.3.4\r\n1.2.3.4\n5.6.7.8', '1.2.3.4', '5.6.7.8'],
  ['It was 1.2.3.4.', '1.2.3.4'],
  ['\u200b1.2.3.4\ufeff', '1.2.3.4'],
  ['1.2.\u200b3.4', '1.2.3.4'],
  ['\u202a1.2.3.4\u202c and \u2066[2001:db8::1]\u2069', '1.2.3.4', '2001:db8::1'],
  ['\u00a01.2.3.4\u00a0', '1.2.3.4'],
  ['１．２．３．４', '1.2.3.4'],
  ['1。2。3。4', '1.2.3.4'],
  ['２００１：ｄｂ８：：１', '2001:db8::1'],
  ['20.9.1.0/255.255.255.0', '20.9.1.0/24'],
  ['1.2.3.4.5'],
  ['999.1.1.1'],
  ['01.02.03.04.net v1.2.3'],
  ['12:34:56'],
  ['aa:bb:cc:dd:ee:ff'],
  ['face beef dead.beef'],
  ['1.2.3.4x x1.2.3.4'],
  [''],
];

test('finds the addresses in what people paste, each once', () => {
  for (const [text, ...found] of pasted) assert.deepEqual(namesIn(text), found, text);
});

test('stops at the number that was asked for, and says so', () => {
  const text = Array.from({ length: 12 }, (_, n) => `192.0.2.${n}`).join(' ');
  const { found, more } = addressesIn(text, max);
  assert.equal(found.length, max);
  assert.equal(more, true);
  assert.equal(addressesIn(text, 12).more, false);
});

const leftOut: readonly (readonly [text: string, ...examples: string[]])[] = [
  ['192.0.2.1\n\nnothing 1.2.3\r\n192.0.2.1 again\nrubbish', 'nothing 1.2.3', 'rubbish'],
  ['45.148.10.240\n999.1.1.1\nfoo\n10.0.0.0/99', '999.1.1.1', 'foo', '10.0.0.0/99'],
  // As a box of one line has it.
  ['45.148.10.240 999.1.1.1 foo 10.0.0.0/99, 8.8.8.8', '999.1.1.1', 'foo', '10.0.0.0/99'],
  ['Failed password for 1.2.3.777 from 203.0.113.7 port 22', '1.2.3.777'],
  ['203.0.113.7 - - [21/Nov/2026:09:12:33 +0000] "GET /1.2 HTTP/1.1"'],
  ['http://192.0.2.1/99'],
  ['10.0.0.0/255.0.255.0\n2001:db8::/129', '10.0.0.0/255.0.255.0', '2001:db8::/129'],
  [`a\u0000${'b'.repeat(50)}`, `a ${'b'.repeat(37)}…`],
];

test('what is no address is counted and named: lines without one, words of a list, wrong lengths', () => {
  for (const [text, ...examples] of leftOut) {
    const { others } = addressesIn(text, 9);
    assert.equal(others.count, examples.length, text);
    assert.deepEqual(
      others.examples.map((other) => other.text),
      examples,
      text,
    );
  }
  const { count, examples } = addressesIn('x\n'.repeat(5_000), 9).others;
  assert.deepEqual([count, examples.length, examples[19]?.line], [5_000, 20, 20]);
  const { others } = addressesIn('192.0.2.1\n\nrubbish\r\n999.1.1.1', 9);
  assert.deepEqual(
    others.examples.map(({ line }) => line),
    [3, 4],
  );
});

test('every address is found between other words, however it is written', () => {
  const words = fc.uint32Array({ minLength: 4, maxLength: 4 });
  const around = fc.constantFrom(' ', '"', "'", ',', ';', '=', '<', '>', '(', ')', '\n', '|');
  fc.assert(
    fc.property(fc.constantFrom(4, 6), words, around, (family, anyWords, mark) => {
      const address = formatIp(family as 4 | 6, anyWords);
      assert.deepEqual(namesIn(`from${mark}${address}${mark}port`), namesIn(address), address);
      assert.equal(namesIn(address).length, 1, address);
    }),
  );
});

test('whatever the text is, it is read in time and gives addresses alone', () => {
  const hostile = fc.string({
    unit: fc.constantFrom(...'0123456789abcdef:./[]()x '),
    maxLength: 4_000,
  });
  const words = new Uint32Array(4);
  fc.assert(
    fc.property(hostile, (text) => {
      for (const name of namesIn(text)) assert.notEqual(parseIp(name.split('/')[0]!, words), 0);
    }),
  );
  for (const unit of [':', '1.', '1.1.1.1.', 'a', '::', '1:', '[.]', '1/'])
    namesIn(unit.repeat(20_000));
});
