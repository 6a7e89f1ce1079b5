/** Pieces that the start leaves for later: made once, in turn, one turn of the event loop each. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { once, prepared, prepareInTurns } from '../../src/core/preparation.ts';

const never = (error: unknown) => assert.fail(String(error));

test('once makes a thing at the first call, also when it is undefined', () => {
  let made = 0;
  const get = once(() => {
    made++;
    return undefined;
  });
  assert.equal(made, 0);
  assert.equal(get(), undefined);
  assert.equal(get(), undefined);
  assert.equal(made, 1);
});

test('a promise that is rejected is made anew at the next call, one that holds is kept', async () => {
  let made = 0;
  const get = once(async () => {
    if (++made === 1) throw new Error('no memory');
    return made;
  });
  await assert.rejects(get(), /no memory/);
  assert.equal(await get(), 2);
  assert.equal(await get(), 2);
});

test('pieces run in order, none in the turn of the call, and others get a turn between', async () => {
  const seen: string[] = [];
  const pieces = ['a', 'b'].map((name) => () => {
    seen.push(name);
    setImmediate(() => seen.push(`after ${name}`));
  });
  prepareInTurns(pieces, never);
  assert.deepEqual(seen, []);
  for (let turn = 0; turn < 10; turn++) await nextTurn();
  assert.deepEqual(seen, ['a', 'after a', 'b', 'after b']);
});

test('stopping waits for the piece under way and leaves the others', async () => {
  const seen: string[] = [];
  const slow = async () => {
    await nextTurn();
    seen.push('slow');
  };
  const stop = prepareInTurns([slow, () => seen.push('next')], never);
  await nextTurn();
  await stop();
  await nextTurn();
  assert.deepEqual(seen, ['slow']);
});

test('a piece that throws is reported once, and stopping does not throw', async () => {
  const errors: unknown[] = [];
  const broken = () => {
    throw new Error('broken');
  };
  const stop = prepareInTurns([broken, broken], (error) => errors.push(error));
  for (let turn = 0; turn < 10; turn++) await nextTurn();
  await stop();
  assert.deepEqual(errors.map(String), ['Error: broken']);
});

test('a prepared value is the one that was made aside, and is made once', async () => {
  const made: string[] = [];
  const value = prepared(
    () => made.push('here'),
    async () => made.push('aside'),
  );
  await value.prepare();
  await value.prepare();
  value.get();
  assert.deepEqual(made, ['aside']);
});

test('who asks before a value is prepared gets it at once, and it stays', async () => {
  let finish = (_: string) => {};
  const aside = new Promise<string>((resolve) => {
    finish = resolve;
  });
  const value = prepared(
    () => 'here',
    () => aside,
  );
  const preparing = value.prepare();
  assert.equal(value.get(), 'here');
  finish('aside');
  await preparing;
  assert.equal(value.get(), 'here');
});
