/** Addresses as people and other programs write them: which become plain ones, and that no other text does. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { parseIp } from '../../src/ip/address.ts';
import { parseOperatorPrefix } from '../../src/ip/operator-prefix.ts';
import { formatPrefix, parsePrefix } from '../../src/ip/prefix.ts';
import { typedAddress, typedBytes } from '../../src/ip/typed-address.ts';

const cases: Readonly<Record<string, string>> = {
  ' 1.2.3.4\t': '1.2.3.4',
  '\u00a01.2.3.4\u00a0': '1.2.3.4',
  '\ufeff1.2.3.4': '1.2.3.4',
  '1.2\u200b.3\u200d.4': '1.2.3.4',
  '\u202a1.2.3.4\u202c': '1.2.3.4',
  '\u20682001:db8::1\u2069': '2001:db8::1',
  '\u200e1.2.3.4\u200f': '1.2.3.4',
  '1.2\u00ad.3.4': '1.2.3.4',
  '\u20601.2.3.4\ufe0f': '1.2.3.4',
  '１．２．３．４': '1.2.3.4',
  '1。2。3。4': '1.2.3.4',
  '1｡2｡3｡4': '1.2.3.4',
  '２００１：ｄｂ８：：１': '2001:db8::1',
  '1.2.3.0／24': '1.2.3.0/24',
  '\u30001.2.3.4\u2003': '1.2.3.4',
  '1.2.3.4:443': '1.2.3.4',
  '[2001:db8::1]': '2001:db8::1',
  '[2001:db8::1]:9001': '2001:db8::1',
  '［2001:db8::1］：９００１': '2001:db8::1',
  '[1.2.3.4]:80': '1.2.3.4',
  '[2001:db8::]/32': '2001:db8::/32',
  '20.9.1.0 255.255.255.0': '20.9.1.0/255.255.255.0',
};

it('what nobody sees goes, full-width characters are plain, brackets and ports are left out', () => {
  for (const [text, plain] of Object.entries(cases)) {
    assert.equal(typedAddress(text), plain, JSON.stringify(text));
    assert.equal(typedBytes(Buffer.from(text).toString('latin1')), plain, JSON.stringify(text));
    // A reader of lines trims byte strings before.
    assert.equal(typedBytes(Buffer.from(text).toString('latin1').trim()), plain);
  }
});

it('nothing else becomes an address', () => {
  const words = new Uint32Array(4);
  const others = [
    '1.2.3.4:',
    '1.2.3.4:99999',
    '1.2.3.4:x',
    '[1.2.3.4',
    '1.2.3.4]',
    '[]',
    '[::1]:',
    '1.2.3',
  ];
  others.push(
    '[2001:db8::1]:99999',
    '2001:db8::1]:80',
    '[[::1]]',
    '[2001:db8::]:80/32',
    '1.2.3.4 5',
    '',
  );
  others.push('1.2.3.4:80:80', 'a1.2.3.4', '010.1.1.1', '1 .2.3.4', '1.2.3.4\n5.6.7.8', '١.٢.٣.٤');
  for (const text of others) assert.equal(parseIp(typedAddress(text), words), 0, text);
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 500 }), (text) => {
      typedAddress(text);
      typedBytes(text);
    }),
  );
});

it('a mask stands for its length in both families; one with holes and a wildcard are refused', () => {
  const good = {
    '20.9.1.0/255.255.255.0': '20.9.1.0/24',
    '20.9.1.7/255.255.255.255': '20.9.1.7/32',
    '0.0.0.0/0.0.0.0': '0.0.0.0/0',
    '20.8.0.0/255.254.0.0': '20.8.0.0/15',
    '2a00::/ffff:ffff::': '2a00::/32',
    '2a00::7/ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff': '2a00::7/128',
  };
  for (const [text, wanted] of Object.entries(good)) {
    for (const read of [parsePrefix, parseOperatorPrefix]) {
      const prefix = read(text);
      assert.ok(prefix.ok, text);
      assert.equal(formatPrefix(prefix.value), wanted);
    }
  }
  const bad = {
    '20.9.1.0/255.0.255.0': /holes/,
    '20.9.1.0/255.255.255.1': /holes/,
    '20.9.1.0/0.0.0.255': /wildcard: write \/24/,
    '20.9.0.0/0.0.255.255': /wildcard: write \/16/,
    '2a00::/0:0:ffff:ffff:ffff:ffff:ffff:ffff': /wildcard: write \/32/,
    '2a00::/255.255.0.0': /same family/,
    '20.9.1.0/ffff::': /same family/,
    '20.9.1.0/255.255.255': /same family/,
    '20.9.1.0/255.255.255.256': /same family/,
  };
  for (const [text, said] of Object.entries(bad)) {
    const prefix = parsePrefix(text);
    assert.ok(!prefix.ok && prefix.error === 'invalid_prefix', text);
    assert.match(prefix.detail ?? '', said, text);
  }
  const hostBits = parsePrefix('20.9.1.7/255.255.255.0');
  assert.ok(!hostBits.ok && hostBits.error === 'prefix_host_bits');
});
