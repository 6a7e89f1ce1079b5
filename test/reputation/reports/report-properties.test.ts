/**
 * What must hold of scores, trust and quotas whatever anybody reports, in random histories of
 * reports, lists, rules, retractions and time.
 */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { communityScore, maliciousScore } from '../../../src/reputation/check/score.ts';
import { createReportModel, isScore } from '../../support/reputation/report-model.ts';
import { addressOf, openWorld, type World, worldStart } from './report-world.ts';

const parameters = { seed: 1, numRuns: 120 } as const;
const dayMs = 86_400_000;
const accounts = ['a', 'b', 'c', 'd'] as const;
/** Hosts beside each other, hosts of one /64, and one of another. */
const ips = [
  '9.9.9.1',
  '9.9.9.2',
  '9.9.8.1',
  '2606:4700::1',
  '2606:4700::2',
  '2606:4700:0:1::1',
] as const;
const prefixes = [...ips.map((ip) => `${ip}/${ip.includes(':') ? 128 : 32}`)].concat(
  '9.9.9.0/24',
  '9.9.0.0/16',
  '2606:4700::/64',
  '2606:4700::/32',
);

const account = fc.constantFrom(...accounts);
const ip = fc.constantFrom(...ips);
const ageSeconds = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 365 * 86_400 }));
const points = fc.integer({ min: 0, max: 3_000 });
const vouched = fc.constantFrom('none', 'member', 'staff');
const waitMs = fc.oneof(
  fc.integer({ min: 0, max: 3_600_000 }),
  fc.integer({ min: 0, max: 40 * dayMs }),
);
const rows = fc.dictionary(fc.constantFrom(...prefixes), fc.integer({ min: 0, max: 100 }));

const network = fc.integer({ min: 1, max: 3 });
const categories = fc.constantFrom(1 << 18, 1 << 14, (1 << 4) | (1 << 6), (1 << 4) | (1 << 22));
const report = fc.record({
  do: fc.constant('report'),
  account,
  ip,
  ageSeconds,
  network,
  categories,
});
const step = fc.oneof(
  { weight: 6, arbitrary: report },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('wait'), waitMs }) },
  fc.record({ do: fc.constant('seed'), source: fc.constantFrom('x', 'y'), rows }),
  fc.record({ do: fc.constant('withdraw'), account, ip, penalty: fc.boolean() }),
  fc.record({ do: fc.constant('allow'), prefix: fc.constantFrom(...prefixes), add: fc.boolean() }),
  fc.record({ do: fc.constant('trust'), account, points }),
  fc.record({ do: fc.constant('vouch'), account, vouched }),
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;
const history = fc.array(step, { maxLength: 40 });

async function take(w: World, s: Step): Promise<void> {
  if ('ageSeconds' in s) w.report(s.account, s.ip, s.ageSeconds, s);
  else if ('waitMs' in s) w.at.now += s.waitMs;
  else if ('rows' in s) await w.seed(s.source, s.rows);
  else if ('penalty' in s) w.withdraw(s.account, s.ip, s.penalty);
  else if ('prefix' in s) w.allow(s.prefix, s.add);
  else if ('points' in s) w.trust(s.account, s.points);
  else w.vouch(s.account, s.vouched);
}

async function worldAfter(steps: readonly Step[]): Promise<World> {
  const w = openWorld();
  for (const id of accounts) w.account(id, id !== 'd');
  for (const s of steps) await take(w, s);
  return w;
}

const scores = (w: World) => ips.map((one) => w.score(one));

it('a score is a whole number in 0..100, and 75 is where malicious begins', () =>
  fc.assert(
    fc.asyncProperty(history, async (steps) => {
      const w = await worldAfter(steps);
      for (const one of ips) {
        const { score, malicious } = w.judge(one);
        assert.ok(Number.isInteger(score) && score >= 0 && score <= 100, `${one}: ${score}`);
        assert.equal(malicious, score >= maliciousScore);
      }
    }),
    parameters,
  ));

it('an accepted report lowers no score, of its address or of any other', () =>
  fc.assert(
    fc.asyncProperty(history, fc.array(report, { maxLength: 10 }), async (steps, reports) => {
      const w = await worldAfter(steps);
      let before = scores(w);
      for (const one of reports) {
        await take(w, one);
        const after = scores(w);
        assert.ok(
          after.every((score, i) => score >= before[i]!),
          `${before} then ${after}`,
        );
        before = after;
      }
    }),
    parameters,
  ));

