/** Challenges: one attempt a token, the same answer to every wrong one, bounds that hold. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ChallengesOptions, createChallenges } from '../../src/captcha/challenge.ts';
import { manualClock } from '../../src/core/clock.ts';
import { seededRandom } from '../../src/core/random.ts';
import { fail, ok, type Result } from '../../src/core/result.ts';

const client = { client: '192.0.2.1', longWord: false };

/** A pool whose images hold 1,000 bytes and whose words are WORD1, WORD2, … */
function setUp(changes: Partial<ChallengesOptions> = {}) {
  const clock = manualClock(0);
  const made: string[] = [];
  const pool = {
    image: async (word: 'normal' | 'long') => {
      const answer = `${word === 'long' ? 'LONGWORD' : 'WORD'}${made.length + 1}`;
      made.push(answer);
      return ok({ answer, gif: new Uint8Array(1_000).fill(made.length) });
    },
    clip: async () => ok({ answer: '123456', wav: new Uint8Array(2_000) }),
  };
  const challenges = createChallenges({
    pool,
    clock,
    random: seededRandom(1),
    lifetimeMs: 120_000,
    openMax: 100,
    openPerClientMax: 100,
    heldBytesMax: 1_000_000,
    ...changes,
  });
  return { clock, challenges, made };
}

test('the right answer is true once, whatever its case and spaces', async () => {
  const { challenges } = setUp();
  for (const [i, answer] of ['WORD1', ' wo rd\t2 ', 'ＷＯＲＤ３'].entries()) {
    const token = challenges.issue(client);
    assert.equal((await challenges.image(token)).ok, true);
    assert.equal(challenges.verify(token, answer), true, `${i}`);
    assert.equal(challenges.verify(token, answer), false);
  }
  assert.equal(challenges.stats().heldBytes, 0);
});

test('a token is 128 bits in base64url and never the same', () => {
  const { challenges } = setUp();
  const tokens = Array.from({ length: 50 }, () => challenges.issue(client));
  for (const token of tokens) assert.match(token, /^[A-Za-z0-9_-]{22}$/);
  assert.equal(new Set(tokens).size, 50);
});

test('a wrong answer consumes the token', async () => {
  const { challenges } = setUp();
  const token = challenges.issue(client);
  await challenges.image(token);
  assert.equal(challenges.verify(token, 'WRONG'), false);
  assert.equal(challenges.verify(token, 'WORD1'), false);
  assert.deepEqual(await challenges.image(token), fail('not_found'));
});

test('of 200 verifications at once one is true', async () => {
  const { challenges } = setUp();
  const token = challenges.issue(client);
  await challenges.image(token);
  const results = await Promise.all(
    Array.from({ length: 200 }, async () => {
      await Promise.resolve();
      return challenges.verify(token, 'WORD1');
    }),
  );
  assert.equal(results.filter(Boolean).length, 1);
});

test('unknown, malformed, unseen, expired and empty are alike', async () => {
  const { challenges, clock } = setUp();
  const expired = challenges.issue(client);
  await challenges.image(expired);
  clock.advance(120_000);
  const unseen = challenges.issue(client);
  const seen = challenges.issue(client);
  await challenges.image(seen);
  for (const [token, answer] of [
    ['A'.repeat(22), 'WORD1'],
    ['', ''],
    ['__proto__', 'WORD1'],
    [unseen, ''],
    [expired, 'WORD1'],
    [seen, ' '],
    [challenges.issue(client), 'x'.repeat(1_000_000)],
  ] as const) {
    assert.equal(challenges.verify(token, answer), false);
  }
});

test('a challenge lives until the last millisecond of its time', async () => {
  const { challenges, clock } = setUp();
  const token = challenges.issue(client);
  await challenges.image(token);
  clock.advance(119_999);
  assert.equal((await challenges.image(token)).ok, true);
  assert.equal(challenges.verify(token, 'WORD1'), true);
});

test('the image is made once, for fetches at the same time too, and kept', async () => {
  const { challenges, made } = setUp();
  const token = challenges.issue(client);
  const [a, b] = await Promise.all([challenges.image(token), challenges.image(token)]);
  const c = await challenges.image(token);
  assert.ok(a.ok && b.ok && c.ok);
  assert.equal(a.value, b.value);
  assert.equal(a.value, c.value);
  assert.deepEqual(made, ['WORD1']);
});

