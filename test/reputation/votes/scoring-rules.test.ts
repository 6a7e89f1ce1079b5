/**
 * The rules of docs/SCORING.md and docs/POISONING.md, one by one: whose word counts how far, what it costs, and what
 * taking it back leaves. The simulated attacks are in bench/poisoning.bench.ts.
 */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { it } from 'node:test';
import { maliciousScore } from '../../../src/reputation/check/score.ts';
import { applyEvent } from '../../support/reputation/events.ts';
import { seededRandom } from '../../support/seeded.ts';
import { addressOf, openWorld, type World } from '../reports/report-world.ts';

const dayMs = 86_400_000;
const ddos = { categories: 1 << 4 };
const forged = { categories: (1 << 4) | (1 << 6) | (1 << 14) };

function newcomers(w: World, count: number, prefix = 'n'): string[] {
  const ids = Array.from({ length: count }, (_, i) => `${prefix}${i}`);
  for (const id of ids) w.account(id);
  return ids;
}

function vouched(w: World, id: string, as: 'member' | 'staff'): string {
  w.account(id);
  w.vouch(id, as);
  return id;
}

/** Accounts that have earned standing: old, with credit of many days. */
function earned(w: World, ids: readonly string[]): void {
  for (const id of ids) {
    w.account(id);
    w.earn(id);
  }
  w.at.now += 22 * dayMs;
}

/** As a start does from the last checkpoint. */
function restarted(written: World): World {
  const read = openWorld();
  read.at.now = written.at.now;
  read.policy.set(written.policy.get());
  for (const part of ['access', 'entries'] as const) {
    const { section } = written[part];
    for (let i = 0; i < section.pages; i++) {
      const page = section.firstPage + i;
      const bytes = section.encode(page);
      if (bytes.length > 0) assert.ok(read[part].section.load(page, bytes));
    }
  }
  return read;
}

it('of 60,000 random reports none lowers a score, and each raises the evidence', () => {
  const random = seededRandom(11);
  const below = (n: number) => Math.floor(random.next() * n);
  let reports = 0;
  for (let round = 0; reports < 60_000; round++) {
    const w = openWorld();
    const accounts = newcomers(w, 40);
    for (const id of accounts.slice(0, 4)) w.vouch(id, 'member');
    w.vouch(accounts[4]!, 'staff');
    for (const id of accounts.slice(5, 12)) w.earn(id);
    w.at.now += 22 * dayMs;
    const ips = Array.from({ length: 8 }, (_, i) => `9.${round}.1.${i}`);
    /** When each account may report an address again: 15 minutes later. */
    const free = new Map<string, number>();
    for (let i = 0; i < 1_000; i++) {
      w.at.now += below(10) === 0 ? below(20 * dayMs) : below(3_600_000);
      const account = accounts[below(accounts.length)]!;
      const ip = ips[below(ips.length)]!;
      if ((free.get(`${account} ${ip}`) ?? 0) > w.at.now) continue;
      free.set(`${account} ${ip}`, w.at.now + 15 * 60_000);
      const before = { score: w.exactScore(ip), shown: w.score(ip), evidence: w.evidence(ip) };
      w.report(account, ip, 0, { categories: below(4) === 0 ? 1 << 14 : 1 << 18 });
      reports++;
      assert.ok(w.evidence(ip) > before.evidence, `round ${round}, report ${i}: evidence`);
      // Kept as float32: seven digits.
      assert.ok(w.exactScore(ip) >= before.score * (1 - 1e-6), `round ${round}, report ${i}`);
      assert.ok(w.score(ip) >= before.shown);
    }
  }
});

/** Cells of a table of docs/SCORING.md, by its first head, without marks. */
function documented(head: string): string[][] {
  const text = readFileSync('docs/SCORING.md', 'utf8');
  const [, rows = ''] =
    new RegExp(`^\\| ${head} .*\\n\\|[ -|]+\\n((?:\\|.*\\n)+)`, 'm').exec(text) ?? [];
  return rows
    .trim()
    .split('\n')
    .map((row) => row.split('|').slice(1, -1))
    .map((cells) => cells.map((cell) => cell.trim()));
}

