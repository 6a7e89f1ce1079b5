/** Random bytes of the system: as many as asked for, never the same ones twice. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { systemRandom } from '../../src/core/random.ts';

it('gives as many bytes as asked for, and no part of them again', () => {
  const random = systemRandom();
  const seen = new Set<string>();
  let count = 0;
  for (let round = 0; round < 200; round++) {
    for (const length of [8, 10, 16, 100, 1_024, 1_025, 5_000]) {
      const bytes = random.bytes(length);
      assert.equal(bytes.length, length);
      for (let at = 0; at + 8 <= length; at += 8) {
        seen.add(Buffer.from(bytes.subarray(at, at + 8)).toString('hex'));
        count++;
      }
    }
  }
  assert.equal(seen.size, count);
  assert.equal(random.bytes(0).length, 0);
});

it('what was given out is its owner’s alone', () => {
  const random = systemRandom();
  const first = random.bytes(16);
  const kept = Buffer.from(first).toString('hex');
  first.fill(0);
  const second = random.bytes(16);
  second.fill(0);
  assert.notEqual(Buffer.from(random.bytes(16)).toString('hex'), kept);
  assert.ok(first.buffer !== second.buffer);
});
