/**
 * What it costs to put an innocent address on the blocklist, and what the rules cost honest
 * sensors: attacks and sensors played through the fold of the server, with a clock that is turned
 * by hand. Beside it stands the rule of before: the same evidence without a ceiling. The rates are
 * assumed (see each attack): compare rows, don't quote them as forecasts. docs/POISONING.md.
 */

import type { Voucher } from '../src/access/quota/points.ts';
import { dayMs, hourMs } from '../src/core/time.ts';
import { maliciousScore } from '../src/reputation/check/score.ts';
import type { Policy } from '../src/reputation/votes/quorum.ts';
import { seededRandom } from '../test/support/seeded.ts';
import { honestRows } from './poisoning-honest.ts';
import { peerRows } from './poisoning-peers.ts';
import {
  anchored,
  findTogether,
  openPoisoningWorld,
  type PoisoningWorld,
  victim,
} from './poisoning-world.ts';
import { atMost, type BenchRow, rowAtLeast, rowAtMost } from './row.ts';

const sizes = {
  tiny: {
    days: 24,
    triesPerDay: 40,
    findsPerDay: 10,
    hijackTries: 400,
    attackers: 40,
    honest: { attackers: 400, many: 400 },
  },
  full: {
    days: 60,
    triesPerDay: 1_000,
    findsPerDay: 100,
    hijackTries: 20_000,
    attackers: 2_000,
    honest: { attackers: 4_000, many: 30_000 },
  },
} as const;
type Size = (typeof sizes)[keyof typeof sizes];

/** Shown in place of a day that never came. */
const never = 999;

export async function run(size: 'tiny' | 'full'): Promise<BenchRow[]> {
  const s = sizes[size];
  const [three, seven, twenty] = [crowd(s, 3), crowd(s, 7), crowd(s, 20)];
  const most = (name: string, peer: number, ours: number, goal: number): BenchRow => ({
    name,
    unit: 'score',
    ours,
    peer: 'the same reports by the former rule',
    peerValue: peer,
    ...atMost(ours, goal),
  });
  const finders = await farm(s, undefined);
  const anchoredFinders = await farm(s, anchored);
  const listed = await onList();
  const many = await manyVictims(s);
  const hijacked = await hijack(s);
  return [
    most('one victim, 3 newcomers, junk', three.former, three.ours, 49),
    most('one victim, 7 newcomers', seven.former, seven.ours, 49),
    most('one victim, 20 newcomers', twenty.former, twenty.ours, 49),
    most('a list rates it 50, 3 newcomers', listed.former, listed.ours, 74),
    day('3 accounts with 3 true finds a day: first day it is malicious', finders, 21),
    day('the same, anchored', anchoredFinders, s.days),
    count('poisoned in 14 days: 3 accounts with true finds', many.poisoned, many.bound),
    count('poisoned in 21 days: a hijacked member, 2 helpers', hijacked.poisoned, hijacked.bound),
    ...ownSensors(s),
    ...(await networks(s)),
    ...(await peerRows(s)),
    ...(await honestRows(s.honest)),
  ];
}

function day(name: string, ours: number, least: number): BenchRow {
  const row = rowAtLeast(name, 'day', ours, least);
  return ours === never ? { ...row, note: 'never' } : row;
}

function count(name: string, ours: number, most: number, unit = 'addresses'): BenchRow {
  return rowAtMost(name, unit, ours, most);
}

/** Accounts made in one evening report a victim daily, and 20 addresses of no meaning each. */
function crowd({ days }: Size, accounts: number): { ours: number; former: number } {
  const world = openPoisoningWorld();
  const ids = Array.from({ length: accounts }, (_, i) => `n${i}`);
  for (const id of ids) world.account(id);
  let ours = 0;
  let former = 0;
  for (let today = 0; today < days; today++) {
    for (const [i, id] of ids.entries()) {
      world.report(id, victim, i + 1);
      for (let junk = 0; junk < 20; junk++)
        world.report(id, 0x0a00_0000 + today * 20 + junk, i + 1);
    }
    ours = Math.max(ours, world.score(victim));
    former = Math.max(former, world.formerScore(victim));
    world.at.now += dayMs;
  }
  return { ours, former };
}

