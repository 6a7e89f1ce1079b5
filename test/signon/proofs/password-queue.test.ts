/** Who hashes next: owners before strangers, shares for accounts and networks, bounds for all. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import {
  createPasswordQueue,
  type HashRequester,
  queueShares,
} from '../../../src/signon/proofs/passwords.ts';

function open(waitingMax = 64) {
  const queue = createPasswordQueue({ runningMax: 2, waitingMax });
  const begun: string[] = [];
  const refused: string[] = [];
  const finish: (() => void)[] = [];

  function add(name: string, requester: HashRequester): void {
    const work = () =>
      new Promise<void>((resolve) => {
        begun.push(name);
        finish.push(resolve);
      });
    void queue.run(requester, work).then((done) => {
      if (!done.ok) refused.push(name);
    });
  }

  /** Lets those that run end, one after the other, until nothing begins any more. */
  async function drain(): Promise<void> {
    for (;;) {
      await new Promise((resolve) => setImmediate(resolve));
      const next = finish.shift();
      if (next === undefined) return;
      next();
    }
  }

  return { add, begun, refused, drain };
}

const stranger = (i: number): HashRequester => ({
  lane: 'open',
  account: `a${i}`,
  network: `n${i}`,
  neighbourhood: `m${i}`,
});

it('an owner goes before a thousand strangers from as many networks, and has a place', async () => {
  const { add, begun, refused, drain } = open();
  for (let i = 0; i < 1_000; i++) add(`stranger ${i}`, stranger(i));
  for (let i = 0; i < 3; i++) add(`owner ${i}`, { ...stranger(i), lane: 'known' });
  await drain();
  assert.deepEqual(begun.slice(2, 5), ['owner 0', 'owner 1', 'owner 2']);
  assert.equal(begun.length, 2 + 64 + 3);
  assert.equal(refused.length, 1_000 - 66);
});

it('owners in a row let one of the others through after three', async () => {
  const { add, begun, drain } = open();
  for (let i = 0; i < 4; i++) add(`stranger ${i}`, stranger(i));
  for (let i = 0; i < 7; i++) add(`owner ${i}`, { ...stranger(i), lane: 'known' });
  await drain();
  const lanes = begun.map((name) => name[0]).join('');
  assert.equal(lanes, 'ssooosoooso');
});

it('an account, a network and a neighbourhood have their shares of the places', async () => {
  for (const name of Object.keys(queueShares) as (keyof typeof queueShares)[]) {
    const { add, begun, drain } = open();
    for (let i = 0; i < 2; i++) add('runs', stranger(10_000 + i));
    for (let i = 0; i < 60; i++) add('greedy', { ...stranger(i), [name]: 'one' });
    add('other', stranger(9_999));
    await drain();
    assert.equal(begun.filter((who) => who === 'greedy').length, queueShares[name], name);
    assert.ok(begun.includes('other'), name);
  }
});

it('when all places are taken, the newest of the greediest neighbourhood makes room', async () => {
  const { add, begun, refused, drain } = open(10);
  for (let i = 0; i < 2; i++) add('runs', stranger(10_000 + i));
  for (let i = 0; i < 10; i++) {
    add(`${i % 5 === 0 ? 'lone' : 'greedy'} ${i}`, {
      ...stranger(i),
      ...(i % 5 === 0 ? {} : { neighbourhood: 'greedy' }),
    });
  }
  add('new', stranger(50));
  await drain();
  assert.ok(begun.includes('new'));
  assert.deepEqual(refused, ['greedy 9']);
  assert.ok(begun.includes('lone 0') && begun.includes('lone 5'));
});

it('calls that left the queue count for nobody any more', async () => {
  const { add, begun, refused, drain } = open(4);
  for (let round = 0; round < 5; round++) {
    for (let i = 0; i < 2; i++) add('runs', stranger(10_000 + i));
    for (let i = 0; i < 4; i++) add(`same ${round}`, { ...stranger(i), neighbourhood: 'one' });
    await drain();
    assert.equal(begun.filter((who) => who === `same ${round}`).length, 4);
  }
  for (let i = 0; i < 2; i++) add('runs', stranger(10_000 + i));
  for (let i = 0; i < 4; i++) add('two', { ...stranger(i), neighbourhood: 'two' });
  add('new', stranger(50));
  await drain();
  assert.deepEqual(refused, ['two']);
  assert.ok(begun.includes('new'));
});

it('work that throws gives its place back', async () => {
  const queue = createPasswordQueue({ runningMax: 1, waitingMax: 1 });
  for (let i = 0; i < 5; i++) {
    await assert.rejects(queue.run({ lane: 'open' }, () => Promise.reject(new Error('broken'))));
  }
  const done = await queue.run({ lane: 'open' }, async () => 1);
  assert.ok(done.ok);
});
