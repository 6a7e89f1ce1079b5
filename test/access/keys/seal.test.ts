/** Sealing: opens only where it was sealed, whole, and under the same master key. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { masterKeyFromBytes, open, sealWithKey } from '../../../src/access/keys/master-key.ts';
import { seededRandom } from '../../support/seeded.ts';

const random = seededRandom(7);
const masterKey = masterKeyFromBytes(random.bytes(32));
const secret = 'pcl_AAAAAAAA_a secret';

test('what was sealed opens in the same context', () => {
  const opened = open(masterKey, 'a1/k1', sealWithKey(masterKey, random, 'a1/k1', secret));
  assert.ok(opened.ok);
  assert.equal(opened.value, secret);
});

test('two seals of one text differ', () => {
  const first = sealWithKey(masterKey, random, 'a1/k1', secret);
  assert.notDeepEqual(first, sealWithKey(masterKey, random, 'a1/k1', secret));
});

test('a seal moved to another account does not open', () => {
  const sealed = sealWithKey(masterKey, random, 'a1/k1', secret);
  assert.equal(open(masterKey, 'a2/k1', sealed).ok, false);
  assert.equal(open(masterKey, '', sealed).ok, false);
});

test('every changed bit and every missing byte is noticed', () => {
  const sealed = sealWithKey(masterKey, random, 'a1/k1', secret);
  for (let bit = 0; bit < sealed.length * 8; bit++) {
    const altered = Uint8Array.from(sealed);
    altered[bit >> 3]! ^= 1 << (bit & 7);
    assert.equal(open(masterKey, 'a1/k1', altered).ok, false, `bit ${bit}`);
  }
  for (let length = 0; length < sealed.length; length++) {
    assert.equal(open(masterKey, 'a1/k1', sealed.subarray(0, length)).ok, false);
  }
});

test('another master key is named as the cause', () => {
  const other = masterKeyFromBytes(random.bytes(32));
  const opened = open(other, 'a1/k1', sealWithKey(masterKey, random, 'a1/k1', secret));
  assert.ok(!opened.ok);
  assert.equal(opened.error, 'internal');
  assert.match(opened.detail ?? '', /another master key/);
});
