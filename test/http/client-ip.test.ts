/** Who is asking: the peer, or the walk over trusted proxies from the right. */
import assert from 'node:assert/strict';
import { isIP } from 'node:net';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  type AddressRules,
  isBehindTls,
  peerText,
  type ResolvedClient,
  resolveClient,
} from '../../src/http/request/client-ip.ts';

const rules: AddressRules = {
  hasProxies: true,
  isTrusted: (ip) => ip.startsWith('10.'),
  normalise: (text) => (isIP(text) === 0 ? undefined : text),
};

const resolve = (
  peer: string,
  xForwardedFor: readonly string[],
  forwarded: readonly string[] = [],
) => resolveClient(peer, { xForwardedFor, forwarded }, rules);

test('the walk starts at the right and stops at the first untrusted hop', () => {
  const from = (peer: string, ...lines: string[]) => resolve(peer, lines).ip;
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
    resolveClient(
      '10.0.0.1',
      { xForwardedFor: ['1.1.1.1'], forwarded: ['for=1.1.1.1'] },
      { ...rules, hasProxies: false },
    ).ip,
    '10.0.0.1',
  );
});

test('a hop may bring its port, in the ways proxies write it, and nothing else', () => {
  const from = (hop: string) => resolve('10.0.0.1', [hop]).ip;
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

const client = ({ ip, standing }: ResolvedClient) => `${ip} ${standing}`;

test('it is known whether a trusted proxy named the address', () => {
  const from = (peer: string, ...lines: string[]) => client(resolve(peer, lines));
  assert.equal(from('9.9.9.9', '1.1.1.1'), '9.9.9.9 untrusted');
  assert.equal(from('10.0.0.1'), '10.0.0.1 silent');
  assert.equal(from('10.0.0.1', ''), '10.0.0.1 unreadable');
  assert.equal(from('10.0.0.1', '1.1.1.1, unknown'), '10.0.0.1 unreadable');
  assert.equal(from('10.0.0.1', 'x, 10.0.0.2'), '10.0.0.2 unreadable');
  assert.equal(from('10.0.0.1', 'x, 1.1.1.1'), '1.1.1.1 named');
  assert.equal(from('10.0.0.1', '10.0.0.2'), '10.0.0.2 named', 'a proxy that visits itself');
  assert.equal(from('10.0.0.1', `1.1.1.1${',10.1.1.1'.repeat(40)}`), '10.1.1.1 unreadable');
});

test('Forwarded is read by the letter of RFC 7239', () => {
  const from = (...lines: string[]) => client(resolve('10.0.0.1', [], lines));
  for (const line of [
    ...['for=1.1.1.1', 'For=1.1.1.1', 'for="1.1.1.1"', 'for="1.1.1.1:80"', 'for="1.1.1.1:_p"'],
    ...[
      'for=1.1.1.1;proto=https;by=2.2.2.2',
      'proto=https; for=1.1.1.1 ; host="a:8"',
      'x, for=1.1.1.1',
    ],
    ...[
      'for=6.6.6.6, for=1.1.1.1',
      'for=1.1.1.1, for=10.0.0.2',
      ' ,for=1.1.1.1, ,',
      'for=1.1.1.1;',
    ],
    ...['for="\\1.1.1.1"', 'ext="a\\"b, for=2.2.2.2";for=1.1.1.1', 'for="", for=1.1.1.1'],
  ]) {
    const expected = line.startsWith('x,') ? '10.0.0.1 unreadable' : '1.1.1.1 named';
    assert.equal(from(line), expected, line);
  }
  for (const line of [
    'for="[2001:db8::1]"',
    'for="[2001:db8::1]:4711"',
    'FOR="[2001:db8::1]:_x"',
  ]) {
    assert.equal(from(line), '2001:db8::1 named', line);
  }
  assert.equal(from('for=6.6.6.6', 'for=1.1.1.1', 'for=10.0.0.2'), '1.1.1.1 named', 'over lines');
  assert.equal(from('for="6', 'for=1.1.1.1'), '1.1.1.1 named', 'a quote ends with its line');
  for (const line of [
    ...['', ',', ';', 'for', 'for=', '=1.1.1.1', '1.1.1.1', 'for=unknown', 'for=_hidden', 'for=""'],
    ...['for=_1.1.1.1', 'by=1.1.1.1', 'for=1.1.1.1:80', 'for=[2001:db8::1]', 'for=2001:db8::1'],
    ...['for="2001:db8::1"', 'for="[1.1.1.1]"', 'for="[::1"', 'for="::1]"', 'for="[::1]80"'],
    ...[
      'for="1.1.1.1',
      'for=1.1.1.1"',
      'for="6.6.6.6, for=1.1.1.1',
      'for ="1.1.1.1"',
      'for= 1.1.1.1',
    ],
    ...['for=1.1.1.1;for=1.1.1.1', 'for=1.1.1.1;FOR=2.2.2.2', 'for=1.1.1.1 for=2.2.2.2'],
    ...['for=1.1.1.1;a=b;A=c', 'for=1.1.1.999', 'for="1.1.1.1:999999"', 'for="1.1.1.1:"', 'a"b'],
    ...["for='1.1.1.1'", 'for=1.1.1.1, unknown', 'for=1.1.1.1, for=unknown', 'for=1.1.1.1\0'],
    ...['for="1.1.1.1\n"', 'for=1.1.1.1, by=10.0.0.2', 'for=1.1.1.1/8', 'for="1.1.1.1 "'],
  ]) {
    assert.equal(from(line), '10.0.0.1 unreadable', line);
  }
});

test('two headers that name different clients name none', () => {
  const from = (x: string, forwarded: string) => client(resolve('10.0.0.1', [x], [forwarded]));
  assert.equal(from('1.1.1.1', 'for=1.1.1.1'), '1.1.1.1 named');
  assert.equal(from('6.6.6.6, 1.1.1.1', 'for="1.1.1.1:80", for=10.0.0.2'), '1.1.1.1 named');
  for (const [x, forwarded] of [
    ['1.1.1.1', 'for=2.2.2.2'],
    ['2.2.2.2', 'for=1.1.1.1'],
    ['1.1.1.1', 'for=unknown'],
    ['1.1.1.1', '"'],
    ['1.1.1.1', ''],
    ['', 'for=1.1.1.1'],
    ['unknown', 'for=unknown'],
    ['1.1.1.1', 'for=1.1.1.1, for=10.0.0.2, for=unknown'],
  ] as const) {
    assert.equal(from(x, forwarded), '10.0.0.1 contradictory', `${x} ${forwarded}`);
  }
  assert.equal(client(resolve('9.9.9.9', ['1.1.1.1'], ['for=1.1.1.1'])), '9.9.9.9 untrusted');
});

test('no text of a client throws or hides what a proxy wrote on a line behind it', () => {
  const text = fc.string({ unit: 'binary', maxLength: 300 });
  const odd = fc.stringMatching(/^[for=",;\\ [\]:._1a]{0,60}$/);
  fc.assert(
    fc.property(fc.oneof(text, odd), (line) => {
      assert.equal(client(resolve('10.0.0.1', [], [line, 'for=1.1.1.1'])), '1.1.1.1 named');
      assert.match(client(resolve('10.0.0.1', [], [line])), /^\S+ (named|unreadable)$/);
    }),
    { numRuns: 2_000 },
  );
  for (const part of [
    ' ',
    '\t',
    ',',
    ';',
    '"',
    '\\',
    'for=',
    'for="',
    'a=b;',
    'for=1.1.1.1,',
    'a=" ',
  ]) {
    for (const line of [part.repeat(16_384 / part.length), `for=${part.repeat(8_000)}x y`]) {
      assert.match(resolve('10.0.0.1', [], [line]).standing, /named|unreadable/);
    }
  }
});

test('peer bytes become text, a mapped address the IPv4 one', () => {
  const mapped = [...new Array<number>(10).fill(0), 255, 255, 192, 0, 2, 1];
  assert.equal(peerText(Uint8Array.from(mapped), rules), '192.0.2.1');
  assert.equal(peerText(Uint8Array.from([192, 0, 2, 1]), rules), '192.0.2.1');
  const v6 = [0x20, 0x01, 0x0d, 0xb8, ...new Array<number>(11).fill(0), 1];
  assert.equal(peerText(Uint8Array.from(v6), rules), '2001:db8:0:0:0:0:0:1');
});

test('visitors come over https where BASE_URL says so and a proxy is trusted', () => {
  const proxies = ['127.0.0.1'];
  for (const [baseUrl, trustedProxies, expected] of [
    ['https://ip.example.com', proxies, true],
    ['https://ip.example.com', [], false],
    ['http://ip.example.com', proxies, false],
  ] as const) {
    assert.equal(isBehindTls({ baseUrl, trustedProxies }), expected, baseUrl);
  }
});
