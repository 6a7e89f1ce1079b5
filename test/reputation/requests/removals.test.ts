/** The queues of what visitors ask are bounded, one row for each address: whose request takes the place, and whose gives way. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type AskerStanding,
  createRemovals,
  networkTags,
  readReason,
} from '../../../src/reputation/requests/queue.ts';
import { createMemoryStore } from '../../support/server/memory-store.ts';

let nowMs = 1_000;
const clock = { now: () => nowMs++, monotonicMs: () => 0 };
const request = { reason: 'It was cleaned.', fromAddress: false, signedIn: false };
const markOf = networkTags(new Uint8Array(32).fill(3));
const from = (clientIp: string, standing: AskerStanding = 'anyone') => {
  return { standing, network: markOf(clientIp) };
};
const queueOf = (bounds: { max?: number; perNetworkMax?: number }) =>
  createRemovals({ store: createMemoryStore(), clock, ...bounds });
type Queue = ReturnType<typeof queueOf>;
const left = async (queue: Queue) => (await queue.list()).map(({ address }) => address);
const isFull = (done: Awaited<ReturnType<Queue['add']>>) =>
  !done.ok && done.error === 'capacity_exceeded';

test('the first request of an address stays, unless one of a better standing comes', async () => {
  const queue = queueOf({});
  const said = async () => (await queue.find('45.1.0.1'))?.reason;
  const ask = (reason: string, standing: AskerStanding) =>
    queue.add('45.1.0.1', { ...request, reason }, from('45.9.0.1', standing));
  for (const [reason, standing, stays] of [
    ['a stranger', 'anyone', 'a stranger'],
    ['another stranger', 'anyone', 'a stranger'],
    ['an account', 'signed_in', 'an account'],
    ['a third stranger', 'anyone', 'an account'],
    ['another account', 'signed_in', 'an account'],
    ['its holder', 'from_address', 'its holder'],
    ['a third account', 'signed_in', 'its holder'],
    ['its holder again', 'from_address', 'its holder'],
  ] as const) {
    assert.ok((await ask(reason, standing)).ok);
    assert.equal(await said(), stays, reason);
  }
  assert.deepEqual(await left(queue), ['45.1.0.1']);
  const [shown] = await queue.list();
  assert.deepEqual(Object.keys(shown!).sort(), [
    'address',
    'at',
    'fromAddress',
    'reason',
    'signedIn',
  ]);
});

test('a network has so many requests, whatever addresses of it ask; its better ones go before', async () => {
  for (const address of [(n: number) => `45.9.0.${n}`, (n: number) => `2a01:db9:7:${n}::1`]) {
    const queue = queueOf({ perNetworkMax: 3 });
    for (let n = 1; n <= 3; n++) {
      assert.ok((await queue.add(`45.1.0.${n}`, request, from(address(n)))).ok);
    }
    assert.ok(isFull(await queue.add('45.1.0.4', request, from(address(4)))));
    assert.ok((await queue.add('45.1.0.5', request, from('45.10.0.1'))).ok, 'another network');
    assert.ok((await queue.add('45.1.0.6', request, from(address(5), 'signed_in'))).ok);
    assert.deepEqual(await left(queue), ['45.1.0.2', '45.1.0.3', '45.1.0.5', '45.1.0.6']);
    assert.ok(isFull(await queue.add('45.1.0.7', request, from(address(6)))));
  }
});

test('at the bound the network with most gives way, its oldest first; never a better standing', async () => {
  const queue = queueOf({ max: 6 });
  const add = (n: number, client: string, standing?: AskerStanding) =>
    queue.add(`45.1.0.${n}`, request, from(client, standing));
  await add(1, '45.9.1.1', 'signed_in');
  await add(2, '45.9.2.1', 'from_address');
  await add(3, '45.9.3.1');
  for (let n = 4; n <= 6; n++) await add(n, `45.9.4.${n}`);
  assert.ok(isFull(await add(7, '45.9.4.9')), 'the network that has most');
  assert.ok((await add(8, '45.9.5.1')).ok);
  assert.deepEqual(
    await left(queue),
    [1, 2, 3, 5, 6, 8].map((n) => `45.1.0.${n}`),
  );
  // One of a better standing takes the place of any lower one, also where its network has most.
  for (let n = 9; n <= 12; n++) assert.ok((await add(n, `45.9.4.${n}`, 'signed_in')).ok, `${n}`);
  assert.deepEqual(
    await left(queue),
    [1, 2, 9, 10, 11, 12].map((n) => `45.1.0.${n}`),
  );
  assert.ok(isFull(await add(13, '45.9.6.1')), 'all there are have a better one');
  assert.ok(isFull(await add(14, '45.9.4.1', 'signed_in')));
  assert.ok((await add(15, '45.9.7.1', 'signed_in')).ok);
  assert.deepEqual(
    await left(queue),
    [1, 2, 10, 11, 12, 15].map((n) => `45.1.0.${n}`),
  );
});

test('strangers of however many networks keep no holder out, and nobody who is signed in', async () => {
  const queue = queueOf({ max: 20 });
  for (let n = 0; n < 100; n++) {
    await queue.add(`45.${n}.0.1`, request, from(`46.${n}.0.1`));
    await queue.add('45.200.0.1', request, from(`46.${n}.0.1`));
  }
  assert.ok((await queue.add('45.200.0.1', request, from('45.200.0.1', 'from_address'))).ok);
  assert.ok((await queue.add('45.201.0.1', request, from('45.7.0.1', 'signed_in'))).ok);
  for (let n = 100; n < 200; n++) await queue.add(`45.${n}.0.1`, request, from(`46.${n}.0.1`));
  const there = await left(queue);
  assert.equal(there.length, 20);
  assert.ok(there.includes('45.200.0.1') && there.includes('45.201.0.1'));
});

test('a reason has 10 to 1,000 characters, none of them control characters', () => {
  assert.equal(readReason('  a\u0000b\u202e cleaned it\r\n '), 'a b  cleaned it');
  assert.equal(readReason('  too short \n'), undefined);
  assert.equal(readReason('x'.repeat(1_001)), undefined);
  assert.equal(readReason('😀'.repeat(1_000))?.length, 2_000);
});
