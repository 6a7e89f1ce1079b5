/**
 * What peers may do, rule by rule: how far they lift a score alone, together and beside our own, what it
 * costs them, and what is left when they take it back. The simulated attacks are in bench/poisoning.bench.ts.
 */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createEvidence, whyJson } from '../../../src/reputation/address/evidence.ts';
import { communityScore } from '../../../src/reputation/check/score.ts';
import {
  createOverlap,
  figuresOf,
  findLeaders,
  votesByPeer,
} from '../../../src/reputation/federation/subscribe/compare.ts';
import { ceilingFor, createVoteTally, type Policy } from '../../../src/reputation/votes/quorum.ts';
import { seededRandom } from '../../support/seeded.ts';
import { addressOf, openWorld, type World } from '../reports/report-world.ts';

const [hourMs, dayMs] = [3_600_000, 86_400_000];
const forged = { categories: (1 << 4) | (1 << 14) };
const policies: readonly Policy[] = [true, false].flatMap((isPrivate) =>
  [true, false].flatMap((isAnchored) => [
    { isPrivate, isAnchored },
    { isPrivate, isAnchored, agree: 4 },
    { isPrivate, isAnchored, neverByPeers: true },
  ]),
);

interface Said {
  readonly anchors: number;
  readonly networks: number;
  readonly newcomers: number;
  readonly list: number;
  readonly peers: readonly { readonly group: number; readonly quarters: number }[];
}

/** The rule as federation's table states it, by loops and without sharing. */
function slowCeiling({ anchors, networks, list, peers }: Said, policy: Policy): number {
  const groups = [...new Set(peers.map(({ group }) => group))];
  const units = groups.map((wanted) =>
    Math.max(...peers.filter(({ group }) => group === wanted).map(({ quarters }) => quarters / 4)),
  );
  const p = units.reduce((sum, one) => sum + one, 0);
  const earned = policy.isPrivate
    ? 0
    : policy.isAnchored
      ? Math.min(8, 4 * networks)
      : 4 * networks;
  const listUnits = Math.min(12, Math.floor((12 * list) / 75));
  const ours = anchors + earned + listUnits;
  const isBacked = anchors > 0 || list >= 38;
  let counted = 0;
  if (ours >= 6) counted = p;
  else if (groups.length >= (policy.agree ?? 3) && !policy.neverByPeers) counted = p;
  else if (groups.length >= 2 || (groups.length > 0 && ours > 0))
    counted = Math.min(p, 11.5 - ours);
  if (policy.isAnchored && !isBacked && earned + counted >= 12) counted = 11.5 - earned;
  const q = ours + counted;
  return q === 0 ? 49 : q < 12 ? 74 : isBacked ? 100 : 84;
}

function fastCeiling({ anchors, networks, list, peers }: Said, policy: Policy): number {
  const count = createVoteTally();
  for (let left = anchors; left > 0; left -= 6) count.add(6, 0);
  for (let i = 0; i < networks; i++) count.add(4, i + 1);
  for (const { group, quarters } of peers) count.addPeer(quarters, group);
  return ceilingFor(count.counts, list, policy).ceiling;
}

function scoreOf(said: Said, policy: Policy): number {
  const heaviest = new Map<number, number>();
  for (const { group, quarters } of said.peers) {
    heaviest.set(group, Math.max(heaviest.get(group) ?? 0, quarters / 8));
  }
  const ofPeers = [...heaviest.values()].reduce((sum, one) => sum + one, 0);
  const evidence = said.anchors / 2 + 1.6 * said.networks + said.newcomers + ofPeers;
  return Math.max(said.list, communityScore(evidence, fastCeiling(said, policy)));
}

