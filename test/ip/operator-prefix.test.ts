/** What operators write is read twice: nothing that the strict parser refuses gets in. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import ipaddr from 'ipaddr.js';
import { parseOperatorPrefix } from '../../src/ip/operator-prefix.ts';
import { formatPrefix, parsePrefix } from '../../src/ip/prefix.ts';

function vectors(): string[] {
  return readFileSync('test/vectors/ip.txt', 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => JSON.parse(line.split('\t')[0]!) as string);
}

/** IPv4-compatible, long out of use: the library takes it for IPv4-mapped. */
const twoMeanings = /^::\d+\.\d+\.\d+\.\d+$/;

test('an address is read as the strict parser reads it, or not at all', () => {
  let read = 0;
  for (const text of vectors()) {
    for (const form of [
      text,
      `${text}/32`,
      `${text}/128`,
      `${text}/0`,
      `${text}/ 8`,
      `${text}/08`,
    ]) {
      const strict = parsePrefix(form);
      const both = parseOperatorPrefix(form);
      if (both.ok) {
        assert.deepEqual(both, strict, form);
        read++;
      } else if (strict.ok) assert.match(text, twoMeanings, form);
    }
  }
  assert.ok(read > 60, `${read}`);
});

test('what ipaddr.js alone would take is refused', () => {
  for (const text of ['0x7f.1', '010.1.1.1', '127.1', '2130706433', 'fe80::1%lo', '0x0a.0.0.0/8']) {
    const [address] = text.split('/');
    assert.equal(ipaddr.isValid(address!), true, text);
    assert.equal(parseOperatorPrefix(text).ok, false, text);
  }
});

test('networks of both families, and mapped ones, keep their meaning', () => {
  const cases = {
    '10.0.0.0/8': '10.0.0.0/8',
    '::ffff:10.0.0.0/104': '10.0.0.0/8',
    '::ffff:0:0/95': undefined,
    '2001:db8::/32': '2001:db8::/32',
    '2001:DB8:0:0::1': '2001:db8::1/128',
    '10.0.0.1/8': undefined,
    '::1.2.3.4': undefined,
  };
  for (const [text, expected] of Object.entries(cases)) {
    const prefix = parseOperatorPrefix(text);
    assert.equal(prefix.ok ? formatPrefix(prefix.value) : undefined, expected, text);
  }
});
