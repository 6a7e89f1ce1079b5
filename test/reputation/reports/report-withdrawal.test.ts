/** What taking reports back leaves behind: no second reward, no evidence of what is gone. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { openWorld } from './report-world.ts';

const dayMs = 86_400_000;
const accounts = ['a', 'b', 'c'] as const;
/** One, so that the accounts meet at it. */
const ips = ['9.9.9.1'] as const;

const account = fc.constantFrom(...accounts);
const ip = fc.constantFrom(...ips);
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('report'), account, ip }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('withdraw'), account, ip }) },
  fc.record({ do: fc.constant('wait'), waitMs: fc.integer({ min: 0, max: 3 * dayMs }) }),
  fc.record({ do: fc.constant('seed'), ip, isListed: fc.boolean() }),
);

it('an address earns an account five points once in a year, however often it is taken back', () =>
  fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 80 }), async (steps) => {
      const w = openWorld();
      for (const id of accounts) w.account(id);
      w.at.now += 8 * dayMs;
      const reports = new Map<string, number>();
      for (const s of steps) {
        if ('waitMs' in s) w.at.now += s.waitMs;
        else if ('isListed' in s) await w.seed('list', s.isListed ? { [`${s.ip}/32`]: 50 } : {});
        else if (s.do === 'withdraw') w.withdraw(s.account, s.ip, false);
        else {
          w.report(s.account, s.ip);
          reports.set(s.account, (reports.get(s.account) ?? 0) + 1);
        }
      }
      for (const [id, count] of reports) {
        assert.ok(w.points(id) <= count + 5 * ips.length, `${id}: ${w.points(id)} for ${count}`);
      }
    }),
    { seed: 1, numRuns: 200 },
  ));

it('taking back more confirmed reports than are remembered earns nothing either', () => {
  const w = openWorld();
  for (const id of ['a', 'b']) w.account(id);
  w.vouch('b', 'staff');
  w.at.now += 8 * dayMs;
  /** Five addresses a day, of which two make the day's cap. @returns the points that these addresses earned */
  function round(day: number): number {
    const before = w.points('a');
    const ips = [1, 2, 3, 4, 5].map((host) => `9.9.${day}.${host}`);
    for (const one of ips) w.report('a', one);
    for (const one of ips) w.report('b', one);
    for (const one of ips) for (const id of ['a', 'b']) w.withdraw(id, one, false);
    w.at.now += dayMs;
    return w.points('a') - before;
  }
  const days = Array.from({ length: 20 }, (_, day) => day);
  for (const day of days) round(day);
  // The day in which the 64th was taken back had begun.
  const confirmed = 13 * 10;
  assert.equal(w.points('a'), 60 + confirmed);
  // Every accepted point is made: what comes now could only be a confirmation.
  for (const day of days) assert.equal(round(day), 0, `day ${day}`);
  w.at.now += 365 * dayMs;
  assert.equal(round(0), 10);
});

it('without one host a /64 shows what the reports of the others make of it', () => {
  for (const [kept, gone] of [
    [1, 1],
    [1, 4],
    [3, 2],
  ] as const) {
    const [told, other] = [openWorld(), openWorld()];
    for (const w of [told, other]) {
      w.account('a');
      w.vouch('a', 'staff');
      // So much trust that the points of these reports change no weight.
      w.trust('a', 3_000);
      for (let i = 0; i < kept; i++) w.report('a', '2606:4700::1');
    }
    for (let i = 0; i < gone; i++) told.report('a', '2606:4700::2');
    assert.ok(told.score('2606:4700::9') > other.score('2606:4700::9'));
    told.withdraw('a', '2606:4700::2', false);
    assert.equal(told.score('2606:4700::9'), other.score('2606:4700::9'));
    told.withdraw('a', '2606:4700::1', false);
    assert.equal(told.index.size(), 0);
  }
});
