/** Counters in memory: bounded, the oldest goes first. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createCounts } from '../../src/store/counts.ts';

it('at the bound the counter made first is forgotten', () => {
  const counts = createCounts(2);
  const delta = (name: string) => ({ name, add: 1, expiresAt: 100 });
  assert.deepEqual(counts.add([delta('a'), delta('b'), delta('a'), delta('c')], 0), [1, 1, 2, 1]);
  assert.deepEqual(counts.add([delta('b'), delta('c'), delta('a')], 0), [2, 2, 1]);
});
