/**
 * What a botnet gets: guesses at one password, with a fresh network for each and every challenge
 * solved, taken whenever one is admitted. Compared with the rule of before (20 free, then a delay
 * that doubles up to a minute), which is the model here: never more in any hour.
 */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { type Attempt, createAttempts } from '../../../src/signon/proofs/attempts.ts';
import { manualClock } from '../../support/seeded.ts';

const hourSeconds = 3_600;
const hours = 3;

interface Owner {
  /** Seconds between two appearances; 0: never. */
  readonly every: number;
  readonly how: 'forgive' | 'known browser';
}

/** Guesses admitted in each second. */
function botnet(stage: Attempt['stage'], owner: Owner): number[] {
  const clock = manualClock(0);
  const attempts = createAttempts({ clock });
  const admitted: number[] = [];
  let network = 0;
  const base = { stage, account: 'victim@example.org', challenged: true } as const;
  for (let second = 0; second < hours * hourSeconds; second++) {
    if (owner.every > 0 && second % owner.every === 0) appear();
    let inSecond = 0;
    for (;;) {
      network++;
      const near = `near ${network}`;
      const at = { network: `botnet ${network}`, neighbourhood: near, browser: undefined };
      if (attempts.begin({ ...base, ...at }) > 0) break;
      inSecond++;
    }
    admitted.push(inSecond);
    clock.advance(1_000);
  }
  return admitted;

  function appear(): void {
    if (owner.how === 'forgive') {
      attempts.forgive(base.account);
      return;
    }
    const browser = owner.how === 'known browser' ? 'known' : undefined;
    const own = { ...base, network: 'home', neighbourhood: 'home', browser };
    if (attempts.begin(own) === 0) attempts.succeeded(own);
  }
}

/** The rule of before, for one account and any number of networks. */
function before(free: number, delayMaxSeconds: number): number[] {
  const admitted: number[] = [];
  let [count, blockedUntil] = [0, 0];
  for (let second = 0; second < hours * hourSeconds; second++) {
    let inSecond = 0;
    while (second >= blockedUntil) {
      count++;
      inSecond++;
      if (count >= free) blockedUntil = second + Math.min(delayMaxSeconds, 2 ** (count - free));
    }
    admitted.push(inSecond);
  }
  return admitted;
}

function mostInAnHour(perSecond: readonly number[]): number {
  let [sum, most] = [0, 0];
  for (let i = 0; i < perSecond.length; i++) {
    sum += perSecond[i]! - (perSecond[i - hourSeconds] ?? 0);
    most = Math.max(most, sum);
  }
  return most;
}

const total = (perSecond: readonly number[]) => perSecond.reduce((sum, n) => sum + n, 0);

it('the rule of before gave a botnet 84 guesses in the first hour and 60 in each other', () => {
  const rule = before(20, 60);
  assert.equal(mostInAnHour(rule), 84);
  assert.equal(total(rule.slice(-hourSeconds)), 60);
});

it('without the owner a botnet has 40 guesses at a password in any hour, and 20 in the long run', () => {
  const guesses = botnet('password', { every: 0, how: 'forgive' });
  assert.ok(mostInAnHour(guesses) <= 40, String(mostInAnHour(guesses)));
  assert.equal(total(guesses.slice(-hourSeconds)), 20);
});

for (const how of ['forgive', 'known browser'] as const) {
  for (const every of [1, 60, 600, 1_800, 3_600]) {
    it(`an owner who shows up every ${every} s (${how}) gives a botnet no more than before`, () => {
      const [now, then] = [botnet('password', { every, how }), before(20, 60)];
      assert.ok(mostInAnHour(now) <= 80, `${mostInAnHour(now)} in an hour`);
      assert.ok(mostInAnHour(now) <= mostInAnHour(then));
      assert.ok(total(now) <= total(then), `${total(now)} in all, ${total(then)} before`);
    });
  }
}

it('codes of a second factor are guessed no faster than before, whoever helps', () => {
  const then = before(5, 900);
  for (const every of [0, 60, 3_600]) {
    const now = botnet('secondFactor', { every, how: 'forgive' });
    assert.ok(mostInAnHour(now) <= mostInAnHour(then), String(mostInAnHour(now)));
    assert.ok(total(now) <= total(then));
  }
});