it('the examples of the documentation have the scores that the rules give', async () => {
  const w = openWorld();
  const own = ['e1', 'e2', 'e3'];
  earned(w, own);
  const fresh = newcomers(w, 20);
  const members = ['m1', 'm2'].map((id) => vouched(w, id, 'member'));
  const reporters: Readonly<Record<string, readonly string[]>> = {
    '1 new account': fresh.slice(0, 1),
    '3 new accounts': fresh.slice(1, 4),
    '20 new accounts': fresh,
    '1 trusted account': members.slice(0, 1),
    '2 trusted accounts': members,
    '3 earned accounts, on three networks': own,
    '1 staff account': [vouched(w, 's', 'staff')],
  };
  const table = documented('Who reports it');
  assert.deepEqual(
    table.map(([who]) => who),
    Object.keys(reporters),
  );
  const ips = new Map(table.map(([who], i) => [who, `9.9.8.${i}`]));
  for (const [who, evidence, , , score] of table) {
    const ip = ips.get(who)!;
    for (const [i, id] of reporters[who!]!.entries()) w.report(id, ip, i + 1);
    assert.equal(w.score(ip), Number(score), who);
    assert.ok(Math.abs(w.evidence(ip) - Number(evidence)) < 0.1, `${who} ${w.evidence(ip)}`);
  }
  const start = w.at.now;
  for (const [after, evidence, score] of documented('After')) {
    w.at.now = start + Number.parseInt(after!, 10) * dayMs;
    const ip = ips.get('2 trusted accounts')!;
    assert.deepEqual(
      [w.score(ip), w.evidence(ip).toFixed(1)],
      [Number(score), Number(evidence).toFixed(1)],
      after,
    );
  }
  w.at.now = start;
  const seen = [];
  for (const id of newcomers(w, 3, 'x')) w.report(id, '9.9.7.1');
  seen.push(w.score('9.9.7.1'));
  for (const id of members) w.report(id, '9.9.7.1');
  seen.push(w.score('9.9.7.1'));
  await w.seed('list', { '9.9.7.1/32': 95 });
  seen.push(w.score('9.9.7.1'));
  const [, story = ''] =
    /^## An example\n([\s\S]*?)^## /m.exec(readFileSync('docs/SCORING.md', 'utf8')) ?? [];
  const told = [...story.matchAll(/\*\*(\d+)\*\*/g)].map(([, score]) => Number(score));
  assert.deepEqual(told, [...seen, 0]);
});

it('newcomers never make an address malicious that a list rates 70', async () => {
  const w = openWorld();
  await w.seed('list', { '9.9.9.1/32': 70 });
  for (const id of newcomers(w, 60)) {
    w.report(id, '9.9.9.1');
    assert.ok(w.score('9.9.9.1') < maliciousScore);
  }
  assert.equal(w.score('9.9.9.1'), 74);
});

it('one report of staff blocks, so do two members; one member and twenty newcomers do not', () => {
  const w = openWorld();
  w.report(vouched(w, 's', 'staff'), '9.9.9.1');
  assert.equal(w.score('9.9.9.1'), 91);
  w.at.now += 11 * dayMs;
  assert.ok(w.score('9.9.9.1') >= maliciousScore, 'after 11 days');
  const [first, second] = [vouched(w, 'm', 'member'), vouched(w, 'o', 'member')];
  w.report(first, '9.9.9.2');
  for (let i = 0; i < 50; i++) w.report(first, '9.9.9.2');
  assert.ok(w.score('9.9.9.2') <= 74);
  w.report(second, '9.9.9.2');
  assert.ok(w.score('9.9.9.2') >= maliciousScore);
  for (const id of newcomers(w, 20)) for (let i = 0; i < 5; i++) w.report(id, '9.9.9.3');
  assert.equal(w.score('9.9.9.3'), 49);
  w.report(first, '9.9.9.3');
  assert.ok(w.score('9.9.9.3') > 49 && w.score('9.9.9.3') <= 74, 'with a member they go to 74');
});

it('seven accounts made at once leave a public resolver where it was', async () => {
  const w = openWorld();
  for (const id of newcomers(w, 7)) w.report(id, '8.8.4.4');
  assert.ok(w.score('8.8.4.4') <= 49);
  await w.good('8.8.4.4/32');
  assert.equal(w.score('8.8.4.4'), 0, 'what was reported before has no effect either');
});

it('categories whose source can be forged carry no vote, nor confirm anybody', () => {
  const w = openWorld();
  const [n] = newcomers(w, 1);
  w.report(n!, '9.9.9.1');
  const points = w.points(n!);
  w.report(vouched(w, 's', 'staff'), '9.9.9.1', 0, forged);
  w.report('s', '9.9.9.1', 0, ddos);
  assert.ok(w.score('9.9.9.1') <= 49);
  assert.equal(w.points(n!), points);
  assert.equal(w.open('s'), 0);
  w.report('s', '9.9.9.1', 0, { categories: (1 << 4) | (1 << 18) });
  assert.ok(w.score('9.9.9.1') >= maliciousScore, 'beside another category they do');
});

