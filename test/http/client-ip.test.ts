/** Who is asking: the peer, or the walk over trusted proxies from the right. */
import assert from 'node:assert/strict';
import { isIP } from 'node:net';
import { test } from 'node:test';
import { type AddressRules, peerText, resolveClientIp } from '../../src/http/client-ip.ts';

const rules: AddressRules = {
  hasProxies: true,
  isTrusted: (ip) => ip.startsWith('10.'),
  normalise: (text) => (isIP(text) === 0 ? undefined : text),
};

test('the walk starts at the right and stops at the first untrusted hop', () => {
  const from = (peer: string, ...lines: string[]) => resolveClientIp(peer, lines, rules);
  assert.equal(from('9.9.9.9', '1.1.1.1'), '9.9.9.9', 'an untrusted peer is not believed');
  assert.equal(from('10.0.0.1', '1.1.1.1'), '1.1.1.1');
  assert.equal(from('10.0.0.1', '6.6.6.6, 1.1.1.1 ,10.0.0.2'), '1.1.1.1');
  assert.equal(from('10.0.0.1', '6.6.6.6', '1.1.1.1', '10.0.0.2'), '1.1.1.1', 'over all lines');
  assert.equal(from('10.0.0.1', '10.0.0.3,10.0.0.2'), '10.0.0.3');
  assert.equal(from('10.0.0.1', '1.1.1.1, unknown'), '10.0.0.1', 'a malformed entry stops it');
  assert.equal(from('10.0.0.1', '1.1.1.1, bad, 10.0.0.2'), '10.0.0.2');
  assert.equal(from('10.0.0.1', ''), '10.0.0.1');
  assert.equal(from('10.0.0.1'), '10.0.0.1');
  assert.equal(
    from('10.0.0.1', '1.1.1.1,'.repeat(5_000) + '10.1.1.1,'.repeat(40).slice(0, -1)),
    '10.1.1.1',
    'bounded',
  );
  assert.equal(
    resolveClientIp('10.0.0.1', ['1.1.1.1'], { ...rules, hasProxies: false }),
    '10.0.0.1',
  );
});

test('a hop may bring its port, in the ways proxies write it, and nothing else', () => {
  const from = (hop: string) => resolveClientIp('10.0.0.1', [hop], rules);
  for (const hop of ['203.0.113.5:51234', ' 203.0.113.5:1 ', '203.0.113.5:0']) {
    assert.equal(from(hop), '203.0.113.5', hop);
  }
  for (const hop of ['[2001:db8::1]:51234', '[2001:db8::1]', '2001:db8::1']) {
    assert.equal(from(hop), '2001:db8::1', hop);
  }
  assert.equal(from('6.6.6.6:1, 203.0.113.5:2, 10.0.0.2:3'), '203.0.113.5');
  for (const hop of [
    ...['unknown', '_x', '203.0.113.5:', '203.0.113.5:123456', '203.0.113.5:a', ':80', '[]:80'],
    ...['[203.0.113.5', '203.0.113.5]', '[[::1]]', '[::1]80', '[::1]:', '::1:99999x', '"1.1.1.1"'],
    ...['203.0.113.5:80:80', '203.0.113.5 :80', '1.1.1.1;2', 'for=1.1.1.1', '[x]:1'],
  ]) {
    assert.equal(from(hop), '10.0.0.1', hop);
  }
});

test('peer bytes become text, a mapped address the IPv4 one', () => {
  const mapped = [...new Array<number>(10).fill(0), 255, 255, 192, 0, 2, 1];
  assert.equal(peerText(Uint8Array.from(mapped), rules), '192.0.2.1');
  assert.equal(peerText(Uint8Array.from([192, 0, 2, 1]), rules), '192.0.2.1');
  const v6 = [0x20, 0x01, 0x0d, 0xb8, ...new Array<number>(11).fill(0), 1];
  assert.equal(peerText(Uint8Array.from(v6), rules), '2001:db8:0:0:0:0:0:1');
});
