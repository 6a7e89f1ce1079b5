/** The date of an answer is the platform's, for each second and across days that share a place. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isoSeconds } from '../../src/core/dates.ts';
import { seededRandom } from '../support/seeded.ts';

test('a date is that of the platform, whatever came before', () => {
  const random = seededRandom(4);
  const day = 86_400;
  const edges = [0, 1, day - 1, day, 512 * day - 1, 512 * day, 513 * day, 951_782_400, 2 ** 32 - 1];
  const any = Array.from({ length: 5_000 }, () => Math.floor(random.next() * 2 ** 32));
  for (const second of [...edges, ...any, ...edges]) {
    const wanted = new Date(second * 1_000).toISOString().replace('.000Z', '+00:00');
    assert.equal(isoSeconds(second), wanted);
  }
});
