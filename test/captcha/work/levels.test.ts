/** The level of a challenge by what an address is, and by the rates of its client, network and provider. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createLevels, type Level } from '../../../src/captcha/work/levels.ts';
import { networksOf } from '../../../src/ip/networks.ts';
import { manualClock } from '../../support/seeded.ts';

function setUp({ limitsOn = true, score = 0, exit = false, provider = '' } = {}) {
  const clock = manualClock(0);
  const levels = createLevels({
    callers: {
      isClean: ({ clientIp }) => clientIp !== 'unix:' && score < 10 && !exit,
      isExit: () => exit,
      abuseScoreOf: () => score,
      networksOf: ({ clientIp }) => networksOf(clientIp),
    },
    geo: { find: () => (provider === '' ? 0 : 1), provider: () => provider },
    clock,
    limitsOn,
  });
  const choose = (clientIp = '192.0.2.1', least: 'puzzle' | Level = 'silent') =>
    levels.choose({ clientIp }, least);
  /** The levels of so many challenges in one moment, each once, in their order. */
  function run(times: number, addressOf: (i: number) => string): Level[] {
    const met = new Set<Level>();
    for (let i = 0; i < times; i++) met.add(choose(addressOf(i)).level);
    return [...met];
  }
  return { clock, choose, run };
}

it('a clean address works, a low score gets an easy picture, others and exits a hard one', () => {
  const levelOf = (score: number, exit = false) => setUp({ score, exit }).choose().level;
  assert.equal(levelOf(0), 'silent');
  assert.equal(levelOf(9), 'silent');
  assert.equal(levelOf(10), 'easy');
  assert.equal(levelOf(49), 'easy');
  assert.equal(levelOf(50), 'hard');
  assert.equal(levelOf(100), 'hard');
  for (const score of [0, 10, 49, 50]) assert.equal(levelOf(score, true), 'hard', `exit, ${score}`);
  assert.equal(setUp().choose('unix:').level, 'easy', 'no address at all');
});

it('a site key asks for more, never for less; a puzzle is a picture, as hard as for others', () => {
  const levelOf = (score: number, least: 'puzzle' | Level) =>
    setUp({ score }).choose(undefined, least).level;
  assert.deepEqual(
    (['silent', 'easy', 'hard'] as const).map((least) => levelOf(0, least)),
    ['silent', 'easy', 'hard'],
  );
  assert.deepEqual(
    (['silent', 'easy', 'hard'] as const).map((least) => levelOf(50, least)),
    ['hard', 'hard', 'hard'],
  );
  assert.deepEqual(
    [0, 50, 75].map((score) => levelOf(score, 'puzzle')),
    ['easy', 'hard', 'hard'],
  );
});

it('many challenges from one client get pictures, then hard ones, until the rate falls', () => {
  const { choose, run, clock } = setUp();
  assert.deepEqual(
    run(241, () => '192.0.2.1'),
    ['silent', 'easy', 'hard'],
  );
  assert.equal(choose('192.0.3.1').level, 'silent', 'another network');
  clock.advance(5 * 60_000);
  assert.equal(choose().level, 'silent');
});

it('many clients of one network are one network, for IPv6 too', () => {
  const { run } = setUp();
  assert.deepEqual(
    run(961, (i) => `192.0.2.${i % 250}`),
    ['silent', 'easy', 'hard'],
  );
  assert.deepEqual(
    setUp().run(961, (i) => `2001:db8:1:${(i % 250).toString(16)}::1`),
    ['silent', 'easy', 'hard'],
  );
});

it('a provider is under pressure when it is far over its own hour; one that rents servers is hard then', () => {
  const spread = (i: number) => `10.${i % 250}.${Math.floor(i / 250)}.1`;
  assert.deepEqual(setUp({ provider: 'Orange S.A.' }).run(301, spread), ['silent', 'easy']);
  assert.deepEqual(setUp({ provider: 'Example Hosting GmbH' }).run(301, spread), [
    'silent',
    'hard',
  ]);
  // So many a minute for hours are its usual number.
  const { clock, choose } = setUp({ provider: 'Orange S.A.' });
  let last: Level | undefined;
  for (let i = 0; i < 180 * 400; i++) {
    last = choose(`10.${i % 250}.0.1`).level;
    clock.advance(150);
  }
  assert.equal(last, 'silent');
});

it('one client or network that floods presses itself, and nobody else at its provider', () => {
  for (const flood of [() => '10.0.0.1', (i: number) => `10.0.0.${i % 250}`]) {
    const { run, choose } = setUp({ provider: 'Example Hosting GmbH' });
    assert.deepEqual(run(4_000, flood), ['silent', 'easy', 'hard']);
    assert.equal(choose('10.1.0.1').level, 'silent');
  }
  // Many networks do, however much each of them asks for.
  const { run, choose, clock } = setUp({ provider: 'Example Hosting GmbH' });
  for (let second = 0; second < 120; second++) {
    run(50, (i) => `10.0.${i % 10}.1`);
    clock.advance(1_000);
  }
  assert.equal(choose('10.1.0.1').level, 'hard');
});

it('work grows with the score and the rates up to a bound, and nothing is counted without limits', () => {
  const calm = setUp().choose().triesMax;
  assert.ok(setUp({ score: 9 }).choose().triesMax > 1.5 * calm);
  const busy = setUp();
  for (let i = 0; i < 90; i++) busy.choose();
  const { triesMax } = busy.choose();
  assert.ok(triesMax > 2 * calm && triesMax <= 5 * calm, String(triesMax));
  const off = setUp({ limitsOn: false });
  assert.deepEqual(
    off.run(1_000, () => '192.0.2.1'),
    ['silent'],
  );
  assert.ok(off.choose().triesMax <= calm);
});
