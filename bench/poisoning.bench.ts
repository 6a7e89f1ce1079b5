/**
 * What it costs to put an innocent address on the blocklist, and what the rules cost honest
 * sensors: attacks and sensors played through the fold of the server, with a clock that is turned
 * by hand. Beside it stands the rule of before: the same evidence without a ceiling. The rates are
 * assumed (see each attack): compare rows, don't quote them as forecasts. docs/POISONING.md.
 */

import { dayMs, hourMs } from '../src/core/time.ts';
import { maliciousScore } from '../src/reputation/check/score.ts';
import type { Policy } from '../src/reputation/votes/quorum.ts';
import { seededRandom } from '../test/support/seeded.ts';
import { honestRows } from './poisoning-honest.ts';
import { peerRows } from './poisoning-peers.ts';
import {
  anchored,
  earn,
  findTogether,
  numberedIds,
  openPoisoningWorld,
  type PoisoningWorld,
  victim,
} from './poisoning-world.ts';
import { atMost, type BenchRow, rowAtLeast, rowAtMost } from './row.ts';

// biome-ignore format: a table.
const sizes = {
  tiny: { days: 24, triesPerDay: 40, findsPerDay: 10, hijackTries: 400, attackers: 40, honest: { attackers: 400, many: 400 } },
  full: { days: 60, triesPerDay: 1_000, findsPerDay: 100, hijackTries: 20_000, attackers: 2_000, honest: { attackers: 4_000, many: 30_000 } },
} as const;
type Size = (typeof sizes)[keyof typeof sizes];

/** Shown in place of a day that never came. */
const never = 999;
const three = ['a', 'b', 'c'];

export async function run(size: 'tiny' | 'full'): Promise<BenchRow[]> {
  const s = sizes[size];
  const besideFormer = (name: string, { ours, former }: Scores, goal: number): BenchRow => {
    const peer = { peer: 'the same reports by the former rule', peerValue: former };
    return { name, unit: 'score', ours, ...peer, ...atMost(ours, goal) };
  };
  const finds = '3 accounts with 3 true finds a day: first day it is malicious';
  const many = await manyVictims(s);
  const hijacked = await hijack(s);
  return [
    besideFormer('one victim, 3 newcomers, junk', crowd(s, 3), 49),
    besideFormer('one victim, 7 newcomers', crowd(s, 7), 49),
    besideFormer('one victim, 20 newcomers', crowd(s, 20), 49),
    besideFormer('a list rates it 50, 3 newcomers', await onList(), 74),
    day(finds, await farm(s, undefined), 21),
    day('the same, anchored', await farm(s, anchored), s.days),
    count('poisoned in 14 days: 3 accounts with true finds', many.poisoned, many.bound),
    count('poisoned in 21 days: a hijacked member, 2 helpers', hijacked.poisoned, hijacked.bound),
    ...[1, 3].map((sensors) => ownSensors(s, sensors)),
    ...(await networks(s)),
    ...(await peerRows(s)),
    ...(await honestRows(s.honest)),
  ];
}

interface Scores {
  readonly ours: number;
  readonly former: number;
}

function day(name: string, ours: number, least: number): BenchRow {
  const row = rowAtLeast(name, 'day', ours, least);
  return ours === never ? { ...row, note: 'never' } : row;
}

function count(name: string, ours: number, most: number, unit = 'addresses'): BenchRow {
  return rowAtMost(name, unit, ours, most);
}

function worldOf(ids: readonly string[], policy?: Policy): PoisoningWorld {
  const world = openPoisoningWorld(policy);
  world.accounts(ids);
  return world;
}

