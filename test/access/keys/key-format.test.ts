/** API key text: made keys parse, and any single mistake is refused. */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { hashKey, keyTextLength, makeKey, parseKey } from '../../../src/access/keys/key-format.ts';
import { seededRandom } from '../../support/seeded.ts';

test('a made key parses and shows its id', () => {
  const random = seededRandom(1);
  for (let i = 0; i < 1_000; i++) {
    const key = makeKey(random);
    assert.equal(key.text.length, keyTextLength);
    assert.match(key.text, /^pcl_[0-9A-Za-z]{8}_[0-9A-Za-z]{33}$/);
    const parsed = parseKey(key.text);
    assert.ok(parsed.ok);
    assert.deepEqual(parsed.value, key);
  }
});

test('every changed character and every swap of neighbours is refused', () => {
  const { text } = makeKey(seededRandom(2));
  for (let i = 0; i < text.length; i++) {
    const other = text[i] === 'a' ? 'b' : 'a';
    assert.equal(parseKey(text.slice(0, i) + other + text.slice(i + 1)).ok, false, `at ${i}`);
    if (i === 0 || text[i] === text[i - 1]) continue;
    const swapped = text.slice(0, i - 1) + text[i] + text[i - 1] + text.slice(i + 1);
    assert.equal(parseKey(swapped).ok, false, `swap at ${i}`);
  }
});

test('every form but the exact one is refused', () => {
  const { text } = makeKey(seededRandom(3));
  for (const wrong of ['', ' ', `${text} `, ` ${text}`, `${text}\n`, text.slice(1), `${text}0`]) {
    assert.equal(parseKey(wrong).ok, false, JSON.stringify(wrong));
  }
  assert.equal(parseKey(`${text.slice(0, -1)}\n`).ok, false);
  assert.equal(parseKey('pcl_'.padEnd(keyTextLength, 'é')).ok, false);
});

test('the characters of keys are evenly spread', () => {
  const random = seededRandom(4);
  const counts = new Map<string, number>();
  const keys = 4_000;
  for (let i = 0; i < keys; i++) {
    for (const char of makeKey(random).text.slice(13, 40)) {
      counts.set(char, (counts.get(char) ?? 0) + 1);
    }
  }
  const expected = (keys * 27) / 62;
  assert.equal(counts.size, 62);
  // Six standard deviations.
  for (const count of counts.values()) {
    assert.ok(Math.abs(count - expected) < 6 * Math.sqrt(expected));
  }
});

test('a random source that gives nothing usable is a bug, not a weak key', () => {
  assert.throws(() => makeKey({ bytes: (length) => new Uint8Array(length).fill(255) }), /random/);
});

test('the hash of a key is the SHA-256 of its text', () => {
  const { text } = makeKey(seededRandom(5));
  assert.deepEqual(
    Buffer.from(hashKey(text)).toString('hex'),
    createHash('sha256').update(text).digest('hex'),
  );
});