it('of 300,000 random entries no peer, list or report lowers a score, and few peers lift none far', () => {
  const random = seededRandom(36);
  const below = (n: number) => Math.floor(random.next() * n);
  for (let i = 0; i < 300_000; i++) {
    const policy = policies[below(policies.length)]!;
    const said: Said = {
      anchors: below(3) === 0 ? 6 * below(3) : 0,
      networks: below(2) === 0 ? below(4) : 0,
      newcomers: below(20),
      list: below(2) === 0 ? below(101) : 0,
      peers: Array.from({ length: below(6) }, () => ({
        group: 1 + below(6),
        quarters: [3, 6, 9, 12, 18, 24][below(6)]!,
      })),
    };
    if (fastCeiling(said, policy) !== slowCeiling(said, policy)) assert.fail(JSON.stringify(said));
    const before = scoreOf(said, policy);
    const more: readonly Said[] = [
      { ...said, anchors: said.anchors + 6 },
      { ...said, networks: Math.min(3, said.networks + 1) },
      { ...said, newcomers: said.newcomers + 1 },
      { ...said, list: Math.min(100, said.list + 1 + below(40)) },
      { ...said, peers: [...said.peers, { group: 1 + below(8), quarters: 3 * (1 + below(8)) }] },
    ];
    for (const one of more) {
      if (scoreOf(one, policy) < before) assert.fail(JSON.stringify([said, one]));
    }
    const alone = { ...said, anchors: 0, networks: 0, list: 0 };
    const groups = new Set(said.peers.map(({ group }) => group)).size;
    if (groups <= 1) assert.ok(scoreOf(alone, policy) <= 49);
    if (groups <= 2) assert.ok(scoreOf(alone, policy) <= 74);
    const anchored = { ...policy, isAnchored: true };
    assert.ok(scoreOf({ ...said, anchors: 0, list: 0 }, anchored) <= 74);
    if (policy.neverByPeers) assert.ok(scoreOf(alone, policy) <= 74);
  }
});

async function newcomersSay(w: World, ip: string): Promise<void> {
  for (let i = 0; i < 20; i++) {
    w.account(`n${i}`);
    w.report(`n${i}`, ip);
  }
}

it('with twenty newcomers one peer stays at 49, two at 74, and three block', async () => {
  const w = openWorld();
  for (const peer of [1, 2, 3]) await w.peer(peer);
  await newcomersSay(w, '45.1.1.1');
  const scores: number[] = [];
  for (const peer of [1, 2, 3]) {
    await w.peerSays(peer, ['45.1.1.1']);
    scores.push(w.score('45.1.1.1'));
  }
  assert.deepEqual(scores, [49, 74, 84]);
});

it('a peer beside a member counts whole, and one of half weight stops short', async () => {
  for (const [quarters, least, most] of [
    [24, 75, 100],
    [12, 50, 74],
  ] as const) {
    const w = openWorld();
    await w.peer(1, { quarters });
    w.account('m');
    w.vouch('m', 'member');
    await w.peerSays(1, ['45.1.1.1']);
    w.report('m', '45.1.1.1');
    const score = w.score('45.1.1.1');
    assert.ok(score >= least && score <= most, `${quarters}: ${score}`);
  }
});

it("an operator's own server blocks alone, as staff does", async () => {
  const w = openWorld();
  await w.peer(1, { isOwn: true });
  await w.peerSays(1, ['45.1.1.1', '2a10:1::/64']);
  assert.deepEqual([w.score('45.1.1.1'), w.score('2a10:1::7')], [91, 91]);
});

it('peers of one group are one vote, the heaviest, in units and in evidence', async () => {
  const w = openWorld();
  for (const peer of [1, 2, 3, 4]) await w.peer(peer, { group: 1, quarters: 6 * peer });
  for (const peer of [4, 3, 2, 1]) await w.peerSays(peer, ['45.1.1.1']);
  assert.ok(w.score('45.1.1.1') <= 49);
  assert.ok(Math.abs(w.evidence('45.1.1.1') - 3) < 0.01, `${w.evidence('45.1.1.1')}`);
});

it("a peer's word is no vote for categories that can be spoofed, nor a word on allowed and known good", async () => {
  const w = openWorld();
  for (const peer of [1, 2, 3]) await w.peer(peer);
  w.allow('45.2.0.0/16', true);
  await w.good('8.8.8.0/24');
  for (const peer of [1, 2, 3]) {
    await w.peerSays(peer, ['45.1.1.1'], forged);
    await w.peerSays(peer, ['45.2.1.1', '8.8.8.8']);
  }
  assert.ok(w.ceiling('45.1.1.1') === 49 && w.evidence('45.1.1.1') > 8);
  assert.deepEqual(
    [w.score('45.2.1.1'), w.score('8.8.8.8'), w.entries.contributions.ofPeers()],
    [0, 0, 3],
  );
});

