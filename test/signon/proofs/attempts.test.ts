/** Lock-out: delays grow, end, and hit the right one. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { type Attempt, createAttempts } from '../../../src/signon/proofs/attempts.ts';
import { manualClock } from '../../support/seeded.ts';

const guess: Attempt = { stage: 'password', account: 'a', network: 'n', browser: undefined };

function open(capacity?: number) {
  const clock = manualClock(0);
  const attempts = createAttempts({ clock, ...(capacity === undefined ? {} : { capacity }) });
  return { clock, attempts };
}

const challenged: Attempt = { ...guess, challenged: true };

it('five attempts are free, then the wait doubles up to a quarter of an hour', () => {
  const { clock, attempts } = open();
  for (let i = 0; i < 5; i++) assert.equal(attempts.begin(challenged), 0, `attempt ${i}`);
  const waits: number[] = [];
  for (let i = 0; i < 12; i++) {
    const wait = attempts.begin(challenged);
    waits.push(wait);
    clock.advance(wait * 1_000 - 1);
    assert.notEqual(attempts.begin(challenged), 0);
    clock.advance(1);
    assert.equal(attempts.begin(challenged), 0);
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

it('an account takes 10 guesses of strangers, 20 with challenges, and one more in three minutes', () => {
  const { clock, attempts } = open();
  const begin = (i: number, more = {}) =>
    attempts.begin({ ...guess, network: `stranger ${i}`, ...more });
  const admitted = (more = {}) =>
    Array.from({ length: 200 }, (_, i) => begin(i, more)).filter((wait) => wait === 0).length;
  assert.equal(admitted(), 10);
  assert.equal(admitted({ challenged: true }), 10);
  assert.equal(begin(1_000, { challenged: true }), 180);
  clock.advance(179_999);
  assert.equal(admitted({ challenged: true }), 0);
  clock.advance(1);
  assert.equal(admitted(), 0, 'without a challenge none before ten have drained');
  assert.equal(admitted({ challenged: true }), 1);
  assert.equal(begin(0, { account: 'another' }), 0);
  assert.equal(begin(0, { browser: 'known' }), 0, 'a known browser is not slowed at all');
});

it('a session is held up by its own tries alone, and these count for strangers', () => {
  const { attempts } = open();
  for (let i = 0; i < 200; i++) attempts.begin({ ...challenged, network: `stranger ${i}` });
  const inside = { ...guess, session: 's', network: 'home' };
  for (let i = 0; i < 5; i++) assert.equal(attempts.begin(inside), 0);
  assert.equal(attempts.begin(inside), 1);
  assert.equal(attempts.begin({ ...inside, session: 't' }), 0);
  const quiet = { ...inside, account: 'quiet' };
  for (let i = 0; i < 5; i++) attempts.begin(quiet);
  assert.equal(attempts.begin({ ...quiet, session: undefined }), 1);
});

it('the owner forgives 20 guesses of strangers an hour, and no try at the second factor', () => {
  const { clock, attempts } = open();
  const spend = () => {
    let admitted = 0;
    for (let i = 0; i < 200; i++) {
      if (attempts.begin({ ...challenged, network: `stranger ${i}` }) === 0) admitted++;
    }
    return admitted;
  };
  const code = { ...guess, stage: 'secondFactor' as const };
  for (let i = 0; i < 5; i++) attempts.begin(code);
  assert.equal(spend(), 20);
  attempts.forgive('a');
  assert.equal(spend(), 20);
  for (let i = 0; i < 10; i++) {
    attempts.forgive('a');
    assert.equal(spend(), 0, 'not again at once');
  }
  assert.notEqual(attempts.begin(code), 0);
  clock.advance(30 * 60_000);
  attempts.forgive('a');
  assert.equal(spend(), 20, '10 drained, 10 forgiven');
  attempts.forgive('unknown');
});

it('what the owner is forgiven counts for the networks that tried this account, too', () => {
  const { attempts } = open();
  for (let i = 0; i < 9; i++) attempts.begin(challenged);
  assert.notEqual(attempts.begin(challenged), 0);
  attempts.forgive('a');
  assert.equal(attempts.begin(guess), 0);
});

it('the browser of a reset is vouched for an hour, for this account alone', () => {
  const { clock, attempts } = open();
  attempts.vouch('a', 'browser');
  assert.equal(attempts.isVouched('a', 'browser'), true);
  assert.equal(attempts.isVouched('a', 'other'), false);
  assert.equal(attempts.isVouched('b', 'browser'), false);
  clock.advance(3_600_000);
  assert.equal(attempts.isVouched('a', 'browser'), false);
});

it('a /24 or /48 has 100 guesses, 400 with challenges, then 100 an hour, over all its networks', () => {
  const { clock, attempts } = open();
  let count = 0;
  const spend = (more: Partial<Attempt>) => {
    let admitted = 0;
    for (let i = 0; i < 1_000; i++) {
      const one = { account: `a${count}`, network: `n${count}`, neighbourhood: 'near', ...more };
      if (attempts.begin({ ...guess, ...one }) === 0) admitted++;
      count++;
    }
    return admitted;
  };
  assert.equal(spend({}), 100);
  assert.equal(spend({ challenged: true }), 300);
  assert.equal(spend({ neighbourhood: 'elsewhere' }), 100);
  clock.advance(3_600_000);
  assert.equal(spend({ challenged: true }), 100);
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
  for (let i = 0; i < 10_000; i++) {
    const at = { account: `a${i}`, network: `n${i}`, neighbourhood: `m${i}` };
    attempts.begin({ ...guess, ...at });
    attempts.begin({ ...guess, ...at, stage: 'secondFactor' });
    attempts.begin({ ...guess, ...at, browser: `b${i}` });
    attempts.vouch(`a${i}`, 'b');
  }
  assert.equal(attempts.size, 6 * 100 + 10_000);
});

it('a flood of other names does not wash out what was counted of an account or a network', () => {
  const { attempts } = open(100);
  for (let i = 0; i < 20; i++) attempts.begin({ ...challenged, network: `stranger ${i}` });
  for (let i = 0; i < 30; i++) attempts.begin({ ...challenged, account: `b${i}` });
  for (let i = 0; i < 5_000; i++) {
    attempts.begin({ ...guess, account: `flood ${i}`, network: `flood ${i}` });
  }
  assert.notEqual(attempts.begin({ ...challenged, network: 'fresh' }), 0);
  assert.notEqual(attempts.begin({ ...challenged, account: 'fresh' }), 0);
});
