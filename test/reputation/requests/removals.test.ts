/** The queue of requests for removal is bounded, one for each address, and forgets after 90 days. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRemovals, readReason } from '../../../src/reputation/requests/removals.ts';
import { createMemoryStore } from '../../support/server/memory-store.ts';

test('the queue is bounded, keeps the first request of an address, and takes a new one after one went', async () => {
  const clock = { now: () => 1_000, monotonicMs: () => 0 };
  const removals = createRemovals({ store: createMemoryStore(), clock, max: 2 });
  const request = { reason: 'It was cleaned.', fromAddress: false, signedIn: true };
  assert.ok((await removals.add('45.1.0.1', request)).ok);
  assert.ok((await removals.add('45.1.0.2', request)).ok);
  const full = await removals.add('45.1.0.3', request);
  assert.equal(!full.ok && full.error, 'capacity_exceeded');
  assert.ok((await removals.add('45.1.0.1', { ...request, reason: 'Other words.' })).ok);
  assert.equal((await removals.find('45.1.0.1'))?.reason, 'It was cleaned.');
  assert.ok((await removals.remove('45.1.0.1')).ok);
  assert.ok((await removals.add('45.1.0.3', request)).ok);
  assert.deepEqual(
    (await removals.list()).map(({ address }) => address),
    ['45.1.0.2', '45.1.0.3'],
  );
});

test('a reason has 10 to 1,000 characters, none of them control characters', () => {
  assert.equal(readReason('  a\u0000b\u202e cleaned it\r\n '), 'a b  cleaned it');
  assert.equal(readReason('  too short \n'), undefined);
  assert.equal(readReason('x'.repeat(1_001)), undefined);
  assert.equal(readReason('😀'.repeat(1_000))?.length, 2_000);
});
