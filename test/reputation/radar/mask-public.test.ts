/** What is masked in comments that everybody may watch, and what stays. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { maskPublic } from '../../../src/reputation/radar/latest.ts';

const masked: readonly (readonly [string, string])[] = [
  ['login as bob@example.org', 'login as [email]'],
  ['bob[at]example.org and bob%40example.org', '[email] and [email]'],
  ['from 203.0.113[.]7 to 2001:db8::1', 'from [address] to [address]'],
  ['b\u200bob@exam\u00adple.org', '[email]'],
  ['call +49 (170) 123-45 67 now', 'call [number] now'],
  ['card 4111 1111 1111 1111', 'card [number]'],
  ['account 1234567', 'account [number]'],
  ['Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln', 'Bearer [token]'],
  ['session=0123456789abcdef0123456789abcdef', 'session=[credentials]'],
  ['/?token=abc&x=1', '/?token=[credentials]&x=1'],
  [`AKIA${'Q7'.repeat(12)}`, '[token]'],
  ['x'.repeat(41), '[token]'],
  ['SSH brute force, 14 tries on port 22', 'SSH brute force, 14 tries on port 22'],
  ['at 12:34:56 with PHP/8.2.1', 'at 12:34:56 with PHP/8.2.1'],
  ['<script>alert(1)</script>', '<script>alert(1)</script>'],
  ['', ''],
];

for (const [text, expected] of masked) {
  it(`"${text.slice(0, 50)}" is shown as "${expected}"`, () => {
    assert.equal(maskPublic(text), expected);
  });
}

it('a long comment is cut, and a hostile one ends', () => {
  const long = maskPublic('many words '.repeat(100));
  assert.ok(long.length <= 161 && long.endsWith('…'));
  for (const piece of ['1', '1 ', '+1-', 'a@', '(', '1.', 'a.', '::', '=']) {
    assert.ok(maskPublic(piece.repeat(5_000)).length <= 161);
  }
});
