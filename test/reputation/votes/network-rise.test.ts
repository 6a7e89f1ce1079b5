/** Networks rise by their hosts: the rules of docs/SCORING.md, and random journals against a slow model. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { ceilingOf, metaOf, strengthOf } from '../../../src/index/records.ts';
import { parsePrefix } from '../../../src/ip/prefix.ts';
import { createEvidence } from '../../../src/reputation/address/evidence.ts';
import { halfLivesAt } from '../../../src/reputation/check/score.ts';
import {
  contributionKinds,
  countIn,
  kindOf,
  unitsIn,
} from '../../../src/reputation/state/contributions.ts';
import { value } from '../../support/house/result.ts';
import { seededRandom } from '../../support/seeded.ts';
import { openWorld, type World } from '../reports/report-world.ts';

const dayMs = 86_400_000;

function open(isRising = true): World {
  const w = openWorld();
  w.policy.set({ isPrivate: false, isAnchored: false, isRising });
  for (const id of ['s', 't']) {
    w.account(id);
    w.vouch(id, 'staff');
  }
  for (const id of ['m', 'n']) {
    w.account(id);
    w.vouch(id, 'member');
  }
  return w;
}

const spread = (count: number, from = 0) =>
  Array.from({ length: count }, (_, i) => `9.1.1.${16 * (from + i) + 3}`);
const reportAll = (w: World, account: string, ips: readonly string[]) => {
  for (const ip of ips) w.report(account, ip);
};

it('hosts in nine of its sixteen parts lift an IPv4 /24 short of blocking, those in eight do not', () => {
  const w = open();
  reportAll(w, 's', spread(8));
  assert.equal(w.score('9.1.1.200'), 0);
  w.report('s', '9.1.1.140');
  assert.deepEqual(w.judge('9.1.1.200'), { score: 71, malicious: false });
  for (let again = 0; again < 40; again++) {
    w.at.now += 20 * 60_000;
    reportAll(w, 's', spread(16));
    reportAll(w, 't', spread(16));
  }
  assert.deepEqual(w.judge('9.1.1.200'), { score: 74, malicious: false });
  assert.equal(w.score('9.1.2.200'), 0);
});

it('a tenant of a whole /25 does nothing to the other half', () => {
  const w = open();
  for (let host = 0; host < 128; host++) w.report('s', `9.1.1.${host}`);
  assert.equal(w.score('9.1.1.200'), 0);
});

it('a host counts by staff or two members: one member, earned accounts and newcomers lift nothing', () => {
  const w = open();
  const crowd = ['e1', 'e2', 'e3', 'e4', 'n1', 'n2'];
  for (const id of crowd) w.account(id);
  for (const id of crowd.slice(0, 4)) w.earn(id);
  w.at.now += 22 * dayMs;
  for (const id of [...crowd, 'm']) reportAll(w, id, spread(16));
  assert.ok(w.judge('9.1.1.3').malicious, 'the hosts themselves are blocked');
  assert.equal(w.score('9.1.1.200'), 0);
  reportAll(w, 'n', spread(9));
  assert.ok(w.score('9.1.1.200') > 50);
  const forged = open();
  for (const ip of spread(16)) forged.report('s', ip, 0, { categories: 1 << 4 });
  assert.equal(forged.score('9.1.1.200'), 0, 'whoever forges an address lifts nothing');
});

it('it decays with its hosts, and goes when they are taken back, allowed or known good', async () => {
  const w = open();
  reportAll(w, 's', spread(9));
  const before = w.score('9.1.1.200');
  w.at.now += 28 * dayMs;
  assert.ok(w.score('9.1.1.200') < before / 1.5);
  const { contributions } = w.entries;
  const evidence = createEvidence({ ...w, contributions, sources: { list: () => [] } });
  const why = () => {
    const words = Uint32Array.of(0x090101c8);
    const { decidedBy, networks } = evidence.of(4, words, w.at.now);
    return [decidedBy, networks.map(({ hosts, parts }) => [hosts, parts])];
  };
  assert.deepEqual(why(), ['9.1.1.0/24', [[9, 9]]]);
  w.at.now += 172 * dayMs;
  assert.deepEqual(why(), [undefined, []], 'whoever sank to 0 explains nothing');
  w.at.now -= 200 * dayMs;
  w.withdraw('s', '9.1.1.3', false);
  assert.equal(w.score('9.1.1.200'), 0);
  assert.equal(w.index.get(network('9.1.1.0/24')), 0);
  w.report('s', '9.1.1.4');
  assert.equal(w.score('9.1.1.200'), before);
  for (const allowed of ['9.1.1.4/32', '9.1.1.0/28', '9.1.1.0/25']) {
    w.allow(allowed, true);
    assert.equal(w.score('9.1.1.200'), 0, allowed);
    w.allow(allowed, false);
    assert.equal(w.score('9.1.1.200'), before, allowed);
  }
  await w.good('9.1.1.16/30');
  assert.equal(w.score('9.1.1.200'), 0);
  await w.good();
  assert.equal(w.score('9.1.1.200'), before);
  w.allow('9.1.1.200/32', true);
  await w.good('9.1.1.201/32');
  assert.deepEqual([w.score('9.1.1.200'), w.score('9.1.1.201')], [0, 0]);
  assert.equal(w.score('9.1.1.202'), before);
});

it('eight hosts of a /64 make its reports count whole, under the ceiling of its own votes', () => {
  const w = open();
  const hosts = Array.from({ length: 8 }, (_, i) => `2a10:1:0:5::${i + 1}`);
  for (const ip of hosts.slice(0, 7)) for (const id of ['m', 'n']) w.report(id, ip);
  const half = w.score('2a10:1:0:5::ffff');
  assert.ok(half > 60 && half < 75, String(half));
  for (const id of ['m', 'n']) w.report(id, hosts[7]!);
  assert.ok(w.judge('2a10:1:0:5::ffff').malicious);
  w.withdraw('m', hosts[0]!, false);
  assert.ok(!w.judge('2a10:1:0:5::ffff').malicious);
});

it('the policy lifts networks whose hosts were there before, and lets them sink again', async () => {
  const w = open(false);
  reportAll(w, 's', spread(12));
  assert.equal(w.score('9.1.1.200'), 0);
  const size = w.index.size();
  const base = { isPrivate: false, isAnchored: false };
  await w.fold.changePolicy({ ...base, isRising: true });
  assert.ok(w.score('9.1.1.200') > 60);
  await w.fold.changePolicy(base);
  assert.deepEqual([w.score('9.1.1.200'), w.index.size()], [0, size]);
});

const network = (text: string) => value(parsePrefix(text));

/** Votes of staff and members on a host, read from its contributions one by one; 0: it does not count. */
function modelEvidence(w: World, ip: string, nowHalfLives: number): number {
  const entry = w.index.get({ ...network(`${ip}/${ip.includes(':') ? 128 : 32}`) });
  const { contributions: c } = w.entries;
  let units = 0;
  let evidence = 0;
  for (let node = entry === 0 ? 0 : c.first(entry); node !== 0; node = c.next[node]!) {
    const isReport = kindOf(c.tag[node]!) === contributionKinds.reports;
    if (!isReport || c.vote[node] === 0 || countIn(c.detail[node]!) === 0) continue;
    const given = unitsIn(c.detail[node]!);
    if (given < 6) continue;
    units += given;
    evidence += 2 ** (c.strength[node]! - nowHalfLives);
  }
  return units >= 12 ? evidence : 0;
}

