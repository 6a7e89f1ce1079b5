/** What identifies somebody in a comment is masked; what explains an attack stays readable. */

import assert from 'node:assert/strict';
import { isIP } from 'node:net';
import { test } from 'node:test';
import { maskComment } from '../../../src/reputation/address/mask.page.ts';
import { seededRandom } from '../../support/seeded.ts';

const masked: [string, string][] = [
  ['from 198.51.100.23 port 22', 'from [address] port 22'],
  ['198.51.100.23:8080, 198.51.100.0/24', '[address]:8080, [address]/24'],
  ['host-203-0-113-7.example.net', 'host-[address].example.net'],
  ['x1.2.3.4y', 'x[address]y'],
  ['from 2001:db8::1 port 22', 'from [address] port 22'],
  ['[2001:db8::1]:443', '[address]:443'],
  ['client:2001:DB8:0:0:0:0:0:1,', 'client:[address],'],
  ['fe80::1%eth0 ::1 1::', '[address] [address] [address]'],
  ['::ffff:198.51.100.23 end', '[address] end'],
  ['64:ff9b::198.51.100.23 end', '[address] end'],
  ['mail alice.o+x@example.co.uk now', 'mail [email] now'],
  ['alice%40example.com, ålice@exämple.se, bob@localhost', '[email], [email], [email]'],
  ['alice@[198.51.100.23]', 'alice@[[address]]'],
  ['https://admin:hunter2@example.com/x', 'https://[credentials]@example.com/x'],
  ['ftp://user@198.51.100.23/', 'ftp://[credentials]@[address]/'],
  ['https://a:b@c@example.com/', 'https://[credentials]@example.com/'],
  ['GET /?user=a&password=hunter2&x=1', 'GET /?user=a&password=[credentials]&x=1'],
  ['GET /?api_key=abc HTTP/1.1', 'GET /?api_key=[credentials] HTTP/1.1'],
  ['token=abc123 after a failed login', 'token=[credentials] after a failed login'],
  [
    'login with user=a password="hunter 2" from it',
    'login with user=a password=[credentials] from it',
  ],
  ["Cookie: session='abc', sid=def", 'Cookie: session=[credentials], sid=[credentials]'],
  ['198.51.\u200b100.23', '[address]'],
  ['2001:db8\u00ad::1', '[address]'],
  ['198.51.100[.]23 or 198[.]51[.]100[.]23', '[address] or [address]'],
  ['198(.)51(.)100(.)23', '[address]'],
  ['alice[at]example.com, bob(at)example[.]com', '[email], [email]'],
  ['<"alice b"@example.com>', '<[email]>'],
];

for (const [text, expected] of masked) {
  test(`masks ${JSON.stringify(text)}`, () => assert.equal(maskComment(text), expected));
}

test('what identifies nobody stays', () => {
  for (const text of [
    'Nov 21 04:11:05 sshd[812]: Failed password for root port 41022 ssh2',
    '2026-11-21T09:30:00+00:00 status 404',
    'std::string in std::decay, Foo::bar()',
    'OpenSSH 9.2p1, HTTP/1.1, TLS 1.3, release 10.15.7',
    'two lines\nand a tab\there',
    'SELECT 1 -- "quoted" <b>',
    '@mention and user @ host',
    '',
  ]) {
    assert.equal(maskComment(text), text);
  }
});

test('invisible characters and lone surrogates do not survive', () => {
  assert.equal(maskComment('a\u202eb\u0000c\u2066d\u200fe\ufeff\u0007'), 'abcde');
  assert.equal(maskComment('a\ud800b'), 'a\ufffdb');
});

test('a comment longer than a report allows is cut', () => {
  assert.equal(maskComment('x'.repeat(5_000)).length, 1_024);
});

test('no random address survives masking', () => {
  const seed = 20_261_121;
  const random = seededRandom(seed);
  const group = () => Math.floor(random.next() * 65_536).toString(16);
  for (let round = 0; round < 2_000; round++) {
    const groups = Array.from({ length: 8 }, group);
    const cut = Math.floor(random.next() * 7);
    const length = 1 + Math.floor(random.next() * (8 - cut));
    const compressed = `${groups.slice(0, cut).join(':')}::${groups.slice(cut + length).join(':')}`;
    const v4 = Array.from(random.bytes(4)).join('.');
    for (const address of [groups.join(':'), compressed, v4]) {
      if (address === '::') continue; // names nobody
      assert.ok(isIP(address), address);
      assert.equal(maskComment(`seen ${address} here`), 'seen [address] here', `seed ${seed}`);
    }
  }
});
