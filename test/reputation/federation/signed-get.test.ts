/** A peer's signed GET: good for one method, host, path, query and moment, and for no other key. */

import assert from 'node:assert/strict';
import { createPublicKey, verify } from 'node:crypto';
import { test } from 'node:test';
import { minuteMs } from '../../../src/core/time.ts';
import {
  isSignedBy,
  makeSigningKey,
  readSignature,
  type SignedRequest,
  signGet,
  signingKeyId,
} from '../../../src/reputation/federation/document/key.ts';
import { seededRandom } from '../../support/seeded.ts';

const now = Date.parse('2026-11-26T10:00:00Z');
const random = seededRandom(3);
const [key, other] = [makeSigningKey('b.example', random), makeSigningKey('b.example', random)];
const url = new URL('https://a.example/federation/segments/7?to=9');
const asked: SignedRequest = {
  method: 'GET',
  authority: 'a.example',
  path: '/federation/segments/7',
  query: 'to=9',
};

const headers = signGet(url, key, now);
const read = (named = headers) => readSignature(named['signature-input'], named.signature);

test('a GET that was signed is known by its key within five minutes', () => {
  const claimed = read()!;
  assert.equal(claimed.keyId, signingKeyId(key));
  for (const at of [now, now + 5 * minuteMs, now - 5 * minuteMs]) {
    assert.ok(isSignedBy(key, claimed, asked, at));
  }
  for (const at of [now + 6 * minuteMs, now - 6 * minuteMs]) {
    assert.ok(!isSignedBy(key, claimed, asked, at));
  }
});

test('it is good for no other request and no other key', () => {
  const claimed = read()!;
  const others: readonly Partial<SignedRequest>[] = [
    { method: 'POST' },
    { authority: 'c.example' },
    { path: '/federation/head' },
    { query: 'to=10' },
    { query: '' },
  ];
  for (const difference of others) {
    assert.ok(!isSignedBy(key, claimed, { ...asked, ...difference }, now));
  }
  assert.ok(!isSignedBy(other, { ...claimed, keyId: signingKeyId(other) }, asked, now));
  assert.ok(!isSignedBy(other, claimed, asked, now));
});

test('its base is that of RFC 9421, section 2.5', () => {
  const parameters = `("@method" "@authority" "@path" "@query");created=${now / 1_000};keyid="${signingKeyId(key)}";tag="portcullis"`;
  assert.equal(headers['signature-input'], `peer=${parameters}`);
  const base = [
    '"@method": GET',
    '"@authority": a.example',
    '"@path": /federation/segments/7',
    '"@query": ?to=9',
    `"@signature-params": ${parameters}`,
  ].join('\n');
  const publicKey = createPublicKey(key.privateKey);
  assert.ok(verify(null, Buffer.from(base), publicKey, read()!.signature));
});

test('a query that is not there is signed as a question mark alone', () => {
  const bare = signGet(new URL('https://a.example:8443/federation/head'), key, now);
  const request = {
    method: 'GET',
    authority: 'a.example:8443',
    path: '/federation/head',
    query: '',
  };
  assert.ok(isSignedBy(key, read(bare)!, request, now));
});

test('a signature over less, with another tag, algorithm or form is none', () => {
  const input = headers['signature-input']!;
  const forms = [
    input.replace(' "@query"', ''),
    input.replace('"@method" "@authority"', '"@authority" "@method"'),
    input.replace('tag="portcullis"', 'tag="other"'),
    `${input};alg="hmac-sha256"`,
    input.replace('created', 'expires'),
    input.replace('peer=', 'sig1='),
    `${input}, ${input}`,
    '',
    'x'.repeat(10_000),
  ];
  for (const form of forms) assert.equal(readSignature(form, headers.signature), undefined, form);
  assert.equal(readSignature(input, undefined), undefined);
  assert.equal(readSignature(undefined, headers.signature), undefined);
  assert.equal(readSignature(input, 'peer=:AAAA:'), undefined);
});
