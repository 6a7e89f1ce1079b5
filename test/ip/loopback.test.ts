/** This machine is known by all its addresses and names, and nothing else passes for it. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import * as v from 'valibot';
import { loopbackEndpoint } from '../../src/config.ts';
import { formatIp, parseIp } from '../../src/ip/address.ts';
import { hostOfAuthority, isLoopback, isLoopbackAddress } from '../../src/ip/special.ts';

const addresses = [
  '127.0.0.1',
  '127.0.0.0',
  '127.9.9.9',
  '127.255.255.255',
  '::1',
  '0:0:0:0:0:0:0:1',
  '::ffff:127.0.0.1',
  '::FFFF:127.8.8.8',
  '::ffff:7f00:1',
  '[::1]',
  '[::ffff:127.0.0.1]',
];
const names = ['localhost', 'LOCALHOST', 'localhost.', 'mail.localhost', 'a.b-1.localhost.'];
/** Other machines, and spellings that a program might take for this one. */
const others = [
  '',
  '.',
  '0.0.0.0',
  '::',
  '::2',
  '1::1',
  '::1:0:1',
  '::ffff:0:1',
  '::127.0.0.1',
  '64:ff9b::7f00:1',
  '10.0.0.1',
  '126.255.255.255',
  '128.0.0.1',
  '127',
  '127.1',
  '127.0.1',
  '127.0.0.1.1',
  '127.0.0.256',
  '0127.0.0.1',
  '127.0.0.01',
  '0x7f.0.0.1',
  '2130706433',
  '1',
  '127.0.0.1 ',
  ' 127.0.0.1',
  '127.0.0.1\n',
  '127.0.0.1.',
  '127.0.0.1..',
  '127.0.0.1:80',
  '127.0.0.1/8',
  '127.0.0.1.example.org',
  '127.evil.example',
  '::1%lo',
  '::1.',
  '[::1',
  '::1]',
  '[[::1]]',
  '[127.0.0.1]',
  '[localhost]',
  'localhost..',
  '.localhost',
  'a..localhost',
  'localhost:80',
  'localhost\n',
  'localhost.example.org',
  'notlocalhost',
  'not-localhost',
  'ip6-localhost',
  'evil.example/.localhost',
  'user@a.localhost',
  'ｌocalhost',
  'localho\u017ft',
  'lo\u0441alhost',
  '１２７.0.0.1',
];

test('an address of this machine is one in every spelling that has one meaning', () => {
  for (const text of addresses) {
    assert.equal(isLoopbackAddress(text), true, text);
    assert.equal(isLoopback(text), true, text);
  }
});

test('a name of this machine is localhost, or below it, and no address', () => {
  for (const text of names) {
    assert.equal(isLoopback(text), true, text);
    assert.equal(isLoopbackAddress(text), false, text);
  }
});

test('nothing else passes for this machine', () => {
  const vectors = readFileSync('test/vectors/ip.txt', 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => JSON.parse(line.split('\t')[0]!) as string)
    .filter((text) => {
      const words = new Uint32Array(4);
      const family = parseIp(text.replace(/^\[|\]$/g, ''), words);
      return (
        text !== 'localhost' && (family === 0 || !/^127\.|^::1$/.test(formatIp(family, words)))
      );
    });
  assert.ok(vectors.length > 60);
  for (const text of [...others, ...vectors]) {
    assert.equal(isLoopback(text), false, JSON.stringify(text));
    assert.equal(isLoopbackAddress(text), false, JSON.stringify(text));
  }
});

test('the host of a header is what stands before its port, or nothing', () => {
  const cases = {
    localhost: 'localhost',
    'localhost:8080': 'localhost',
    '127.0.0.1:1': '127.0.0.1',
    '[::1]:8080': '[::1]',
    '[::1]': '[::1]',
    '::1': '',
    '::1:8080': '',
    'localhost:': '',
    'localhost:123456': '',
    'localhost:80:80': '',
    'localhost:80@evil.example': '',
    'evil.example[::1]:80': '',
    '[::1]evil.example:80': '',
    '': '',
  };
  for (const [text, host] of Object.entries(cases)) assert.equal(hostOfAuthority(text), host, text);
  assert.equal(isLoopback(hostOfAuthority('localhost:80, evil.example')), false);
  assert.equal(isLoopback(hostOfAuthority('evil.example/localhost')), false);
});

test('what a setting takes for a loopback address is one', () => {
  for (const text of [...addresses, ...names, ...others]) {
    const isTaken = v.safeParse(loopbackEndpoint, `${text}:80`).success;
    if (isTaken) assert.equal(isLoopbackAddress(text), true, text);
  }
  assert.equal(v.safeParse(loopbackEndpoint, '127.0.0.1:80').success, true);
});
