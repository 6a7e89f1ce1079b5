/** Reports, trust and their attacks: the fold against rules worked out from scratch. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { lastReportedAtOf } from '../../../src/index/records.ts';
import { parseIp } from '../../../src/ip/address.ts';
import { halfLifeMs } from '../../../src/reputation/check/score.ts';
import { applyEvent } from '../../support/reputation/events.ts';
import { seededRandom } from '../../support/seeded.ts';
import { openWorld, worldStart } from '../reports/report-world.ts';

const dayMs = 86_400_000;

it('one new account alone tops out below 40, however often it reports', () => {
  const w = openWorld();
  w.account('a');
  let before = 0;
  for (let i = 0; i < 200; i++) {
    w.report('a', '8.8.8.8');
    const score = w.score('8.8.8.8');
    assert.ok(score >= before, 'a report never lowers the score');
    before = score;
  }
  // Trust grows with its own accepted reports (20 a day at most), and the cap with it a little.
  assert.ok(before >= 18 && before < 40, String(before));
});

it('evidence halves in 14 days, and the same account counts again', () => {
  const w = openWorld();
  w.account('a');
  w.report('a', '8.8.8.8');
  assert.equal(w.score('8.8.8.8'), 16, 'the first report adds the weight 0.5');
  w.at.now += halfLifeMs;
  assert.equal(w.score('8.8.8.8'), 9, 'half of it');
  w.report('a', '8.8.8.8');
  assert.ok(w.score('8.8.8.8') > 16);
});

it('addresses rotated inside a /64 do not help one account', () => {
  const w = openWorld();
  w.account('a', false);
  for (let i = 1; i <= 500; i++) w.report('a', `2606:4700::${i.toString(16)}`);
  assert.ok(w.score('2606:4700::ffff') <= 25, 'a neighbour shows the /64 alone');
  assert.ok(w.score('2606:4700::1') <= 40);
});

it('an address that stands for an IPv4 one says nothing of the others of its /64', async () => {
  const w = openWorld();
  w.account('a');
  w.account('b');
  for (const id of ['a', 'b']) w.vouch(id, 'staff');
  await w.good('9.9.9.9/32');
  for (let i = 1; i <= 9; i++) for (const id of ['a', 'b']) w.report(id, `64:ff9b::9.9.1.${i}`);
  assert.ok(w.score('64:ff9b::9.9.1.1') >= 75);
  assert.equal(w.score('64:ff9b::9.9.2.1'), 0, 'all of IPv4 is in that /64');
  w.withdraw('a', '64:ff9b::9.9.1.1', false);
  w.withdraw('b', '64:ff9b::9.9.1.1', false);
  assert.equal(w.score('64:ff9b::9.9.1.1'), 0);
  w.report('a', '64:ff9b::9.9.9.9');
  assert.equal(w.score('64:ff9b::9.9.9.9'), 0, 'as known good as the one that it stands for');
});

it('withdrawing takes the contribution and the points, others stay', () => {
  const w = openWorld();
  w.account('a');
  w.account('b');
  w.report('b', '8.8.4.4');
  const alone = w.score('8.8.4.4');
  w.report('a', '8.8.4.4');
  w.report('a', '8.8.4.4');
  assert.ok(w.score('8.8.4.4') > alone);
  w.withdraw('a', '8.8.4.4', true);
  assert.equal(w.score('8.8.4.4'), alone);
  assert.equal(w.points('a'), 0);
  w.withdraw('b', '8.8.4.4', false);
  assert.equal(w.score('8.8.4.4'), 0);
  assert.equal(w.index.size(), 0, 'nothing is said of it any more');
});

it('points stop at the caps, and trust at its bound, whatever two colluding accounts do', () => {
  const w = openWorld();
  w.account('a');
  w.account('b');
  const random = seededRandom(4);
  for (let day = 0; day < 10; day++) {
    for (let i = 0; i < 100; i++) {
      const ip = `9.${day}.${i}.${1 + Math.floor(random.next() * 200)}`;
      w.report('a', ip);
      w.report('b', ip);
    }
    const accepted = Math.min(60, 20 * (day + 1));
    for (const id of ['a', 'b']) {
      assert.ok(w.points(id) <= accepted, 'they confirm nobody, whatever their age');
    }
    w.at.now += dayMs;
  }
});

it('a report of an allowlisted address is recorded without weight or points', () => {
  const w = openWorld();
  w.account('a');
  const words = Uint32Array.of(0x08080800, 0, 0, 0);
  void applyEvent(w.fold, { kind: 'allow.added', family: 4, words, length: 24 }, w.at.now);
  w.report('a', '8.8.8.8');
  assert.equal(w.score('8.8.8.8'), 0);
  assert.equal(w.points('a'), 0);
  void applyEvent(w.fold, { kind: 'allow.removed', family: 4, words, length: 24 }, w.at.now);
  assert.equal(w.score('8.8.8.8'), 0, 'the weight was fixed when it was applied');
});

it('a withdrawn report no longer dates the last one', () => {
  const w = openWorld();
  for (const id of ['a', 'b']) w.account(id);
  w.report('a', '8.8.8.8', 7_200);
  w.report('b', '8.8.8.8', 60);
  const words = new Uint32Array(4);
  parseIp('8.8.8.8', words);
  const last = () => lastReportedAtOf(w.index.records, w.index.find(4, words));
  assert.equal(last(), worldStart / 1_000 - 60);
  w.withdraw('b', '8.8.8.8', false);
  assert.equal(last(), worldStart / 1_000 - 7_200);
  w.withdraw('a', '8.8.8.8', false);
  assert.equal(w.index.find(4, words), 0);
});

it('a report that finds the contributions full leaves no entry and earns nothing', () => {
  const w = openWorld({ contributionsMax: 1 });
  w.account('a');
  w.report('a', '9.9.9.9');
  const points = w.points('a');
  for (const ip of ['9.9.9.8', '2606:4700::1']) w.report('a', ip);
  assert.equal(w.index.size(), 1);
  assert.equal(w.points('a'), points);
  assert.equal(w.refusals.total(), 3);
});