it("a peer's row earns no account credit, and staff that comes later confirms the peer", async () => {
  const w = openWorld();
  await w.peer(1);
  w.account('n');
  w.report('n', '45.1.1.1');
  await w.peerSays(1, ['45.1.1.1']);
  const points = w.points('n');
  await w.peer(2);
  await w.peerSays(2, ['45.1.1.1']);
  assert.equal(w.points('n'), points);
  w.account('s');
  w.vouch('s', 'staff');
  w.report('s', '45.1.1.1');
  assert.deepEqual(
    [1, 2].map((peer) => w.entries.peers.budget(peer, w.at.now)!.confirmed),
    [1, 1],
  );
});

it('a vote is charged when it lifts, refused without budget, and given back at four groups', async () => {
  const w = openWorld();
  for (const peer of [1, 2, 3, 4]) await w.peer(peer, { budget: 1 });
  const open = (peer: number) => w.entries.peers.budget(peer, w.at.now)!.open;
  await w.peerSays(1, ['45.1.1.1', '45.1.2.1', '45.1.3.1']);
  assert.equal(open(1), 0, 'alone it costs nothing');
  await w.peerSays(2, ['45.1.1.1']);
  assert.deepEqual([open(1), open(2)], [1, 1]);
  await w.peerSays(2, ['45.1.2.1']);
  assert.equal(w.ceiling('45.1.2.1'), 49, 'neither has a vote left');
  assert.ok(w.evidence('45.1.2.1') > 5.9, 'and both are evidence');
  for (const peer of [3, 4]) await w.peerSays(peer, ['45.1.1.1']);
  assert.deepEqual([1, 2, 3, 4].map(open), [0, 0, 0, 0]);
  assert.equal(w.ceiling('45.1.1.1'), 84);
});

it('a vote that is taken back stays charged', async () => {
  const w = openWorld();
  for (const peer of [1, 2]) await w.peer(peer, { budget: 1 });
  for (const ip of ['45.1.1.1', '45.1.2.1']) {
    for (const peer of [1, 2]) await w.peerSays(peer, [ip]);
    assert.equal(w.ceiling(ip), ip === '45.1.1.1' ? 74 : 49);
    for (const peer of [1, 2]) await w.peerTakesBack(peer, [ip]);
  }
});

it('staff, members and lists confirm a peer once a /24 in 14 days', async () => {
  const w = openWorld();
  await w.peer(1, { budget: 100 });
  w.account('s');
  w.vouch('s', 'staff');
  const confirmed = () => w.entries.peers.budget(1, w.at.now)!.confirmed;
  for (const [i, ip] of ['45.1.1.1', '45.1.1.2', '45.1.2.1'].entries()) {
    await w.peerSays(1, [ip]);
    w.report('s', ip);
    assert.equal(confirmed(), [1, 1, 2][i]);
  }
  w.at.now += 14 * dayMs;
  await w.peerSays(1, ['45.1.1.3']);
  await w.seed('list', { '45.1.1.3/32': 90 });
  assert.equal(confirmed(), 3);
});

it('what a peer takes back leaves no ceiling that was held with it', async () => {
  const w = openWorld();
  for (const peer of [1, 2, 3]) await w.peer(peer);
  for (const peer of [1, 2, 3]) await w.peerSays(peer, ['45.1.1.1']);
  assert.ok(w.score('45.1.1.1') >= 75);
  // Votes lapse, the ceiling is held for the newcomer's sake.
  w.at.now += 10 * dayMs;
  await w.peerSays(1, ['45.1.1.1']);
  w.at.now += 22 * dayMs;
  w.account('n');
  w.report('n', '45.1.1.1');
  await w.peerTakesBack(1, ['45.1.1.1']);
  await w.peerTakesBack(2, ['45.1.1.1']);
  await w.removePeer(3);
  assert.ok(w.score('45.1.1.1') <= 49);
  assert.equal(w.entries.contributions.ofPeers(), 0);
});