async function onList(): Promise<{ ours: number; former: number }> {
  const world = openPoisoningWorld();
  await world.list(new Map([[victim, 50]]));
  for (const id of ['a', 'b', 'c']) {
    world.account(id);
    for (let again = 0; again < 20; again++) world.report(id, victim, 1);
  }
  return { ours: world.score(victim), former: world.formerScore(victim) };
}

/** @returns the day on which the victim is malicious */
async function farm({ days }: Size, policy: Policy | undefined): Promise<number> {
  const world = openPoisoningWorld(policy);
  const ids = ['a', 'b', 'c'];
  for (const id of ids) world.account(id);
  for (let today = 0; today < days; today++) {
    for (const [i, id] of ids.entries()) world.report(id, victim, i + 1);
    if (world.score(victim) >= maliciousScore) return today;
    await findTogether(world, ids, 3, 0x1000_0000 + today * 3);
  }
  return never;
}

/**
 * After 21 days of finds, for 14 days: as many victims as they can name, and finds that give them
 * budget. A find that three report allows 3·(1 + ½ + ¼) votes, and a victim takes three.
 */
async function manyVictims(s: Size): Promise<{ poisoned: number; bound: number }> {
  const world = openPoisoningWorld();
  const ids = ['a', 'b', 'c'];
  for (const id of ids) world.account(id);
  for (let today = 0; today < 22; today++) {
    await findTogether(world, ids, 3, 0x1000_0000 + today * 3);
  }
  let poisoned = 0;
  for (let today = 0; today < 14; today++) {
    for (let i = 0; i < s.triesPerDay; i++) {
      const address = 0x2000_0000 + today * s.triesPerDay + i;
      for (const [who, id] of ids.entries()) world.report(id, address, who + 1);
      if (world.score(address) >= maliciousScore) poisoned++;
    }
    await findTogether(world, ids, s.findsPerDay, 0x3000_0000 + today * s.findsPerDay);
  }
  const finds = 14 * s.findsPerDay + 66;
  return { poisoned, bound: Math.ceil(51 + 1.75 * finds) };
}

/** Of staff's and members' keys one is stolen; two accounts with a record report along. */
async function hijack(s: Size): Promise<{ poisoned: number; bound: number }> {
  const world = openPoisoningWorld();
  world.account('member', 'member');
  const helpers = ['h1', 'h2'];
  for (const id of helpers) world.account(id);
  for (let today = 0; today < 22; today++) {
    await findTogether(world, helpers, 3, 0x1000_0000 + today * 3);
  }
  let poisoned = 0;
  const perDay = Math.ceil(s.hijackTries / 21);
  for (let today = 0; today < 21; today++) {
    for (let i = 0; i < perDay; i++) {
      const address = 0x2000_0000 + today * perDay + i;
      // What the member says confirms the helpers, who get their votes back.
      for (const [who, id] of [...helpers, 'member', ...helpers].entries()) {
        world.report(id, address, 1 + (who % 3));
      }
      if (world.score(address) >= maliciousScore) poisoned++;
    }
    world.at.now += dayMs;
  }
  return { poisoned, bound: Math.ceil(300 * (1 + (21 * Math.LN2) / 14)) };
}

/**
 * A private server with sensors of its own, no lists. An attacker comes on average every three
 * days for 30 days, to one of ten hosts, of which each sensor watches one and blocks them all.
 * @returns the share of repeat visits that met a block, in per cent
 */