it('one newcomer alone never goes beyond a score of 35, nor by rotating inside a /64', () =>
  fc.assert(
    fc.property(
      points,
      fc.array(fc.record({ host: fc.integer({ min: 1, max: 4 }), waitMs, ageSeconds }), {
        maxLength: 60,
      }),
      fc.boolean(),
      (trusted, reports, isIpv6) => {
        const w = openWorld();
        w.account('a');
        w.trust('a', trusted);
        const hosts = [1, 2, 3, 4].map((i) => (isIpv6 ? `2606:4700::${i}` : `9.9.9.${i}`));
        for (const { host, waitMs: wait, ageSeconds: age } of reports) {
          w.at.now += wait;
          w.report('a', hosts[host - 1]!, age);
          for (const one of hosts) assert.ok(w.score(one) <= 35, `${one}: ${w.score(one)}`);
        }
      },
    ),
    parameters,
  ));

it('evidence halves in 14 days, and a later report of the same account counts again', () =>
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 30 }), points, (count, trusted) => {
      const w = openWorld();
      w.account('a', false);
      w.trust('a', trusted);
      for (let i = 0; i < count; i++) w.report('a', '9.9.9.1');
      const shown = w.score('9.9.9.1');
      w.at.now += 14 * dayMs;
      const later = w.score('9.9.9.1');
      // Between the halves of what rounds to the score shown before.
      const half = (score: number) =>
        Math.round(communityScore((-49 * Math.log(1 - score / 49)) / 80, 49));
      const [low, high] = [half(shown - 0.51), half(shown + 0.51)];
      assert.ok(later >= low && later <= high, `${shown}, ${later}`);
      w.report('a', '9.9.9.1');
      assert.ok(w.score('9.9.9.1') > later);
    }),
    parameters,
  ));

it('a report on a host inside a bad network never lowers its score, nor hides the network', () =>
  fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 0, max: 100 }),
      fc.constantFrom(['9.9.9.1', '9.9.9.0/24'], ['2606:4700::1', '2606:4700::/32']),
      fc.array(fc.record({ account, ageSeconds }), { minLength: 1, maxLength: 8 }),
      async (listed, [host, network], reports) => {
        const w = await worldAfter([]);
        await w.seed('bad', { [network!]: listed });
        for (const { account: who, ageSeconds: age } of reports) {
          const before = w.score(host!);
          w.report(who, host!, age);
          assert.ok(w.score(host!) >= Math.max(before, listed));
        }
      },
    ),
    parameters,
  ));

it('seeding the same list again changes nothing; rows that vanish go, reports stay', () =>
  fc.assert(
    fc.asyncProperty(history, rows, async (steps, list) => {
      const w = await worldAfter(steps);
      // Nothing is left of other lists, so that what remains at the end is known.
      for (const source of ['x', 'y']) await w.seed(source, {});
      const before = { scores: scores(w), size: w.index.size() };
      await w.seed('x', list);
      const first = { scores: scores(w), size: w.index.size(), points: accounts.map(w.points) };
      await w.seed('x', list);
      const again = { scores: scores(w), size: w.index.size(), points: accounts.map(w.points) };
      assert.deepEqual(again, first);
      await w.seed('x', {});
      assert.deepEqual({ scores: scores(w), size: w.index.size() }, before);
    }),
    parameters,
  ));

it('trust and both quotas grow with an accepted report up to the caps of day and account', () =>
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 40 }), { minLength: 1, maxLength: 8 }),
      (reportsOfDays) => {
        const w = openWorld();
        w.account('a');
        let accepted = 0;
        let host = 0;
        for (const reportsOfDay of reportsOfDays) {
          for (let today = 0; today < reportsOfDay; today++) {
            const before = w.quotas('a');
            w.report('a', `9.9.${host >> 8}.${host++ & 255}`);
            const after = w.quotas('a');
            if (today < 20 && accepted < 60) {
              accepted++;
              assert.ok(after.trust > before.trust && after.reads > before.reads);
              assert.ok(after.writes > before.writes);
            } else assert.deepEqual(after, before);
          }
          assert.equal(w.points('a'), accepted);
          w.at.now += dayMs;
        }
      },
    ),
    parameters,
  ));

it('trust stays below 100, reads in 1,000..10,000, writes in 50..500, whatever happens', () =>
  fc.assert(
    fc.asyncProperty(history, async (steps) => {
      const w = openWorld();
      for (const id of accounts) w.account(id, id !== 'd');
      for (const s of steps) {
        await take(w, s);
        for (const id of accounts) {
          const { trust, reads, writes } = w.quotas(id);
          assert.ok(w.points(id) >= 0 && trust >= 0 && trust <= 100, `${trust}`);
          assert.ok(reads >= 1_000 && reads <= 10_000 && writes >= 50 && writes <= 500);
        }
      }
    }),
    parameters,
  ));

