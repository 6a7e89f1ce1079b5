/** Who loses a challenge, and who is refused one: only the greedy, and never for good. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ChallengesOptions } from '../../../src/captcha/challenge/challenge.ts';
import type { RenderedWord } from '../../../src/captcha/render-pool.ts';
import { fail, ok, type Result } from '../../../src/core/result.ts';
import type { Networks } from '../../../src/ip/networks.ts';
import {
  challengesOver,
  knownPool,
  networkAt,
  rendered,
} from '../../support/captcha/challenges.ts';
import { manualClock } from '../../support/seeded.ts';

function setUp(changes: Partial<ChallengesOptions> = {}) {
  const clock = manualClock(0);
  const { pool, made } = knownPool();
  const challenges = challengesOver(changes.pool ?? pool, { clock, ...changes });
  const draw = async (networks: Networks) => {
    const token = challenges.issue({ longWord: false });
    return { token, got: await challenges.image(token, { networks, longWord: false }) };
  };
  const again = (token: string, networks = networkAt(1)) =>
    challenges.image(token, { networks, longWord: false });
  return { clock, challenges, made, draw, again };
}

function errorOf(result: Result<unknown>): string {
  return result.ok ? 'ok' : result.error;
}

test('one network that takes all it can is refused, and a visitor keeps his challenge', async () => {
  const { challenges, draw, made } = setUp({ openMax: 50, openPerClientMax: 30 });
  const visitor = await draw(networkAt(1));
  let refused = 0;
  for (let i = 0; i < 20_000; i++) {
    const { got } = await draw(networkAt(2));
    if (got.ok) continue;
    refused++;
    assert.equal(got.error, 'client_limit_exceeded');
    assert.ok(got.retryAfterSeconds! >= 1 && got.retryAfterSeconds! <= 120);
  }
  assert.equal(refused, 20_000 - 30);
  assert.equal(made.length, 31, 'nothing was rendered for those refused');
  assert.equal(challenges.verify(visitor.token, 'WORD1', networkAt(1)), 'normal');
});

test('sixty behind one address keep their challenges', async () => {
  const { challenges, draw } = setUp({ openMax: 200, openPerClientMax: 100 });
  const all = [];
  for (let i = 0; i < 61; i++) all.push(await draw(networkAt(1)));
  for (const [i, { token }] of all.entries()) {
    assert.equal(challenges.verify(token, `WORD${i + 1}`, networkAt(1)), 'normal', `${i}`);
  }
});

test('an address with many challenges at once gets long words until it has fewer, others do not', async () => {
  const { challenges, draw, made } = setUp({
    openMax: 1_000,
    openPerClientMax: 400,
    openPerNeighbourhoodMax: 1_000,
    longWordFrom: 100,
  });
  const drawn = [];
  for (let i = 0; i < 420; i++) drawn.push(await draw(networkAt(1)));
  assert.deepEqual(
    made.map((word) => word.startsWith('LONG')),
    Array.from({ length: 400 }, (_, i) => i >= 100),
    'none is made beyond its share',
  );
  await draw(networkAt(2));
  assert.equal(made.at(-1), 'WORD401');
  for (const { token } of drawn.slice(0, 301)) challenges.verify(token, 'guess', networkAt(1));
  await draw(networkAt(1));
  assert.equal(made.at(-1), 'WORD402');
});

test('many /64s of one /48 share its bound, and its greediest part gives way', async () => {
  const { draw, again, challenges } = setUp({ openMax: 200, openPerNeighbourhoodMax: 20 });
  const greedy = [];
  for (let i = 0; i < 15; i++) greedy.push(await draw(networkAt(1, 0)));
  const small = [];
  for (let i = 1; i <= 5; i++) small.push(await draw(networkAt(1, i)));
  for (let i = 6; i < 1_000; i++) await draw(networkAt(1, i));
  assert.equal(challenges.stats().open, 20);
  for (const { token } of small) assert.equal((await again(token)).ok, true);
  assert.equal((await again(greedy[0]!.token)).ok, true, 'its oldest stays');
  assert.equal(errorOf(await again(greedy[14]!.token)), 'not_found', 'its newest went');
  const visitor = await draw(networkAt(2));
  assert.equal(visitor.got.ok, true);
});

test('when all is full the newest of the greediest network goes, and nobody else loses', async () => {
  const { draw, again } = setUp({ openMax: 40, openPerClientMax: 30 });
  const greedy = [];
  for (let i = 0; i < 30; i++) greedy.push(await draw(networkAt(9)));
  const others = [];
  for (let i = 10; i < 30; i++) others.push(await draw(networkAt(i)));
  for (const { got, token } of others) {
    assert.equal(got.ok, true);
    assert.equal((await again(token)).ok, true);
  }
  const kept = [];
  for (const { token } of greedy) kept.push((await again(token)).ok);
  assert.deepEqual(
    kept,
    greedy.map((_, i) => i < 20),
  );
  const { got } = await draw(networkAt(9));
  assert.equal(errorOf(got), 'client_limit_exceeded');
});

test('many /24s at their bounds leave room for one more visitor each', async () => {
  const { draw, again } = setUp({ openMax: 100, openPerClientMax: 10 });
  for (let round = 0; round < 5; round++) {
    for (let i = 0; i < 50; i++) await draw(networkAt(i));
  }
  const tokens = [];
  for (let i = 100; i < 140; i++) {
    const { got, token } = await draw(networkAt(i));
    assert.equal(got.ok, true, `${i}`);
    tokens.push(token);
  }
  for (const token of tokens) assert.equal((await again(token)).ok, true);
});

test('with as many networks as places nobody loses his, and the next is told to wait', async () => {
  const { draw, again } = setUp({ openMax: 10 });
  const tokens = [];
  for (let i = 0; i < 10; i++) tokens.push((await draw(networkAt(i))).token);
  assert.equal(errorOf((await draw(networkAt(99))).got), 'overloaded');
  for (const token of tokens) assert.equal((await again(token)).ok, true);
});

test('an evicted token is refused as long as it would live, and never drawn again', async () => {
  const { clock, draw, again, made } = setUp({ openMax: 2 });
  await draw(networkAt(1));
  const { token } = await draw(networkAt(1));
  await draw(networkAt(2));
  for (const ms of [0, 59_999, 60_000]) {
    clock.advance(ms);
    assert.equal(errorOf(await again(token)), 'not_found');
    assert.equal(errorOf(await again(token, networkAt(3))), 'not_found');
  }
  clock.advance(1);
  assert.equal(errorOf(await again(token)), 'not_found');
  assert.equal(made.length, 3);
});

test('used tokens have a bound of their own: then new ones are refused, never old ones drawn', async () => {
  const { clock, challenges, draw, again } = setUp({ tokensMax: 40 });
  const used: string[] = [];
  for (let i = 0; i < 200; i++) {
    const { token, got } = await draw(networkAt(i));
    if (got.ok) used.push(token);
    else assert.equal(got.error, 'overloaded');
    challenges.verify(token, 'no', networkAt(i));
  }
  assert.equal(used.length, 40);
  assert.equal(challenges.stats().tokens, 40);
  for (const token of used) assert.equal(errorOf(await again(token)), 'not_found');
  clock.advance(120_000);
  assert.equal((await draw(networkAt(1))).got.ok, true);
});

test('one network alone never fills the used tokens', async () => {
  const { challenges, draw, clock } = setUp({ tokensMax: 40 });
  // Round after round: what is over counts no more.
  for (let round = 0; round < 4; round++) {
    clock.advance(121_000);
    for (let i = 0; i < 500; i++) {
      const { token } = await draw(networkAt(1, i));
      challenges.verify(token, 'no', networkAt(1, i));
      challenges.verify(challenges.issue({ longWord: false }), 'no', networkAt(1, i));
    }
    assert.equal(challenges.stats().tokens, 20, `round ${round}`);
  }
  assert.equal((await draw(networkAt(2))).got.ok, true);
});

test('requests that wait are shares too: a greedy network leaves room for others', async () => {
  const waiting: (() => void)[] = [];
  const { draw } = setUp({
    openMax: 10_000,
    tokensMax: 10_000,
    openPerClientMax: 1_000,
    openPerNeighbourhoodMax: 5_000,
    pool: {
      image: () =>
        new Promise<Result<RenderedWord>>((resolve) => {
          waiting.push(() => resolve(ok(rendered('WORD', new Uint8Array(1)))));
        }),
      clip: async () => fail('overloaded'),
    },
  });
  const all: Promise<string>[] = [];
  const ask = (networks: Networks) => all.push(draw(networks).then(({ got }) => errorOf(got)));
  for (let i = 0; i < 1_000; i++) ask(networkAt(1));
  for (let i = 0; i < 1_000; i++) ask(networkAt(2, i));
  ask(networkAt(3));
  // When nothing is left, it is nobody's greed.
  for (let i = 100; i < 600; i++) ask(networkAt(i));
  assert.ok(waiting.length <= 500, `${waiting.length} wait`);
  for (const finish of waiting) finish();
  const found = await Promise.all(all);
  const count = (from: number, to: number, what: string) =>
    found.slice(from, to).filter((one) => one === what).length;
  // An office of 300 gets in as a whole, and not one more.
  assert.equal(count(0, 1_000, 'ok'), 300);
  assert.ok(count(1_000, 2_000, 'ok') >= 100);
  assert.equal(count(0, 2_000, 'ok') + count(0, 2_000, 'client_limit_exceeded'), 2_000);
  assert.equal(found[2_000], 'ok');
  assert.equal(count(2_000, found.length, 'client_limit_exceeded'), 0);
  assert.ok(count(2_000, found.length, 'overloaded') > 0);
  // Nobody waits any more, so the office has all of its share again.
  const later = Array.from({ length: 300 }, () => draw(networkAt(1)));
  for (const finish of waiting) finish();
  for (const { got } of await Promise.all(later)) assert.equal(errorOf(got), 'ok');
});

test('who is over his share is told before he gets a token', async () => {
  const { challenges, draw, clock } = setUp({ openPerClientMax: 3 });
  const network = networkAt(1);
  assert.equal(challenges.waitSeconds(network), 0);
  for (let i = 0; i < 3; i++) await draw(network);
  assert.equal(challenges.waitSeconds(network), 120);
  assert.equal(challenges.waitSeconds(networkAt(2)), 0);
  clock.advance(100_000);
  assert.equal(challenges.waitSeconds(network), 20);
  clock.advance(20_000);
  assert.equal(challenges.waitSeconds(network), 0);
});

test('without shares nobody is refused: the oldest gives way', async () => {
  const { challenges, draw, again } = setUp({
    sharesOn: false,
    openMax: 10,
    openPerClientMax: 1,
    openPerNeighbourhoodMax: 1,
  });
  const tokens = [];
  for (let i = 0; i < 15; i++) {
    const { token, got } = await draw(networkAt(1));
    assert.equal(got.ok, true);
    tokens.push(token);
  }
  assert.deepEqual([challenges.stats().open, challenges.stats().evicted], [10, 5]);
  for (const [i, token] of tokens.entries()) assert.equal((await again(token)).ok, i >= 5);
});

test('without shares the bound of remembered tokens still holds', async () => {
  const { challenges, draw } = setUp({ sharesOn: false, tokensMax: 10 });
  for (let i = 0; i < 10; i++) assert.equal((await draw(networkAt(1))).got.ok, true);
  assert.equal(errorOf((await draw(networkAt(2))).got), 'overloaded');
  assert.equal(challenges.stats().tokens, 10);
});