function ownSensors(s: Size): BenchRow[] {
  return ([1, 3] as const).map((sensors) => {
    const random = seededRandom(sensors);
    const world = openPoisoningWorld({ isPrivate: true, isAnchored: false });
    for (let i = 0; i < sensors; i++) world.account(`sensor${i}`, 'staff');
    const visits: { at: number; address: number; host: number }[] = [];
    for (let attacker = 0; attacker < s.attackers; attacker++) {
      let at = random.next() * 30 * dayMs;
      for (let end = at + 30 * dayMs; at < end; at += -Math.log(1 - random.next()) * 3 * dayMs) {
        const host = Math.floor(random.next() * sensors);
        visits.push({ at, address: 0x2000_0000 + attacker, host });
      }
    }
    visits.sort((a, b) => a.at - b.at);
    const start = world.at.now;
    const seen = new Set<number>();
    let repeats = 0;
    let blocked = 0;
    for (const { at, address, host } of visits) {
      world.at.now = start + at + hourMs;
      const isBlocked = world.score(address) >= maliciousScore;
      if (seen.has(address)) {
        repeats++;
        if (isBlocked) blocked++;
      }
      seen.add(address);
      if (!isBlocked) world.report(`sensor${host}`, address, 1);
    }
    const share = Math.round((100 * blocked) / repeats);
    const name = `private server, ${sensors} own sensor${sensors === 1 ? '' : 's'}: repeat visits blocked`;
    return rowAtLeast(name, '%', share, 80);
  });
}

const rising: Policy = { isPrivate: false, isAnchored: false, isRising: true };
/** The first address of a /24, and what a gate asks for a challenge from. */
const block = 0x4000_0000;
const suspect = 40;

/** Networks that rise by their hosts: what neighbours and attackers make of it, and what it finds. */
async function networks(s: Size): Promise<BenchRow[]> {
  const hijackedStaff = neighbours(s, ['staff']);
  const [bad, lifted] = ['rise: a tenant with a whole /25 that is bad', 'rise: /24s lifted'];
  return [
    count(`${bad}, the other half`, tenant(contiguous(128)), 0, 'score'),
    count(
      'rise: a tenant with 24 scattered addresses, a neighbour',
      tenant(scattered(24)),
      74,
      'score',
    ),
    count(`${lifted} by 12 accounts that have earned it`, await liftedByEarned(s), 0, 'networks'),
    count(`${lifted} by a hijacked member, 2 helpers`, await liftedByMember(s), 0, 'networks'),
    count(
      `${lifted} in a day by hijacked staff`,
      hijackedStaff.lifted,
      Math.ceil(1_000 / 9),
      'networks',
    ),
    count('rise: neighbours blocked by hijacked staff', hijackedStaff.blocked, 0),
    ...[false, true].map((isRising) => firstVisits(isRising)),
    ...[false, true].map((isRising) => rotation(isRising)),
  ];
}

const contiguous = (hosts: number) => Array.from({ length: hosts }, (_, i) => block + i);

function scattered(hosts: number, seed = 1): number[] {
  const random = seededRandom(seed);
  const all = new Set<number>();
  while (all.size < hosts) all.add(block + Math.floor(random.next() * 256));
  return [...all];
}

/** Three sensors of staff report all of a tenant's hosts daily, for a month. @returns a neighbour's highest score */
function tenant(hosts: readonly number[]): number {
  const world = openPoisoningWorld(rising);
  const ids = ['a', 'b', 'c'];
  for (const id of ids) world.account(id, 'staff');
  const neighbour = Array.from({ length: 256 }, (_, i) => block + 255 - i).find(
    (address) => !hosts.includes(address),
  )!;
  let worst = 0;
  for (let today = 0; today < 30; today++) {
    for (const address of hosts)
      for (const [i, id] of ids.entries()) world.report(id, address, i + 1);
    worst = Math.max(worst, world.judged(neighbour));
    world.at.now += dayMs;
  }
  return worst;
}