it("an earned account without confirmations has 30 open votes: the 31st doesn't count", () => {
  const w = openWorld();
  earned(w, ['a']);
  w.at.now += 9 * dayMs;
  for (let i = 1; i <= 31; i++) {
    w.report('a', `9.9.9.${i}`);
    assert.equal(w.ceiling(`9.9.9.${i}`), i <= 30 ? 74 : 49, `vote ${i}`);
  }
  assert.equal(w.open('a'), 30);
  assert.ok(w.score('9.9.9.31') > 0, 'the report counts');
});

it('a confirmed vote is given back, and each confirmation allows three more', () => {
  const w = openWorld();
  earned(w, ['a']);
  vouched(w, 's', 'staff');
  for (let i = 1; i <= 30; i++) w.report('a', `9.9.9.${i}`);
  const budget = () => w.access.reporters.budget(w.access.account('a')!.slot, 30, w.at.now);
  w.report('s', '9.9.9.1');
  assert.ok(budget().open < 29.1 && budget().open >= 29);
  assert.equal(budget().limit, 33);
});

it('three earned accounts of three networks block; of one network they are one vote', () => {
  const w = openWorld();
  const ids = ['a', 'b', 'c'];
  earned(w, ids);
  for (const [i, id] of ids.entries()) w.report(id, '9.9.9.1', 0, { network: 1 + i });
  assert.ok(w.score('9.9.9.1') >= maliciousScore && w.score('9.9.9.1') <= 84);
  for (const id of ids) w.report(id, '9.9.9.2', 0, { network: 7 });
  assert.ok(w.score('9.9.9.2') <= 74);
  w.at.now += 365 * dayMs;
});

it('anchored, earned votes need a list or somebody vouched; private, they count nothing', async () => {
  for (const [policy, ceiling] of [
    [{ isPrivate: false, isAnchored: true }, 74],
    [{ isPrivate: true, isAnchored: false }, 49],
  ] as const) {
    const w = openWorld();
    earned(w, ['a', 'b', 'c']);
    for (const id of ['a', 'b', 'c']) w.report(id, '9.9.9.1');
    assert.equal(w.ceiling('9.9.9.1'), 84);
    await applyEvent(w.fold, { kind: 'policy.changed', ...policy }, w.at.now);
    assert.equal(w.ceiling('9.9.9.1'), ceiling, 'at once, for what was reported before');
    assert.equal(restarted(w).ceiling('9.9.9.1'), ceiling);
  }
});

it('taking an account back leaves evidence, quorum and points as if it had never been', () => {
  const random = seededRandom(5);
  const below = (n: number) => Math.floor(random.next() * n);
  for (let round = 0; round < 20; round++) {
    const [told, other] = [openWorld(), openWorld()];
    const ids = ['bad', 'a', 'b', 'c', 'd'];
    for (const w of [told, other]) {
      earned(w, ids);
      w.vouch('a', 'member');
    }
    const ips = ['9.9.9.1', '9.9.9.2', '2606:4700::1', '2606:4700::2'];
    for (let i = 0; i < 60; i++) {
      const [id, ip, waitMs] = [ids[below(5)]!, ips[below(4)]!, below(dayMs / 4)];
      for (const w of [told, other]) {
        w.at.now += waitMs;
        if (w === told || id !== 'bad') w.report(id, ip);
      }
    }
    for (const ip of ips) told.withdraw('bad', ip, false);
    for (const ip of ips) {
      assert.equal(told.evidence(ip), other.evidence(ip), `round ${round}: ${ip}`);
      assert.equal(told.ceiling(ip), other.ceiling(ip), `round ${round}: ${ip}`);
    }
    for (const id of ids.slice(1)) assert.equal(told.open(id), other.open(id));
  }
});

it('a confirmation goes with the word of who gave it, unless somebody else supports it', async () => {
  for (const support of ['none', 'member', 'list'] as const) {
    const w = openWorld();
    newcomers(w, 1, 'a');
    vouched(w, 's', 'staff');
    vouched(w, 'm', 'member');
    w.report('a0', '9.9.9.1');
    const before = w.points('a0');
    w.report('s', '9.9.9.1');
    assert.equal(w.points('a0'), before + 5);
    if (support === 'member') w.report('m', '9.9.9.1');
    if (support === 'list') await w.seed('list', { '9.9.9.1/32': 30 });
    w.withdraw('s', '9.9.9.1', false);
    assert.equal(w.points('a0'), support === 'none' ? before : before + 5, support);
  }
});