/** As a start does from the last checkpoint. */
function restarted(written: World): World {
  const read = openWorld();
  read.at.now = written.at.now;
  read.policy.set(written.policy.get());
  for (const part of ['access', 'entries'] as const) {
    const { section } = written[part];
    for (let i = 0; i < section.pages; i++) {
      const bytes = section.encode(section.firstPage + i);
      if (bytes.length > 0) assert.ok(read[part].section.load(section.firstPage + i, bytes));
    }
  }
  return read;
}

it('after random reports, withdrawals and rules a network is what a model makes of its hosts, also after a restart', () => {
  let risenSeen = 0;
  let wholeSeen = 0;
  for (let seed = 1; seed <= 3; seed++) {
    const random = seededRandom(seed);
    const below = (n: number) => Math.floor(random.next() * n);
    const w = open();
    w.account('x');
    /** By address in the /24: in how many rules it is. */
    const rules = new Map<string, boolean>();
    const isAllowed = (host: number) =>
      [...rules].some(([rule, isSet]) => {
        const [address, length] = rule.split('/');
        const size = 2 ** (32 - Number(length));
        const first = Number(address!.split('.')[3]);
        return isSet && host >= first && host < first + size;
      });
    for (let step = 0; step < 900; step++) {
      w.at.now += below(3 * 3_600_000);
      const host = below(2) === 0 ? below(256) : 16 * below(16) + below(2);
      const ip = below(4) === 0 ? `2a10:1:0:5::${(1 + (host % 12)).toString(16)}` : `9.1.1.${host}`;
      const who = ['s', 'm', 'n', 'x'][below(4)]!;
      if (below(4) > 0) w.report(who, ip, 0, { categories: below(5) === 0 ? 1 << 14 : 1 << 18 });
      else if (below(3) > 0) w.withdraw(who, ip, false);
      else {
        const length = [32, 30, 28][below(3)]!;
        const rule = `9.1.1.${host - (host % 2 ** (32 - length))}/${length}`;
        rules.set(rule, !rules.get(rule));
        w.allow(rule, rules.get(rule)!);
      }
      if (step % 20 !== 0) continue;
      const now = halfLivesAt(w.at.now);
      const parts = Array.from({ length: 16 }, (_, part) =>
        Math.max(
          ...Array.from({ length: 16 }, (_, i) =>
            isAllowed(16 * part + i) ? 0 : modelEvidence(w, `9.1.1.${16 * part + i}`, now),
          ),
        ),
      ).sort((a, b) => b - a);
      const entry = w.index.get(network('9.1.1.0/24'));
      const risen = entry === 0 ? 0 : 2 ** (strengthOf(w.index.records, entry) - now);
      const wanted = parts[8]!;
      assert.ok(Math.abs(risen - wanted) <= 1e-5 * wanted, `seed ${seed}, step ${step}`);
      if (wanted > 0) risenSeen++;
      if (wanted > 0) assert.equal(ceilingOf(metaOf(w.index.records, entry)), 74);
      const six = Array.from({ length: 12 }, (_, i) => `2a10:1:0:5::${(1 + i).toString(16)}`);
      const counting = six.filter((one) => modelEvidence(w, one, now) > 0).length;
      if (counting >= 8) wholeSeen++;
      assert.equal(isWhole(w, now), counting >= 8, `seed ${seed}, step ${step}: /64`);
    }
    const read = restarted(w);
    for (const ip of ['9.1.1.200', '9.1.1.3', '2a10:1:0:5::ffff']) {
      assert.equal(read.score(ip), w.score(ip), ip);
    }
    assert.equal(read.index.size(), w.index.size());
    read.report('s', '9.1.1.3');
    w.report('s', '9.1.1.3');
    assert.equal(read.score('9.1.1.201'), w.score('9.1.1.201'));
  }
  for (const seen of [risenSeen, wholeSeen]) assert.ok(seen > 10 && seen < 125, String(seen));
});

