/** Replies kept for a moment: made once, never older than told, bounded, and no failure kept. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Reply } from '../../src/http/request/message.ts';
import { createReplyCache } from '../../src/web/reply-cache.ts';
import { manualClock } from '../support/seeded.ts';

function openCache({ entriesMax = 10, bytesMax = 1_000 } = {}) {
  const clock = manualClock(0);
  const cache = createReplyCache({ clock, keepMs: 1_000, entriesMax, bytesMax });
  let made = 0;
  const ask = (key: string, length = 1): Promise<Reply> =>
    cache.get(key, async () => {
      made++;
      await Promise.resolve();
      return { status: 200, headers: [], body: 'é'.repeat(length / 2) };
    });
  return { clock, cache, ask, made: () => made };
}

it('many requests at once and in the same second are one making', async () => {
  const { clock, ask, made } = openCache();
  const [first, ...others] = await Promise.all(Array.from({ length: 100 }, () => ask('a')));
  clock.advance(999);
  others.push(await ask('a'));
  assert.equal(made(), 1);
  for (const other of others) assert.equal(other, first);
  clock.advance(1);
  assert.notEqual(await ask('a'), first);
  assert.equal(made(), 2);
});

it('another key is another reply', async () => {
  const { ask, made } = openCache();
  assert.notEqual(await ask('a'), await ask('b'));
  assert.equal(made(), 2);
});

it('holds no more replies and no more bytes than it may, and the newest stay', async () => {
  const few = openCache({ entriesMax: 3 });
  for (let i = 0; i < 50; i++) await few.ask(`k${i}`);
  assert.equal(few.cache.size(), 3);
  await few.ask('k49');
  assert.equal(few.made(), 50);
  const small = openCache({ bytesMax: 1_000 });
  for (let i = 0; i < 9; i++) await small.ask(`k${i}`, 400);
  assert.equal(small.cache.size(), 2);
  await small.ask('huge', 5_000);
  assert.equal(small.cache.size(), 0, 'what is larger than all of it is not kept');
});

it('what nobody asks for again goes when others come', async () => {
  const { clock, cache, ask } = openCache();
  for (let i = 0; i < 5; i++) await ask(`k${i}`);
  clock.advance(1_000);
  await ask('new');
  assert.equal(cache.size(), 1);
});

it('a failure reaches those who asked, and the next one tries again', async () => {
  const { cache, ask } = openCache();
  const broken = () => cache.get('a', () => Promise.reject(new Error('broken')));
  const results = await Promise.allSettled([broken(), ask('a')]);
  assert.deepEqual(
    results.map(({ status }) => status),
    ['rejected', 'rejected'],
  );
  assert.equal((await ask('a')).status, 200);
});
