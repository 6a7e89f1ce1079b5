/** Challenges: one attempt a token, the same answer to every wrong one, no memory before a fetch. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ChallengesOptions } from '../../../src/captcha/challenge/challenge.ts';
import { createTickets } from '../../../src/captcha/challenge/ticket.ts';
import type { RenderedWord } from '../../../src/captcha/render-pool.ts';
import { fail, ok, type Result } from '../../../src/core/result.ts';
import {
  challengesOver,
  knownPool,
  networkAt,
  rendered,
} from '../../support/captcha/challenges.ts';
import { manualClock, seededRandom } from '../../support/seeded.ts';

const networks = networkAt(1);
const visitor = { networks, longWord: false };
const plain = { longWord: false };

function setUp(changes: Partial<ChallengesOptions> = {}) {
  const clock = manualClock(0);
  const { pool, made, spoken } = knownPool();
  const challenges = challengesOver(changes.pool ?? pool, { clock, ...changes });
  const issue = () => challenges.issue(plain);
  const image = (token: string) => challenges.image(token, visitor);
  const clip = (token: string) => challenges.clip(token, visitor);
  const verify = (token: string, answer: string) =>
    challenges.verify(token, answer, networks) !== undefined;
  return { clock, challenges, made, spoken, issue, image, clip, verify };
}

test('the right answer is true once, whatever its case and spaces, and with two V for a W or the other way', async () => {
  const { challenges, issue, image, verify } = setUp();
  for (const [i, answer] of ['WORD1', ' wo rd\t2 ', 'ＷＯＲＤ３', 'vvord4'].entries()) {
    const token = issue();
    assert.equal((await image(token)).ok, true);
    assert.equal(verify(token, answer), true, `${i}`);
    assert.equal(verify(token, answer), false);
  }
  assert.equal(challenges.stats().heldBytes, 0);
});

test('an answer is at most 64 characters long, spaces included', async () => {
  const { issue, image, verify } = setUp();
  for (const [i, spaces] of [59, 60].entries()) {
    const token = issue();
    await image(token);
    assert.equal(verify(token, `WORD${i + 1}${' '.repeat(spaces)}`), spaces === 59);
  }
});

test('the cookie of a browser is no token, though it is signed alike', async () => {
  const tickets = createTickets({ clock: manualClock(0), random: seededRandom(1) });
  const { image, clip, issue } = setUp({ tickets });
  const cookie = tickets.make('browser');
  assert.deepEqual(await image(cookie), fail('not_found'));
  assert.deepEqual(await clip(cookie), fail('not_found'));
  assert.equal((await image(issue())).ok, true);
});

test('a token is 36 bytes in base64url and never the same', () => {
  const { issue } = setUp();
  const tokens = Array.from({ length: 50 }, issue);
  for (const token of tokens) assert.match(token, /^[A-Za-z0-9_-]{48}$/);
  assert.equal(new Set(tokens).size, 50);
});

test('a wrong answer consumes the token', async () => {
  const { issue, image, verify } = setUp();
  const token = issue();
  await image(token);
  assert.equal(verify(token, 'WRONG'), false);
  assert.equal(verify(token, 'WORD1'), false);
  assert.deepEqual(await image(token), fail('not_found'));
});

test('an answer before the picture consumes the token too: it is never drawn', async () => {
  const { issue, image, clip, verify, made } = setUp();
  const token = issue();
  assert.equal(verify(token, 'WORD1'), false);
  assert.deepEqual(await image(token), fail('not_found'));
  assert.deepEqual(await clip(token), fail('not_found'));
  assert.deepEqual(made, []);
});

test('of 200 verifications at once one is true', async () => {
  const { issue, image, verify } = setUp();
  const token = issue();
  await image(token);
  const results = await Promise.all(
    Array.from({ length: 200 }, async () => {
      await Promise.resolve();
      return verify(token, 'WORD1');
    }),
  );
  assert.equal(results.filter(Boolean).length, 1);
});

test('unknown, malformed, unseen, expired and empty are alike', async () => {
  const { issue, image, verify, clock } = setUp();
  const expired = issue();
  await image(expired);
  clock.advance(120_000);
  const unseen = issue();
  const seen = issue();
  await image(seen);
  for (const [token, answer] of [
    ['A'.repeat(48), 'WORD1'],
    ['A'.repeat(22), 'WORD1'],
    ['', ''],
    ['__proto__', 'WORD1'],
    [unseen, ''],
    [expired, 'WORD1'],
    [seen, ' '],
    [issue(), 'x'.repeat(1_000_000)],
  ] as const) {
    assert.equal(verify(token, answer), false);
  }
});

test('a challenge lives until the last millisecond of its time', async () => {
  const { issue, image, verify, clock } = setUp();
  clock.advance(17.5);
  const [token, late] = [issue(), issue()];
  await image(token);
  await image(late);
  clock.advance(119_999);
  assert.equal((await image(token)).ok, true);
  assert.equal(verify(token, 'WORD1'), true);
  clock.advance(1);
  assert.deepEqual(await image(late), fail('not_found'));
  assert.equal(verify(late, 'WORD2'), false);
});

test('the image is made once, for fetches at the same time too, and kept', async () => {
  const { issue, image, made } = setUp();
  const token = issue();
  const [a, b] = await Promise.all([image(token), image(token)]);
  const c = await image(token);
  assert.ok(a.ok && b.ok && c.ok);
  assert.equal(a.value, b.value);
  assert.equal(a.value, c.value);
  assert.deepEqual(made, ['WORD1']);
});

test('an image that comes after its token was used is shown to nobody', async () => {
  let finish = () => {};
  const { challenges, issue, image, verify } = setUp({
    pool: {
      image: () =>
        new Promise((resolve) => {
          finish = () => resolve(ok(rendered('WORD1', new Uint8Array(10))));
        }),
      clip: async () => fail('overloaded'),
    },
  });
  const token = issue();
  const pending = image(token);
  assert.equal(verify(token, 'WORD1'), false);
  finish();
  assert.deepEqual(await pending, fail('not_found'));
  const { open, heldBytes } = challenges.stats();
  assert.deepEqual({ open, heldBytes }, { open: 0, heldBytes: 0 });
});

test('the clip has an answer of its own for the same token', async () => {
  const { issue, image, clip, verify } = setUp();
  for (const answer of ['WORD1', '123 456']) {
    const token = issue();
    if (answer === 'WORD1') await image(token);
    assert.equal((await clip(token)).ok, true);
    assert.equal(verify(token, answer), true);
    assert.equal(verify(token, 'WORD1'), false, 'one attempt for both');
  }
});

test('digits are in the language of the first who asks for them, English without one', async () => {
  const { issue, challenges, clip, spoken } = setUp();
  const [english, french] = [issue(), issue()];
  await clip(english);
  await challenges.clip(french, { ...visitor, language: 'fr' });
  for (const token of [english, french]) {
    for (const language of ['en', 'fr'] as const) {
      assert.equal((await challenges.clip(token, { ...visitor, language })).ok, true);
    }
  }
  assert.deepEqual(spoken, ['en', 'fr']);
});

test('a client with a bad name gets a longer word, at the issue or at the fetch', async () => {
  const { challenges, made } = setUp();
  await challenges.image(challenges.issue({ longWord: true }), visitor);
  await challenges.image(challenges.issue(plain), { networks, longWord: true });
  assert.deepEqual(made, ['LONGWORD1', 'LONGWORD2']);
});

test('a refused rendering leaves the token good for another try', async () => {
  let answers: Result<RenderedWord>[] = [];
  const { issue, image, verify } = setUp({
    pool: { image: async () => answers.shift()!, clip: async () => fail('overloaded') },
  });
  answers = [fail('overloaded'), ok(rendered('WORD1', new Uint8Array(10)))];
  const token = issue();
  assert.deepEqual(await image(token), fail('overloaded'));
  assert.equal((await image(token)).ok, true);
  assert.equal(verify(token, 'WORD1'), true);
});

test('a hundred thousand new challenges are not remembered', () => {
  const { challenges, issue } = setUp();
  for (let i = 0; i < 100_000; i++) issue();
  assert.deepEqual(challenges.stats(), {
    open: 0,
    tokens: 0,
    heldBytes: 0,
    evicted: 0,
    overShare: 0,
  });
});

test('bytes are bounded: the oldest are dropped, and made again as they were', async () => {
  const { challenges, issue, image, verify, made } = setUp({ heldBytesMax: 3_500 });
  const tokens = Array.from({ length: 5 }, issue);
  const first = [];
  for (const token of tokens) {
    first.push(await image(token));
    assert.ok(challenges.stats().heldBytes <= 3_500);
  }
  assert.deepEqual(
    [challenges.stats().open, challenges.stats().heldBytes, challenges.stats().evicted],
    [5, 3_000, 0],
  );
  assert.deepEqual(await image(tokens[0]!), first[0]);
  assert.equal(made.length, 5, 'no word was drawn a second time');
  for (const [i, token] of tokens.entries()) assert.equal(verify(token, `WORD${i + 1}`), true);
  assert.equal(challenges.stats().heldBytes, 0);
});

test('expired challenges give their bytes and tokens back', async () => {
  const { challenges, clock, issue, image } = setUp();
  for (let i = 0; i < 20; i++) await image(issue());
  assert.equal(challenges.stats().heldBytes, 20_000);
  clock.advance(120_000);
  await image(issue());
  const { open, tokens, heldBytes } = challenges.stats();
  assert.deepEqual({ open, tokens, heldBytes }, { open: 1, tokens: 1, heldBytes: 1_000 });
});
