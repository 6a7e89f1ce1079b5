/** Lock-out: delays grow, end, and hit the right one. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { manualClock } from '../../src/core/clock.ts';
import { type Attempt, createAttempts } from '../../src/signon/attempts.ts';

const guess: Attempt = { stage: 'password', account: 'a', network: 'n', browser: undefined };

function open(capacity?: number) {
  const clock = manualClock(0);
  const attempts = createAttempts({ clock, ...(capacity === undefined ? {} : { capacity }) });
  return { clock, attempts };
}

it('five attempts are free, then the wait doubles up to a quarter of an hour', () => {
  const { clock, attempts } = open();
  for (let i = 0; i < 5; i++) assert.equal(attempts.begin(guess), 0, `attempt ${i}`);
  const waits: number[] = [];
  for (let i = 0; i < 12; i++) {
    const wait = attempts.begin(guess);
    waits.push(wait);
    clock.advance(wait * 1_000 - 1);
    assert.notEqual(attempts.begin(guess), 0);
    clock.advance(1);
    assert.equal(attempts.begin(guess), 0);
  }
  assert.deepEqual(waits, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900]);
});

it('200 attempts at once are as slow as 200 in a row', () => {
  const { attempts } = open();
  const admitted = Array.from({ length: 200 }, () => attempts.begin(guess)).filter((s) => s === 0);
  assert.equal(admitted.length, 5);
});

it('a success forgives, an attempt that was never judged does not count', () => {
  const { attempts } = open();
  for (let i = 0; i < 50; i++) {
    assert.equal(attempts.begin(guess), 0);
    if (i % 2 === 0) attempts.succeeded(guess);
    else attempts.withdrawn(guess);
  }
});

it('strangers in many networks slow others to a minute at most, and a known browser not at all', () => {
  const { clock, attempts } = open();
  for (let i = 0; i < 500; i++) {
    const wait = attempts.begin({ ...guess, network: `stranger ${i}` });
    assert.ok(wait <= 60);
    clock.advance(wait * 1_000);
  }
  const owner = { ...guess, network: 'home' };
  const wait = attempts.begin(owner);
  assert.ok(wait > 0 && wait <= 60, String(wait));
  assert.equal(attempts.begin({ ...owner, browser: 'known' }), 0);
});

it('a network that tries many accounts is slowed, and its own account does not free it', () => {
  const { clock, attempts } = open();
  let waits = 0;
  for (let i = 0; i < 60; i++) {
    const wait = attempts.begin({ ...guess, account: `victim ${i}` });
    if (wait === 0) continue;
    waits++;
    clock.advance(wait * 1_000);
    const own = { ...guess, account: 'own' };
    assert.equal(attempts.begin(own), 0);
    attempts.succeeded(own);
  }
  assert.ok(waits > 10, String(waits));
});

it('password and second factor are counted apart; a quiet day forgets', () => {
  const { clock, attempts } = open();
  for (let i = 0; i < 8; i++) attempts.begin(guess);
  assert.notEqual(attempts.begin(guess), 0);
  assert.equal(attempts.begin({ ...guess, stage: 'secondFactor', network: 'm' }), 0);
  clock.advance(24 * 3_600_000);
  for (let i = 0; i < 5; i++) assert.equal(attempts.begin(guess), 0);
});

it('proofs given together are one try: their network is counted once and never blocks itself', () => {
  const { attempts } = open();
  const together = (i: number) => [
    { ...guess, account: `mail ${i}` },
    { ...guess, account: `id ${i}`, stage: 'secondFactor' as const },
  ];
  for (let i = 0; i < 30; i++) assert.equal(attempts.begin(...together(i)), 0, `try ${i}`);
  assert.notEqual(attempts.begin(...together(30)), 0);
  attempts.withdrawn(...together(29));
  assert.equal(attempts.begin(...together(31)), 0);
});

it('memory is bounded however many subjects come', () => {
  const { attempts } = open(100);
  for (let i = 0; i < 10_000; i++) attempts.begin({ ...guess, account: `a${i}`, network: `n${i}` });
  assert.equal(attempts.size, 100);
});