/** Accounts made in one evening report a victim daily, and 20 addresses of no meaning each. */
function crowd({ days }: Size, accounts: number): Scores {
  const ids = numberedIds('n', accounts);
  const world = worldOf(ids);
  let [ours, former] = [0, 0];
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

async function onList(): Promise<Scores> {
  const world = worldOf(three);
  await world.list([victim], 50);
  for (const id of three) for (let again = 0; again < 20; again++) world.report(id, victim, 1);
  return { ours: world.score(victim), former: world.formerScore(victim) };
}

/** @returns the day on which the victim is malicious */
async function farm({ days }: Size, policy: Policy | undefined): Promise<number> {
  const world = worldOf(three, policy);
  for (let today = 0; today < days; today++) {
    world.reportAll(three, victim);
    if (world.score(victim) >= maliciousScore) return today;
    await findTogether(world, three, 3, 0x1000_0000 + today * 3);
  }
  return never;
}

interface Poisoned {
  readonly poisoned: number;
  readonly bound: number;
}

/**
 * After 21 days of finds, for 14 days: as many victims as they can name, and finds that give them
 * budget. A find that three report allows 3·(1 + ½ + ¼) votes, and a victim takes three.
 */
async function manyVictims(s: Size): Promise<Poisoned> {
  const world = worldOf(three);
  await earn(world, three);
  let poisoned = 0;
  for (let today = 0; today < 14; today++) {
    poisoned += poisonedBy(world, three, s.triesPerDay, today);
    await findTogether(world, three, s.findsPerDay, 0x3000_0000 + today * s.findsPerDay);
  }
  const finds = 14 * s.findsPerDay + 66;
  return { poisoned, bound: Math.ceil(51 + 1.75 * finds) };
}

/** They all name so many addresses. @returns how many are malicious at once */
function poisonedBy(world: PoisoningWorld, ids: readonly string[], tries: number, today: number) {
  let poisoned = 0;
  for (let i = 0; i < tries; i++) {
    const address = 0x2000_0000 + today * tries + i;
    reportInTurn(world, ids, address);
    if (world.score(address) >= maliciousScore) poisoned++;
  }
  return poisoned;
}

/** From three networks. */
function reportInTurn(world: PoisoningWorld, ids: readonly string[], address: number): void {
  for (const [who, id] of ids.entries()) world.report(id, address, 1 + (who % 3));
}

const helpers = ['h1', 'h2'];
/** What the member says confirms the helpers, who get their votes back. */
const memberAndHelpers = [...helpers, 'member', ...helpers];

/** Of staff's and members' keys one is stolen; two accounts with a record report along. */
async function hijackedWorld(policy?: Policy): Promise<PoisoningWorld> {
  const world = worldOf(helpers, policy);
  world.accounts(['member'], 'member');
  await earn(world, helpers);
  return world;
}

async function hijack(s: Size): Promise<Poisoned> {
  const world = await hijackedWorld();
  let poisoned = 0;
  for (let today = 0; today < 21; today++) {
    poisoned += poisonedBy(world, memberAndHelpers, Math.ceil(s.hijackTries / 21), today);
    world.at.now += dayMs;
  }
  return { poisoned, bound: Math.ceil(300 * (1 + (21 * Math.LN2) / 14)) };
}

/**
 * A private server with sensors of its own, no lists. An attacker comes on average every three
 * days for 30 days, to one of ten hosts, of which each sensor watches one and blocks them all.
 * @returns the share of repeat visits that met a block, in per cent
 */
function ownSensors(s: Size, sensors: number): BenchRow {
  const random = seededRandom(sensors);
  const world = openPoisoningWorld({ isPrivate: true, isAnchored: false });
  world.accounts(numberedIds('sensor', sensors), 'staff');
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
  let [repeats, blocked] = [0, 0];
  for (const { at, address, host } of visits) {
    world.at.now = start + at + hourMs;
    const isBlocked = world.score(address) >= maliciousScore;
    if (seen.has(address)) repeats++;
    if (seen.has(address) && isBlocked) blocked++;
    seen.add(address);
    if (!isBlocked) world.report(`sensor${host}`, address, 1);
  }
  const who = `${sensors} own sensor${sensors === 1 ? '' : 's'}`;
  const share = Math.round((100 * blocked) / repeats);
  return rowAtLeast(`private server, ${who}: repeat visits blocked`, '%', share, 80);
}

const rising: Policy = { isPrivate: false, isAnchored: false, isRising: true };
/** The first address of a /24, and what a gate asks for a challenge from. */
const block = 0x4000_0000;
const suspect = 40;

/** Networks that rise by their hosts: what neighbours and attackers make of it, and what it finds. */
async function networks(s: Size): Promise<BenchRow[]> {
  const staff = openPoisoningWorld(rising);
  staff.accounts(['staff'], 'staff');
  const byStaff = liftedOf(staff, ['staff'], s.hijackTries);
  const [bad, lifted] = ['rise: a tenant with a whole /25 that is bad', 'rise: /24s lifted'];
  const scatter = 'rise: a tenant with 24 scattered addresses, a neighbour';
  const contiguous = Array.from({ length: 128 }, (_, i) => block + i);
  const inADay = Math.ceil(1_000 / 9);
  return [
    count(`${bad}, the other half`, tenant(contiguous), 0, 'score'),
    count(scatter, tenant(scattered(24)), 74, 'score'),
    count(`${lifted} by 12 accounts that have earned it`, await liftedByEarned(s), 0, 'networks'),
    count(`${lifted} by a hijacked member, 2 helpers`, await liftedByMember(s), 0, 'networks'),
    count(`${lifted} in a day by hijacked staff`, byStaff.lifted, inADay, 'networks'),
    count('rise: neighbours blocked by hijacked staff', byStaff.blocked, 0),
    ...[false, true].map(firstVisits),
    ...[false, true].map(rotation),
  ];
}

function scattered(hosts: number, seed = 1): number[] {
  const random = seededRandom(seed);
  const all = new Set<number>();
  while (all.size < hosts) all.add(block + Math.floor(random.next() * 256));
  return [...all];
}

/** Three sensors of staff report all of a tenant's hosts daily, for a month. @returns a neighbour's highest score */
function tenant(hosts: readonly number[]): number {
  const world = openPoisoningWorld(rising);
  world.accounts(three, 'staff');
  const all = Array.from({ length: 256 }, (_, i) => block + 255 - i);
  const neighbour = all.find((address) => !hosts.includes(address))!;
  let worst = 0;
  for (let today = 0; today < 30; today++) {
    for (const address of hosts) world.reportAll(three, address);
    worst = Math.max(worst, world.judged(neighbour));
    world.at.now += dayMs;
  }
  return worst;
}

/**
 * They name one address in each of nine /28s of as many /24s as there are tries for.
 * @returns the /24s of which an address that nobody reported is suspect, and is blocked
 */
function liftedOf(world: PoisoningWorld, ids: readonly string[], tries: number) {
  const blocks = Math.ceil(tries / 9);
  for (let i = 0; i < blocks * 9; i++) {
    world.reportAll(ids, block + 256 * Math.floor(i / 9) + 16 * (i % 9));
  }
  const scores = Array.from({ length: blocks }, (_, i) => world.judged(block + 256 * i + 255));
  return {
    lifted: scores.filter((score) => score >= suspect).length,
    blocked: scores.filter((score) => score >= maliciousScore).length,
  };
}

async function liftedByEarned(s: Size): Promise<number> {
  const ids = numberedIds('e', 12);
  const world = worldOf(ids, rising);
  await earn(world, ids, 12);
  const { lifted } = liftedOf(world, ids, s.triesPerDay);
  if (world.judged(block) < maliciousScore) throw new Error('the accounts have earned nothing');
  return lifted;
}

async function liftedByMember(s: Size): Promise<number> {
  return liftedOf(await hijackedWorld(rising), memberAndHelpers, s.hijackTries).lifted;
}

/** The share of first visits that met what they should, beside networks at rest. */
function visitsMet(name: string, share: number, isRising: boolean): BenchRow {
  return rowAtLeast(
    `${name}${isRising ? '' : ', networks at rest'}`,
    '%',
    share,
    isRising ? 80 : 0,
  );
}

/**
 * A rented /24 of a botnet: in 20 days each of its 256 addresses comes once, in random order, to a private server with three
 * sensors. @returns the share of first visits that met a challenge
 */
function firstVisits(isRising: boolean): BenchRow {
  const world = openPoisoningWorld({ isPrivate: true, isAnchored: false, isRising });
  world.accounts(numberedIds('sensor', 3), 'staff');
  let met = 0;
  for (const [i, address] of scattered(256, 7).entries()) {
    world.at.now += (20 * dayMs) / 256;
    if (world.judged(address) >= suspect) met++;
    world.report(`sensor${i % 3}`, address, 1);
  }
  const name = 'private server, a /24 of a botnet: first visits challenged';
  return visitsMet(name, Math.round((100 * met) / 256), isRising);
}

/** An attacker takes another address of a /64 each hour; two members see each. @returns the share that met a block */
function rotation(isRising: boolean): BenchRow {
  const world = openPoisoningWorld({ ...rising, isRising });
  world.accounts(['m', 'n'], 'member');
  let met = 0;
  for (let i = 1; i <= 100; i++) {
    world.at.now += hourMs;
    if (world.judged6(i) >= maliciousScore) met++;
    for (const [who, id] of ['m', 'n'].entries()) world.report6(id, i, who + 1);
  }
  const name = 'a /64 whose addresses rotate, 2 members: first visits blocked';
  return visitsMet(name, met, isRising);
}