it('a peer that is removed or silent leaves what the journal without it makes', async () => {
  let lifted = 0;
  const random = seededRandom(9);
  const below = (n: number) => Math.floor(random.next() * n);
  for (let round = 0; round < 40; round++) {
    const [with3, without] = [openWorld(), openWorld()];
    const both = [with3, without];
    for (const w of both) {
      for (const peer of [1, 2]) await w.peer(peer, { quarters: 12 });
      for (const id of ['m', 'a', 'b']) w.account(id);
      w.vouch('m', 'member');
    }
    await with3.peer(3);
    const ips = Array.from({ length: 4 }, (_, i) => `45.1.${i}.1`);
    const said = new Set<string>();
    for (let i = 0; i < 40; i++) {
      for (const w of both) w.at.now = with3.at.now;
      const ip = ips[below(4)]!;
      const what = below(6);
      if (what === 0) {
        await with3.peerSays(3, [ip]);
        said.add(ip);
      }
      if (what > 0 && what < 3) for (const w of both) await w.peerSays(what, [ip]);
      if (what >= 3) for (const w of both) w.report(['m', 'a', 'b'][what - 3]!, ip);
      with3.at.now += below(dayMs / 4);
      without.at.now = with3.at.now;
    }
    const figures = await figuresOf({ ...with3, policy: with3.policy.get }, 3, with3.at.now);
    const above = (w: World, least: number) =>
      [...said].filter((ip) => w.score(ip) >= least).length;
    const counted = [figures?.suspectWithout, figures?.suspect, figures?.maliciousWithout];
    assert.deepEqual(
      [...counted, figures?.malicious],
      [above(without, 50), above(with3, 50), above(without, 75), above(with3, 75)],
    );
    lifted += figures!.suspect - figures!.suspectWithout;
    if (round % 2 === 0) await with3.removePeer(3);
    else await with3.peer(3, { quarters: 0 });
    for (const ip of ips) {
      assert.equal(with3.ceiling(ip), without.ceiling(ip), `round ${round}`);
      assert.ok(Math.abs(with3.evidence(ip) - without.evidence(ip)) < 1e-4);
    }
  }
  assert.ok(lifted > 0);
});

it('of rows that both named it is known who was first, and a first load is left out', async () => {
  const w = openWorld();
  await w.peer(1);
  w.account('m');
  w.vouch('m', 'member');
  await w.peerSays(1, ['45.1.1.1', '45.1.2.1', '45.1.4.1']);
  w.report('m', '45.1.1.1');
  w.report('m', '45.1.3.1');
  await w.peerSays(1, ['45.1.3.1']);
  await w.peerSays(1, ['45.1.5.1'], { isFirstLoad: true });
  w.report('m', '45.1.5.1');
  await w.good('45.1.4.0/24');
  const figures = await figuresOf({ ...w, policy: w.policy.get }, 1, w.at.now);
  const { rows, votes, shared, peerFirst, oursFirst, confirmed } = figures!;
  assert.deepEqual([rows, votes, shared, peerFirst, oursFirst, confirmed], [5, 5, 3, 1, 1, 2]);
  assert.deepEqual([...(await votesByPeer(w.entries, w.at.now))], [[1, 5]]);
  assert.deepEqual([...(await votesByPeer(w.entries, w.at.now + 30 * dayMs))], []);
  await w.peer(1, { quarters: 0 });
  const silent = await figuresOf({ ...w, policy: w.policy.get }, 1, w.at.now);
  assert.deepEqual(
    [silent!.rows, silent!.votes],
    [5, 0],
    'one of which nothing counts has no vote',
  );
  assert.deepEqual([...(await votesByPeer(w.entries, w.at.now))], []);
  const overlap = createOverlap({ ...w, policy: w.policy.get });
  for (const ip of ['45.1.1.1', '45.1.4.1', '45.1.4.9', '45.9.9.9']) {
    overlap.add({ ...addressOf(ip), length: 32 });
  }
  await w.seed('list', { '45.9.9.0/24': 40 });
  overlap.add({ ...addressOf('45.9.9.9'), length: 32 });
  assert.deepEqual(overlap.result(), {
    rows: 5,
    reported: 1,
    listed: 1,
    good: 2,
    resolvers: 0,
    crowded: 0,
    goodExamples: ['45.1.4.1', '45.1.4.9'],
  });
});