test('an image that comes after its token was used is shown to nobody', async () => {
  let finish = () => {};
  const { challenges } = setUp({
    pool: {
      image: () =>
        new Promise((resolve) => {
          finish = () => resolve(ok({ answer: 'WORD1', gif: new Uint8Array(10) }));
        }),
      clip: async () => fail('overloaded'),
    },
  });
  const token = challenges.issue(client);
  const image = challenges.image(token);
  assert.equal(challenges.verify(token, 'WORD1'), false);
  finish();
  assert.deepEqual(await image, fail('not_found'));
  assert.deepEqual(challenges.stats(), { open: 0, heldBytes: 0, evicted: 0 });
});

test('the clip has an answer of its own for the same token', async () => {
  const { challenges } = setUp();
  for (const answer of ['WORD1', '123 456']) {
    const token = challenges.issue(client);
    if (answer === 'WORD1') await challenges.image(token);
    assert.equal((await challenges.clip(token)).ok, true);
    assert.equal(challenges.verify(token, answer), true);
    assert.equal(challenges.verify(token, 'WORD1'), false, 'one attempt for both');
  }
});

test('a client with a bad name gets a longer word', async () => {
  const { challenges, made } = setUp();
  await challenges.image(challenges.issue({ ...client, longWord: true }));
  assert.deepEqual(made, ['LONGWORD1']);
});

test('a refused rendering leaves the token good for another try', async () => {
  let answers: Result<{ answer: string; gif: Uint8Array<ArrayBuffer> }>[] = [];
  const { challenges } = setUp({
    pool: { image: async () => answers.shift()!, clip: async () => fail('overloaded') },
  });
  answers = [fail('overloaded'), ok({ answer: 'WORD1', gif: new Uint8Array(10) })];
  const token = challenges.issue(client);
  assert.deepEqual(await challenges.image(token), fail('overloaded'));
  assert.equal((await challenges.image(token)).ok, true);
  assert.equal(challenges.verify(token, 'WORD1'), true);
});

test('open challenges are bounded, the oldest go first', async () => {
  const { challenges } = setUp({ openMax: 10 });
  const tokens = Array.from({ length: 15 }, (_, i) =>
    challenges.issue({ client: `192.0.2.${i}`, longWord: false }),
  );
  assert.deepEqual(challenges.stats(), { open: 10, heldBytes: 0, evicted: 5 });
  for (const [i, token] of tokens.entries()) {
    assert.equal((await challenges.image(token)).ok, i >= 5);
  }
});

test('one client drives out its own challenges only', async () => {
  const { challenges } = setUp({ openPerClientMax: 3 });
  const other = challenges.issue({ client: '198.51.100.7', longWord: false });
  const own = Array.from({ length: 5 }, () => challenges.issue(client));
  assert.equal((await challenges.image(other)).ok, true);
  assert.deepEqual(await challenges.image(own[1]!), fail('not_found'));
  assert.equal((await challenges.image(own[2]!)).ok, true);
});

test('bytes are bounded, and tokens without bytes need not go', async () => {
  const { challenges } = setUp({ heldBytesMax: 3_500 });
  const bare = challenges.issue(client);
  const tokens = Array.from({ length: 5 }, () => challenges.issue(client));
  for (const token of tokens) {
    await challenges.image(token);
    assert.ok(challenges.stats().heldBytes <= 3_500);
  }
  assert.deepEqual(challenges.stats(), { open: 4, heldBytes: 3_000, evicted: 2 });
  assert.deepEqual(await challenges.image(tokens[0]!), fail('not_found'));
  assert.equal((await challenges.image(bare)).ok, true);
});

test('expired challenges give their bytes back', async () => {
  const { challenges, clock } = setUp();
  for (let i = 0; i < 20; i++) await challenges.image(challenges.issue(client));
  assert.equal(challenges.stats().heldBytes, 20_000);
  clock.advance(120_000);
  challenges.issue(client);
  assert.deepEqual(challenges.stats(), { open: 1, heldBytes: 0, evicted: 0 });
});
