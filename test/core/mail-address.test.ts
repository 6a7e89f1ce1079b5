/** Which texts are a mail address, and that one mailbox has one spelling. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readDomain, readKnownAddress, readMailAddress } from '../../src/core/mail-address.ts';

test('a domain comes out as A-labels, however its own letters were written', () => {
  const label = 'victim@xn--exmple-cua.test';
  for (const text of [
    'victim@exämple.test',
    'Victim@EXÄMPLE.test',
    'victim@exa\u0308mple.test',
    'victim@XN--EXMPLE-CUA.TEST',
    ' victim@xn--exmple-cua.test\n',
  ])
    assert.equal(readMailAddress(text), label, text);
  // Letters of two alphabets are another domain, and are seen to be one.
  assert.equal(readMailAddress('a@\u0435xample.test'), 'a@xn--xample-2of.test');
  assert.equal(readMailAddress('a@faß.example'), 'a@xn--fa-hia.example');
  assert.equal(
    readMailAddress('a@xn--exmple-cua.bücher.test'),
    'a@xn--exmple-cua.xn--bcher-kva.test',
  );
});

test('what would be mapped to another name in a surprising way is refused', () => {
  const domains = [
    'ex\u00adample.test', // soft hyphen
    'ex\u200bample.test',
    'ex\u200dample.test',
    'ex\u2060ample.test',
    'ex\ufe0fample.test',
    '\uff45xample.test', // full-width
    'ⓔxample.test',
    '𝐞xample.test',
    'example\u3002test',
    'example\uff0etest',
    'example\uff61test',
    '\u017fample.test',
    '\u212aelvin.test',
    '\u212bngstrom.test',
    'İstanbul.test',
    'ﬁnance.test',
    '℡.test',
    'ẞ.test',
    '½.test',
    'xn--abc-.test',
    'xn--zzzzzz.test',
    'xn--.test',
    'ex%61mple.test',
    'example.test/x',
    'example.test:25',
    '0x7f.1',
    '2130706433',
    '127.1',
    'example.test.',
    '.example.test',
    'example..test',
    '-example.test',
    'example-.test',
    'exa!mple.test',
    `${'a'.repeat(64)}.test`,
    `${'ä'.repeat(64)}.test`,
  ];
  for (const domain of domains) {
    assert.equal(readMailAddress(`victim@${domain}`), undefined, JSON.stringify(domain));
    assert.equal(readDomain(domain), undefined, JSON.stringify(domain));
  }
});

test('a numeric domain is refused for a new account, and found for one of before', () => {
  for (const domain of ['127.0.0.1', '10.0.0.5']) {
    assert.equal(readMailAddress(`root@${domain}`), undefined, domain);
    assert.equal(readKnownAddress(`root@${domain}`), `root@${domain}`);
  }
  assert.equal(readMailAddress('a@1.example'), 'a@1.example');
  assert.equal(readMailAddress('a@localhost'), 'a@localhost');
});

test('a local part beyond ASCII is refused for a new account, and found for one of before', () => {
  for (const local of ['jösé', 'vi\u0441tim', 'viсtim', 'ｖictim', 'víctim', 'victim\u00ad']) {
    assert.equal(readMailAddress(`${local}@example.test`), undefined, local);
  }
  assert.equal(readKnownAddress('JÖSÉ@exämple.test'), 'jösé@xn--exmple-cua.test');
  // The Kelvin sign must not become a k, nor a dotted capital I an i.
  assert.equal(readKnownAddress('\u212aim@example.test'), undefined);
  assert.equal(readKnownAddress('vİctim@example.test'), undefined);
  for (const text of [
    '',
    '@',
    'a@',
    '@b',
    'a@b@c',
    'a b@c',
    'a@b c',
    'a\u0000@b',
    '"a"@b',
    'a@[::1]',
  ])
    assert.equal(readKnownAddress(text), undefined, text);
});

test('what comes out goes in again unchanged, and no letter of any script slips through as ASCII', () => {
  for (let code = 0x80; code < 0x1_0000; code++) {
    if (code >= 0xd800 && code < 0xe000) continue;
    const letter = String.fromCodePoint(code);
    const address = readMailAddress(`victim@ex${letter}mple.test`);
    if (address === undefined) continue;
    assert.match(address, /^victim@xn--[a-z0-9-]+\.test$/, code.toString(16));
    assert.equal(readMailAddress(address), address, code.toString(16));
    assert.equal(readMailAddress(`vict${letter}m@example.test`), undefined);
  }
});