it('no row of a peer lowers a score while time passes, and a start reads the same', async () => {
  const random = seededRandom(5);
  const below = (n: number) => Math.floor(random.next() * n);
  const w = openWorld();
  for (const peer of [1, 2, 3, 4, 5]) await w.peer(peer, { quarters: 12, budget: 20 });
  for (const id of ['m', 'n']) w.account(id);
  w.vouch('m', 'member');
  const ips = Array.from({ length: 6 }, (_, i) => `45.1.${i}.1`);
  for (let i = 0; i < 3_000; i++) {
    w.at.now += below(20) === 0 ? below(20 * dayMs) : below(dayMs / 8);
    const ip = ips[below(6)]!;
    const before = w.exactScore(ip);
    const peer = below(8);
    if (peer < 1) w.report('n', ip);
    else if (peer < 6) await w.peerSays(peer, [ip], { ageHours: below(30) });
    else if (below(10) === 0) w.report('m', ip);
    assert.ok(w.exactScore(ip) >= before * (1 - 1e-6), `${i}`);
  }
  const read = openWorld();
  read.at.now = w.at.now;
  for (const peer of [1, 2, 3, 4, 5]) await read.peer(peer, { quarters: 12, budget: 20 });
  const budgets = w.entries.peers.section(9);
  for (let page = 9; page < 9 + budgets.pages; page++) {
    assert.ok(read.entries.peers.section(9).load(page, budgets.encode(page)));
  }
  const { section } = w.entries;
  for (let page = 0; page < section.pages; page++) {
    const bytes = section.encode(page);
    if (bytes.length > 0) assert.ok(read.entries.section.load(page, bytes));
  }
  for (const ip of ips) {
    assert.deepEqual([read.score(ip), read.ceiling(ip)], [w.score(ip), w.ceiling(ip)]);
  }
  for (const peer of [1, 2, 3, 4, 5]) {
    assert.deepEqual(
      read.entries.peers.budget(peer, w.at.now),
      w.entries.peers.budget(peer, w.at.now),
    );
  }
});

it('why says how many groups vote, and why their word lifts nothing', async () => {
  const w = openWorld();
  for (const peer of [1, 2]) await w.peer(peer, { quarters: 12, budget: 1 });
  const { index, sources, check, entries } = w;
  const evidence = createEvidence({
    index,
    sources,
    check,
    contributions: entries.contributions,
    peers: entries.peers,
  });
  const why = (ip: string) => {
    const { family, words } = addressOf(ip);
    return whyJson(evidence.of(family, words, w.at.now)).peers?.map((one) => [
      one.groups,
      one.units,
      one.score,
      one.reason,
    ]);
  };
  assert.equal(why('45.1.1.1'), undefined);
  await w.peerSays(1, ['45.1.1.1', '45.1.2.1']);
  assert.deepEqual(why('45.1.1.1'), [[1, 3, 35, 'alone']]);
  await w.peerSays(2, ['45.1.1.1', '45.1.2.1']);
  assert.deepEqual(why('45.1.1.1'), [[2, 6, 59, null]]);
  assert.equal(why('45.1.2.1')?.[0]?.[3], 'no_budget');
  await w.peerSays(1, ['45.1.3.1'], forged);
  assert.equal(why('45.1.3.1')?.[0]?.[3], 'no_vote');
  await w.peer(1, { quarters: 0 });
  assert.equal(why('45.1.3.1')?.[0]?.[3], 'silent');
});

it('a mirror follows another peer, an honest one of the same size does not', async () => {
  const w = openWorld({ entriesMax: 4_000 });
  for (const peer of [1, 2, 3]) await w.peer(peer);
  const ip = (i: number) => `45.${1 + (i >> 8)}.${i & 255}.1`;
  for (let i = 0; i < 600; i++) {
    w.at.now += hourMs / 2;
    // The second repeats the first within hours; the third is as often ahead of it as behind.
    const [first, then] = i % 2 === 0 ? [1, 3] : [3, 1];
    await w.peerSays(first!, [ip(i)]);
    if (i % 3 === 0) await w.peerSays(then!, [ip(i)]);
    if (i >= 4 && (i - 4) % 2 === 0) await w.peerSays(2, [ip(i - 4)]);
  }
  const { signal } = new AbortController();
  assert.deepEqual([...(await findLeaders(w.entries, w.at.now, signal))], [[2, 1]]);
  w.at.now += 15 * dayMs;
  assert.equal((await findLeaders(w.entries, w.at.now, signal)).size, 0);
});