it('a confirmation counts once per address and account, and by anchors alone', () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.oneof(
          fc.record({ by: fc.constantFrom('b', 'c', 'd') }),
          fc.record({ list: fc.constantFrom('x', 'y'), listed: fc.boolean() }),
        ),
        { maxLength: 20 },
      ),
      async (confirmations) => {
        const w = await worldAfter([]);
        w.vouch('b', 'staff');
        w.vouch('c', 'member');
        w.at.now += 8 * dayMs;
        w.report('a', '9.9.9.1');
        assert.equal(w.points('a'), 1);
        let isConfirmed = false;
        for (const confirmation of confirmations) {
          if ('by' in confirmation) {
            w.report(confirmation.by, '9.9.9.1');
            // d is nobody: its word confirms nobody's.
            isConfirmed ||= confirmation.by !== 'd';
          } else {
            await w.seed(confirmation.list, confirmation.listed ? { '9.9.9.1/32': 50 } : {});
            isConfirmed ||= confirmation.listed;
          }
          assert.equal(w.points('a'), isConfirmed ? 6 : 1);
          // Another day, so that no daily cap hides a second reward.
          w.at.now += dayMs / 20;
        }
      },
    ),
    parameters,
  ));

it('two new accounts that copy a public list gain no more than the caps allow', () =>
  fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 25 }),
      fc.boolean(),
      fc.integer({ min: 1, max: 60 }),
      async (days, isSeededFirst, length) => {
        const w = openWorld();
        w.account('a');
        w.account('b');
        const public_ = Array.from({ length }, (_, i) => `9.8.7.${i}`);
        const list = Object.fromEntries(public_.map((one) => [`${one}/32`, 75]));
        for (let day = 0; day < days; day++) {
          if (isSeededFirst) await w.seed('public', list);
          for (const one of public_) {
            w.report('a', one);
            w.report('b', one);
          }
          // The operator loads the list every day: what is in it already confirms nobody.
          await w.seed('public', list);
          const accepted = Math.min(60, 20 * (day + 1));
          const praised = Math.min(10 * (day + 1), 5 * length);
          for (const id of ['a', 'b']) {
            const { trust, reads, writes } = w.quotas(id);
            assert.ok(w.points(id) <= accepted + praised, `day ${day}: ${w.points(id)}`);
            if (isSeededFirst) assert.ok(w.points(id) <= accepted, 'a copy earns nothing');
            assert.ok(trust < 100 && reads < 10_000 && writes < 500);
          }
          w.at.now += dayMs;
        }
        // Whatever trust they made: the two alone are newcomers or earned votes of two networks.
        w.report('a', '9.1.1.1');
        w.report('b', '9.1.1.1');
        assert.ok(w.score('9.1.1.1') < maliciousScore, `${w.score('9.1.1.1')}`);
      },
    ),
    { ...parameters, numRuns: 40 },
  ));

it('a retraction takes that contribution and the points, and leaves what others said', () =>
  fc.assert(
    fc.property(
      fc.array(fc.record({ account, ageSeconds, waitMs }), { maxLength: 20 }),
      fc.constantFrom('9.9.9.1', '2606:4700::1'),
      points,
      (reports, host, earned) => {
        const [told, other] = [openWorld(), openWorld()];
        for (const w of [told, other]) {
          // Nobody is vouched for: no report of one account changes another's.
          for (const id of accounts) w.account(id, false);
          for (const one of reports) {
            w.at.now += one.waitMs;
            if (w === told || one.account !== 'a') w.report(one.account, host, one.ageSeconds);
          }
        }
        const isReported = reports.some((one) => one.account === 'a');
        told.trust('a', earned);
        told.withdraw('a', host, true);
        assert.equal(told.points('a'), isReported ? Math.max(0, earned - 20) : earned);
        assert.equal(told.score(host), other.score(host));
        assert.equal(told.index.size(), other.index.size());
        for (const id of accounts.slice(1)) assert.equal(told.points(id), other.points(id));
      },
    ),
    parameters,
  ));

it('scores and points are those of a model that works from the list of all reports', () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof({ weight: 4, arbitrary: report }, fc.record({ waitMs })), {
        maxLength: 80,
      }),
      async (steps) => {
        const w = await worldAfter([]);
        const model = createReportModel();
        const standing = { a: 'staff', b: 'member', c: 'member', d: 'none' } as const;
        for (const id of accounts) {
          w.vouch(id, standing[id]);
          model.account(id, { createdAt: worldStart, verified: id !== 'd', vouched: standing[id] });
        }
        for (const s of steps) {
          if (!('account' in s)) {
            w.at.now += s.waitMs;
            continue;
          }
          w.report(s.account, s.ip, s.ageSeconds, s);
          model.add({ ...s, ...addressOf(s.ip), at: w.at.now });
          for (const id of accounts) {
            assert.equal(w.points(id), model.points(id), id);
            const [open, expected] = [w.open(id), model.open(id, w.at.now)];
            assert.ok(Math.abs(open - expected) < 1e-9, `${id}: ${open} open, not ${expected}`);
          }
        }
        for (const one of ips) {
          const { family, words } = addressOf(one);
          const exact = model.score(family, words, w.at.now);
          assert.ok(isScore(w.score(one), exact), `${one}: ${w.score(one)}, not ${exact}`);
        }
      },
    ),
    parameters,
  ));