/** Whether the reports of the /64 count whole: its evidence against the sum of its contributions. */
function isWhole(w: World, nowHalfLives: number): boolean {
  const entry = w.index.get(network('2a10:1:0:5::/64'));
  if (entry === 0) return false;
  const { contributions: c } = w.entries;
  let sum = 0;
  for (let node = c.first(entry); node !== 0; node = c.next[node]!) {
    if (kindOf(c.tag[node]!) !== contributionKinds.reports) continue;
    sum += 2 ** (c.strength[node]! - nowHalfLives);
  }
  return 2 ** (strengthOf(w.index.records, entry) - nowHalfLives) > 1.5 * sum;
}

it('of random reports none lowers the score of a network', () => {
  for (let seed = 1; seed <= 2; seed++) {
    const random = seededRandom(100 + seed);
    const below = (n: number) => Math.floor(random.next() * n);
    const w = open();
    for (const id of ['x', 'y']) w.account(id);
    for (let step = 0; step < 3_000; step++) {
      w.at.now += below(20) === 0 ? below(20 * dayMs) : below(3_600_000);
      const [before4, before6] = [w.score('9.1.1.250'), w.score('2a10:1:0:5::ffff')];
      const host = below(160);
      const ip = below(4) === 0 ? `2a10:1:0:5::${(1 + (host % 12)).toString(16)}` : `9.1.1.${host}`;
      w.report(['s', 't', 'm', 'n', 'x', 'y'][below(6)]!, ip);
      assert.ok(w.score('9.1.1.250') >= before4, `seed ${seed}, step ${step}`);
      assert.ok(w.score('2a10:1:0:5::ffff') >= before6, `seed ${seed}, step ${step}`);
    }
  }
});
