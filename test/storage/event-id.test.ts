/** Event ids: fit the bound, differ, and sort by time. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createEventId } from '../../src/storage/journal/define-event.ts';
import { manualClock, seededRandom } from '../support/seeded.ts';

it('ids differ, have 22 characters, and their bytes sort by the time they were made', () => {
  const clock = manualClock(1_750_000_000_000);
  const random = seededRandom(1);
  const ids = Array.from({ length: 200 }, () => {
    clock.advance(1);
    return createEventId(clock, random);
  });
  assert.ok(ids.every((id) => id.length === 22));
  assert.equal(new Set(ids).size, ids.length);
  const bytes = ids.map((id) => Buffer.from(id, 'base64url'));
  assert.deepEqual(bytes.toSorted(Buffer.compare), bytes);
});