it('no more is taken back than was given, however many were confirmed in a day', () => {
  for (const waitDays of [0, 3, 30]) {
    const w = openWorld();
    earned(w, ['a']);
    vouched(w, 'm', 'member');
    const ips = Array.from({ length: 30 }, (_, i) => `9.9.9.${i + 1}`);
    for (const ip of ips) w.report('a', ip);
    const limit = () => w.access.reporters.budget(w.access.account('a')!.slot, 30, w.at.now).limit;
    const [points, before] = [w.points('a'), limit()];
    for (const ip of ips) w.report('m', ip);
    assert.equal(w.points('a'), points + 10, 'the cap of a day');
    assert.ok(limit() > before);
    w.at.now += waitDays * dayMs;
    for (const ip of ips) w.withdraw('m', ip, false);
    assert.equal(w.points('a'), points, `${waitDays} days`);
    assert.ok(Math.abs(limit() - before) < 1e-6, `${waitDays} days: ${limit()} for ${before}`);
  }
});

it('a newcomer on day 31 lowers no score, and a crowd finds no open ceiling then', () => {
  const w = openWorld();
  w.report(vouched(w, 's', 'staff'), '9.9.9.1');
  w.report(vouched(w, 'm', 'member'), '9.9.9.1');
  w.at.now += 31 * dayMs;
  const before = w.exactScore('9.9.9.1');
  const crowd = newcomers(w, 30);
  w.report(crowd[0]!, '9.9.9.1');
  assert.ok(w.exactScore('9.9.9.1') >= before);
  const held = w.ceiling('9.9.9.1');
  assert.ok(held < maliciousScore, `${held}`);
  for (const id of crowd) w.report(id, '9.9.9.1');
  assert.ok(w.score('9.9.9.1') <= held);
});

it('rebuilt pages give the same ceiling, budget and score, and go on alike', () => {
  for (let seed = 1; seed <= 6; seed++) {
    const random = seededRandom(seed);
    const below = (n: number) => Math.floor(random.next() * n);
    let ours = openWorld();
    const constant = openWorld();
    const ids = ['s', 'm', 'a', 'b', 'c', 'd'];
    for (const w of [ours, constant]) {
      earned(w, ids);
      w.vouch('s', 'staff');
      w.vouch('m', 'member');
    }
    const ips = ['9.9.9.1', '9.9.9.2', '9.9.9.3', '2606:4700::1'];
    for (let step = 0; step < 120; step++) {
      const [id, ip] = [ids[below(6)]!, ips[below(4)]!];
      const [waitMs, action] = [below(4 * dayMs), random.next()];
      for (const w of [ours, constant]) {
        w.at.now += waitMs;
        if (action < 0.9) w.report(id, ip);
        else w.withdraw(id, ip, action < 0.92);
      }
      if (below(15) === 0) ours = restarted(ours);
      for (const each of ips) {
        assert.equal(ours.exactScore(each), constant.exactScore(each), `seed ${seed}, ${step}`);
        assert.equal(ours.ceiling(each), constant.ceiling(each), `seed ${seed}, ${step}`);
      }
      for (const each of ids) {
        assert.equal(ours.open(each), constant.open(each));
        assert.equal(ours.points(each), constant.points(each));
      }
    }
  }
});

it('a vote that stays at a /64 stays paid for when its address is taken back', () => {
  const w = openWorld();
  earned(w, ['a']);
  for (let i = 1; i <= 60; i++) {
    const network = `2001:db8:${i.toString(16)}:1:`;
    w.report('a', `${network}:1`);
    // Carries no vote, and keeps the account's word on the /64.
    w.report('a', `${network}:2`, 0, forged);
    w.withdraw('a', `${network}:1`, false);
  }
  assert.ok(w.open('a') > 29, String(w.open('a')));
  const raised = Array.from({ length: 60 }, (_, i) => {
    const { family, words } = addressOf(`2001:db8:${(i + 1).toString(16)}:1::`);
    const entry = w.index.get({ family, words, length: 64 });
    return w.entries.voteCountOf(entry).networks;
  });
  assert.equal(raised.filter((networks) => networks > 0).length, 30);
});

it('a vote on the only address of a /64 is given back when it is taken back', () => {
  const w = openWorld();
  earned(w, ['a']);
  w.report('a', '2001:db8:1:1::1');
  w.withdraw('a', '2001:db8:1:1::1', false);
  assert.ok(w.open('a') < 0.001);
});