/** Counts the /24s of which an address that nobody reported is suspect. */
function liftedOf(world: PoisoningWorld, blocks: number): { lifted: number; blocked: number } {
  let lifted = 0;
  let blocked = 0;
  for (let i = 0; i < blocks; i++) {
    const score = world.judged(block + 256 * i + 255);
    if (score >= suspect) lifted++;
    if (score >= maliciousScore) blocked++;
  }
  return { lifted, blocked };
}

/** One address in each of nine /28s of as many /24s as there are tries for. */
function tryBlocks(world: PoisoningWorld, ids: readonly string[], tries: number): number {
  const blocks = Math.ceil(tries / 9);
  for (let i = 0; i < blocks * 9; i++) {
    const address = block + 256 * Math.floor(i / 9) + 16 * (i % 9);
    for (const [who, id] of ids.entries()) world.report(id, address, who + 1);
  }
  return blocks;
}

async function liftedByEarned(s: Size): Promise<number> {
  const world = openPoisoningWorld(rising);
  const ids = Array.from({ length: 12 }, (_, i) => `e${i}`);
  for (const id of ids) world.account(id);
  for (let today = 0; today < 22; today++) {
    await findTogether(world, ids, 12, 0x1000_0000 + today * 12);
  }
  const blocks = tryBlocks(world, ids, s.triesPerDay);
  if (world.judged(block) < maliciousScore) throw new Error('the accounts have earned nothing');
  return liftedOf(world, blocks).lifted;
}

async function liftedByMember(s: Size): Promise<number> {
  const world = openPoisoningWorld(rising);
  world.account('member', 'member');
  const helpers = ['h1', 'h2'];
  for (const id of helpers) world.account(id);
  for (let today = 0; today < 22; today++) {
    await findTogether(world, helpers, 3, 0x1000_0000 + today * 3);
  }
  const ids = [...helpers, 'member', ...helpers];
  return liftedOf(world, tryBlocks(world, ids, s.hijackTries)).lifted;
}

function neighbours(s: Size, as: readonly Voucher[]): { lifted: number; blocked: number } {
  const world = openPoisoningWorld(rising);
  const ids = as.map((vouched, i) => `v${i} ${vouched}`);
  for (const [i, id] of ids.entries()) world.account(id, as[i]!);
  return liftedOf(world, tryBlocks(world, ids, s.hijackTries));
}

/**
 * A rented /24 of a botnet: in 20 days each of its 256 addresses comes once, in random order, to a private server with three
 * sensors. @returns the share of first visits that met a challenge
 */
function firstVisits(isRising: boolean): BenchRow {
  const world = openPoisoningWorld({ isPrivate: true, isAnchored: false, isRising });
  for (let i = 0; i < 3; i++) world.account(`sensor${i}`, 'staff');
  let met = 0;
  for (const [i, address] of scattered(256, 7).entries()) {
    world.at.now += (20 * dayMs) / 256;
    if (world.judged(address) >= suspect) met++;
    world.report(`sensor${i % 3}`, address, 1);
  }
  const share = Math.round((100 * met) / 256);
  const name = `private server, a /24 of a botnet: first visits challenged${isRising ? '' : ', networks at rest'}`;
  const goal = isRising ? 80 : 0;
  return rowAtLeast(name, '%', share, goal);
}

/** An attacker takes another address of a /64 each hour; two members see each. @returns the share that met a block */
function rotation(isRising: boolean): BenchRow {
  const world = openPoisoningWorld({ ...rising, isRising });
  for (const id of ['m', 'n']) world.account(id, 'member');
  let met = 0;
  for (let i = 0; i < 100; i++) {
    world.at.now += hourMs;
    if (world.judged6(1 + i) >= maliciousScore) met++;
    for (const [who, id] of ['m', 'n'].entries()) world.report6(id, 1 + i, who + 1);
  }
  const name = `a /64 whose addresses rotate, 2 members: first visits blocked${isRising ? '' : ', networks at rest'}`;
  const goal = isRising ? 80 : 0;
  return rowAtLeast(name, '%', met, goal);
}
