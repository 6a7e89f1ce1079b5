/**
 * What honest peers give, and what their budgets refuse of it, played through the fold. An attacker that comes to us comes
 * to other servers too, by how alike they are, each at its own moment of the attacker's life. The shares are assumed or of
 * 2005: compare rows, don't quote them as forecasts.
 */

import { dayMs, hourMs, minuteMs } from '../src/core/time.ts';
import { maliciousScore } from '../src/reputation/check/score.ts';
import { seededRandom } from '../test/support/seeded.ts';
import {
  closed,
  findTogether,
  numberedIds,
  open,
  openPoisoningWorld,
  type PoisoningWorld,
  peersAtLeast,
  peersAtMost,
} from './poisoning-world.ts';
import { type BenchRow, median } from './row.ts';

/** From here on the gate asks for a challenge. */
const suspectScore = 50;
/** A report comes five minutes after the visit; a segment and a poll take up to five each, by chance. */
const [reportMs, segmentMsMax, pollMsUsual] = [5 * minuteMs, 5 * minuteMs, 5 * minuteMs];

/**
 * Worlds: of so many of our sources another server knows anything, and the more even the chance of each server, the smaller
 * the skew.
 */
const worlds = [
  { name: 'far', share: 0.16, skew: 1.67 },
  { name: 'alike', share: 0.51, skew: 0.96 },
  { name: 'close', share: 0.85, skew: 0.7 },
] as const;
type World = (typeof worlds)[number];
const [, alike] = worlds;

interface Visit {
  readonly at: number;
  /** When the attacker began. */
  readonly since: number;
  readonly address: number;
  /** 0: us; else the number of a peer. */
  readonly server: number;
}

const peersMost = 10;
/** So many accounts of ours report, where budgets are counted. */
const sensors = 50;

/** All visits of so many attackers in 30 days, in order; half of them live for less than six hours. */
function visitsOf({ share, skew }: World, attackers: number): Visit[] {
  const random = seededRandom(36);
  const visits: Visit[] = [];
  for (let i = 0; i < attackers; i++) {
    const address = 0x2000_0000 + 256 * i;
    const lifeMs = hourMs * 240 ** random.next();
    const start = random.next() * 30 * dayMs;
    const isShared = random.next() < share;
    const chance = random.next() ** skew;
    visits.push({ at: start + random.next() * lifeMs, since: start, address, server: 0 });
    for (let server = 1; server <= peersMost; server++) {
      const [at, roll] = [start + random.next() * lifeMs, random.next()];
      if (isShared && roll < chance) visits.push({ at, since: start, address, server });
    }
  }
  return visits.sort((a, b) => a.at - b.at);
}

async function addPeers(world: PoisoningWorld, { count, weight, isOwn = false }: Followed) {
  for (let peer = 1; peer <= count; peer++) {
    const terms = { quarters: isOwn ? 24 : 24 * weight, budget: 5_000 * weight };
    await world.peer({ peer, group: peer, isOwn, ...terms });
  }
}

/** Notes when each attacker is blocked first; the hours are those since it began, anywhere. */
function openBlockTimes() {
  const hours = new Map<number, number>();
  return {
    look(world: PoisoningWorld, { at, since, address }: Visit): void {
      if (hours.has(address) || world.score(address) < maliciousScore) return;
      hours.set(address, (at - since) / hourMs);
    },
    /** Of those that are blocked at all. */
    median: () => Math.round(10 * median([...hours.values()])) / 10,
  };
}

/** In per cent, with one digit behind the point. */
const shareOf = (part: number, all: number) => Math.round((1_000 * part) / all) / 10;

/**
 * @returns the shares of first visits that met a block and at least a challenge, in per cent, and the median hours from an
 *   attacker's beginning to its block here
 */
async function firstVisits(of: World, attackers: number, peers: Peers) {
  const world = openPoisoningWorld({ ...closed, ...(peers.agree && { agree: peers.agree }) });
  const times = openBlockTimes();
  world.accounts(['sensor'], 'staff');
  await addPeers(world, peers);
  const random = seededRandom(7);
  const wordMsMax = segmentMsMax + (peers.pollMs ?? pollMsUsual);
  const start = world.at.now;
  const words: (Visit & { readonly isSeen: boolean })[] = [];
  const seen: typeof words = [];
  for (const visit of visitsOf(of, attackers)) {
    const late = reportMs + (visit.server === 0 ? 0 : wordMsMax * random.next());
    if (visit.server === 0) seen.push({ ...visit, isSeen: true });
    if (visit.server <= peers.count) words.push({ ...visit, at: visit.at + late, isSeen: false });
  }
  let [blocked, challenged] = [0, 0];
  for (const happening of [...words, ...seen].sort((a, b) => a.at - b.at)) {
    const { at, address, server, isSeen } = happening;
    world.at.now = Math.floor(start + at);
    if (isSeen) {
      const score = world.score(address);
      if (score >= maliciousScore) blocked++;
      if (score >= suspectScore) challenged++;
      continue;
    }
    if (server === 0) world.report('sensor', address, 1);
    else await world.peerSays(server, [address]);
    times.look(world, happening);
  }
  const shares = {
    blocked: shareOf(blocked, attackers),
    challenged: shareOf(challenged, attackers),
  };
  return { ...shares, hours: times.median() };
}

type ByWorld = readonly [far: number, alike: number, close: number];

/** Bounds, and the figures that the rules were chosen by, of another simulation with 60,000 attackers. */
type Figures = readonly [bounds: ByWorld, meant: ByWorld];

interface Followed {
  readonly count: number;
  readonly weight: number;
  readonly isOwn?: boolean;
}

interface Peers extends Followed {
  readonly name: string;
  /** Least shares of first visits. */
  readonly blocked: Figures;
  /** Groups that must agree; absent: as it is. */
  readonly agree?: number;
  /** Between two polls; absent: as it is. */
  readonly pollMs?: number;
  /** Least shares of first visits that meet a challenge. */
  readonly challenged?: Figures;
  /** Most median hours to the block. */
  readonly hours?: Figures;
}

const none: ByWorld = [0, 0, 0];
const inAlike = (least: number, meant: number): Figures => [
  [0, least, 0],
  [0, meant, 0],
];
/** Without peers an attacker is blocked when its first visit is reported. */
// biome-ignore format: a table.
const alone: Peers = { name: 'no peer', count: 0, weight: 1, blocked: [none, none], hours: [[6.5, 6.5, 6.5], [9.8, 9.7, 10.4]] };

// biome-ignore format: a table.
const choices: readonly Peers[] = [
  { name: '5 peers of 0.5', count: 5, weight: 0.5, blocked: [[0.2, 2.5, 6], [0.7, 4.8, 11]], challenged: [[2, 14, 28], [4.2, 20, 37]] },
  { name: '5 peers of 0.75', count: 5, weight: 0.75, blocked: [[0.8, 5, 14], [1.8, 10.8, 22]], hours: [[6.5, 6.2, 6], [9.6, 8.2, 6.5]] },
  { name: '10 peers of 0.5', count: 10, weight: 0.5, blocked: [[1.2, 10, 20], [3.2, 17, 33]], challenged: [[5, 22, 42], [7.9, 30, 53]] },
  { name: '10 peers of 0.75', count: 10, weight: 0.75, blocked: [[3, 14, 30], [5, 23, 42]], hours: [[6.3, 5.7, 5.2], [9.2, 5.9, 2.2]] },
  { name: 'one own server', count: 1, weight: 1, blocked: [[2, 9, 18], [3, 13, 25]], isOwn: true },
  { name: 'four own servers', count: 4, weight: 1, blocked: [[5, 22, 42], [8, 28, 50]], isOwn: true },
];
// biome-ignore format: a table.
const agreeOfMany: Peers = { name: '10 peers of 0.75, FEDERATION_AGREE=4', count: 10, weight: 0.75, blocked: [[0, 10, 22], [0, 17, 33]], agree: 4 };
/** In the world of alike servers alone. */
// biome-ignore format: a table.
const alikeChoices: readonly Peers[] = [
  { name: '5 peers of 0.75, polled each minute', count: 5, weight: 0.75, blocked: inAlike(5, 11.3), pollMs: minuteMs },
  { name: '5 peers of 0.75, polled each hour', count: 5, weight: 0.75, blocked: inAlike(3, 7.5), pollMs: hourMs },
  { name: '5 new peers of 0.75', count: 5, weight: 0.375, blocked: [none, none], challenged: inAlike(13, 19) },
];

/** The accounts of a public server: two members, ten that have earned their standing, eight newcomers. */
const [membersOf, earnedOf, sensorsOf] = [2, 10, 20];
const daysToEarn = 25;
const repeatsMax = 40;

interface Repeats extends Followed {
  /** Least shares of repeat visits. */
  readonly blocked: Figures;
  readonly hours: Figures;
}

// biome-ignore format: a table.
const repeats: readonly Repeats[] = [
  { count: 0, weight: 1, blocked: [[35, 35, 35], [68, 65, 65]], hours: [[60, 60, 60], [46, 50, 55]] },
  { count: 5, weight: 0.5, blocked: [[37, 50, 58], [71, 77, 85]], hours: [[50, 32, 22], [39, 30, 20]] },
  { count: 5, weight: 0.75, blocked: [[37, 52, 60], [72, 79, 88]], hours: [[50, 28, 18], [38, 27, 16]] },
];

/**
 * @returns the share of the visits behind an attacker's first one that a public server blocks, in per cent, and the median
 *   hours from an attacker's beginning to its block, of those that are blocked
 */
async function repeatVisits(of: World, attackers: number, { count, weight }: Repeats) {
  const world = openPoisoningWorld(open);
  const times = openBlockTimes();
  const ids = numberedIds('sensor', sensorsOf);
  world.accounts(ids.slice(0, membersOf), 'member');
  world.accounts(ids.slice(membersOf));
  const earned = ids.slice(membersOf, membersOf + earnedOf);
  for (let day = 0; day < daysToEarn; day++) {
    await findTogether(world, earned, earned.length, 0x0a00_0000 + 16 * day);
  }
  for (let peer = 1; peer <= count; peer++) {
    const terms = { quarters: 24 * weight, budget: 1_000 * weight };
    await world.peer({ peer, group: peer, isOwn: false, ...terms });
  }
  const [random, late] = [seededRandom(11), seededRandom(12)];
  const visits = visitsOf(of, attackers).flatMap((one) => {
    const { at, server } = one;
    if (server > count) return [];
    if (server !== 0) return [{ ...one, at: at + reportMs + 2 * pollMsUsual * late.next() }];
    // The first of some visits within a day each; most attackers come once or twice.
    const length = Math.min(repeatsMax, Math.floor((1 - random.next()) ** -0.8));
    return Array.from({ length }, (_, i) => ({ ...one, at: at + i * dayMs * random.next() }));
  });
  visits.sort((a, b) => a.at - b.at);
  const start = world.at.now;
  const met = new Set<number>();
  let [again, blocked] = [0, 0];
  for (const visit of visits) {
    const { at, address, server } = visit;
    world.at.now = Math.floor(start + at);
    if (server !== 0) {
      await world.peerSays(server, [address]);
      times.look(world, visit);
      continue;
    }
    const isBlocked = world.score(address) >= maliciousScore;
    if (met.has(address)) again++;
    if (met.has(address) && isBlocked) blocked++;
    met.add(address);
    const sensor = Math.floor(random.next() * sensorsOf);
    if (!isBlocked) world.report(ids[sensor]!, address, 1 + sensor);
    times.look(world, visit);
  }
  return { blocked: shareOf(blocked, again), hours: times.median() };
}

const meshes = [
  { servers: 6, blocked: 5, firstHand: 70, meant: [10.7, 80] },
  { servers: 11, blocked: 12, firstHand: 48, meant: [22.3, 61] },
] as const;

/**
 * Servers that are alike all follow one another at 0.75, and each blocks: whoever is blocked is not reported there.
 * @returns the share of first visits to us that meet a block, and of the servers that an attacker visits those that see it
 *   for themselves, in per cent
 */
async function mesh(servers: number, attackers: number) {
  const worlds = Array.from({ length: servers }, () => openPoisoningWorld(closed, 2 * attackers));
  for (const [i, world] of worlds.entries()) {
    world.accounts(['sensor'], 'staff');
    for (let peer = 1; peer <= servers; peer++) {
      if (peer === i + 1) continue;
      await world.peer({ peer, group: peer, isOwn: false, quarters: 18, budget: 3_750 });
    }
  }
  const random = seededRandom(13);
  const start = worlds[0]!.at.now;
  const waiting: { readonly at: number; readonly address: number; readonly by: number }[] = [];
  let visits = 0;
  const blocked = { here: 0, anywhere: 0 };
  async function hear(until: number): Promise<void> {
    while (waiting.length > 0 && waiting[0]!.at <= until) {
      const { at, address, by } = waiting.shift()!;
      for (const [i, world] of worlds.entries()) {
        world.at.now = Math.floor(start + at);
        if (i !== by) await world.peerSays(by + 1, [address]);
      }
    }
  }
  // Most words come in the order of their visits.
  for (const { at, address, server } of visitsOf(alike, attackers)) {
    if (server >= servers) continue;
    await hear(at);
    const world = worlds[server]!;
    world.at.now = Math.floor(start + at);
    visits++;
    if (world.score(address) >= maliciousScore) {
      blocked.anywhere++;
      if (server === 0) blocked.here++;
      continue;
    }
    world.report('sensor', address, 1);
    const word = { at: at + reportMs + 2 * pollMsUsual * random.next(), address, by: server };
    const place = waiting.findLastIndex((one) => one.at <= word.at);
    waiting.splice(place + 1, 0, word);
  }
  const firstHand = shareOf(visits - blocked.anywhere, visits);
  return { blocked: shareOf(blocked.here, attackers), firstHand };
}

/**
 * Three peers meet a thousand of the attackers a day that come to any of us, and we see a part of them.
 * @returns the share of their words on addresses that others name too, that found no budget, in per cent
 */
async function refused(of: Refusal, attackers: number): Promise<number> {
  const world = openPoisoningWorld(open);
  // One account could not afford as many votes.
  world.accounts(numberedIds('sensor', sensors), 'staff');
  const peers = [1, 2, 3];
  for (const peer of peers) {
    const quarters = 24 * (of.weight ?? 1);
    await world.peer({ peer, group: peer, isOwn: false, quarters, budget: of.budget });
  }
  const random = seededRandom(9);
  const start = world.at.now;
  let said = 0;
  const from = worlds.find(({ name }) => name === of.world)!;
  for (const { at, address, server } of visitsOf(from, attackers)) {
    world.at.now = Math.floor(start + at);
    if (server === 0) {
      const sensor = `sensor${Math.floor(random.next() * sensors)}`;
      if (random.next() < of.seen) world.report(sensor, address, 1);
    } else if (server <= peers.length) {
      said++;
      await world.peerSays(server, [address]);
    }
  }
  const without = peers.map((peer) => world.entries.peers.budget(peer, world.at.now)!.refused);
  return Math.round((100 * without.reduce((sum, one) => sum + one, 0)) / said);
}

/** `seen`: the part of the attackers that comes to us; `weight` of each peer, absent: 1. */
interface Refusal {
  readonly world: World['name'];
  readonly seen: number;
  readonly budget: number;
  readonly most: number;
  readonly weight?: number;
}

const byWorld = (budget: number, ...most: number[]): readonly Refusal[] =>
  worlds.map(({ name }, i) => ({ world: name, seen: 0.1, budget, most: most[i]! }));

const refusals: readonly Refusal[] = [
  { world: 'far', seen: 1, budget: 1_000, most: 0 },
  { world: 'close', seen: 1, budget: 1_000, most: 0 },
  ...byWorld(1_000, 61, 61, 61),
  ...byWorld(5_000, 0, 0, 5),
  // A peer of 10,000 a day with budgets of 5,000 and 20,000, a tenth of both.
  ...byWorld(500, 70, 70, 70),
  ...byWorld(2_000, 42, 42, 42),
  // Two of 0.5 lift, and the third is not charged; were it, three would share what two have: as with two thirds of a budget.
  { world: 'close', seen: 0.1, budget: 500, weight: 0.5, most: 45 },
  { world: 'close', seen: 0.1, budget: 333, weight: 0.5, most: 99 },
];

/** Adds the figure that the rules were chosen by. */
const withMeant = (row: BenchRow, peerValue: number): BenchRow => ({
  ...row,
  peer: 'when the rules were chosen',
  peerValue,
});

/** @param i of the world */
const least = (name: string, ours: number, [bounds, meant]: Figures, i: number) =>
  withMeant(peersAtLeast(name, '%', ours, bounds[i]!), meant[i]!);
const mostHours = (name: string, ours: number, [bounds, meant]: Figures, i: number) =>
  withMeant(peersAtMost(name, 'hours', ours, bounds[i]!), meant[i]!);

/** @param of.attackers that come to us in 30 days, @param of.many where budgets are counted */
export async function honestRows(of: { attackers: number; many: number }): Promise<BenchRow[]> {
  const rows: BenchRow[] = [];
  for (const [i, world] of worlds.entries()) {
    const more = { far: [], alike: [...alikeChoices, agreeOfMany], close: [agreeOfMany] };
    for (const peers of [alone, ...choices, ...more[world.name]]) {
      const met = await firstVisits(world, of.attackers, peers);
      const where = `${peers.name}, ${world.name}`;
      const { blocked, challenged, hours } = peers;
      const name = `${where}: first visits blocked`;
      rows.push(
        peers === alone
          ? withMeant(peersAtMost(name, '%', met.blocked, 0), 0)
          : least(name, met.blocked, blocked, i),
      );
      if (challenged !== undefined)
        rows.push(least(`${where}: first visits at 50 or more`, met.challenged, challenged, i));
      if (hours !== undefined)
        rows.push(mostHours(`${where}: median time to the block`, met.hours, hours, i));
    }
  }
  for (const [i, world] of worlds.entries()) {
    for (const one of repeats) {
      const who = one.count === 0 ? 'no peer' : `${one.count} peers of ${one.weight}`;
      const where = `${who}, ${world.name}, public`;
      const met = await repeatVisits(world, of.attackers, one);
      rows.push(
        least(`${where}: repeat visits blocked`, met.blocked, one.blocked, i),
        mostHours(`${where}: median time to the block`, met.hours, one.hours, i),
      );
    }
  }
  for (const { servers, meant, blocked, firstHand } of meshes) {
    const met = await mesh(servers, of.attackers);
    const name = `mesh of ${servers}, alike, 0.75`;
    const seen = peersAtLeast(`${name}: seen first-hand`, '%', met.firstHand, firstHand);
    rows.push(
      withMeant(peersAtLeast(`${name}: first visits blocked`, '%', met.blocked, blocked), meant[0]),
      withMeant(seen, meant[1]),
    );
  }
  for (const one of refusals) {
    const { world, seen, budget, most, weight } = one;
    const size = seen === 1 ? 'as large as we' : 'ten times ours';
    const we = weight === undefined ? size : `${size}, weight ${weight}`;
    const name = `${we}, ${world}, budget ${budget}: honest votes without budget`;
    rows.push(peersAtMost(name, '%', await refused(one, of.many), most));
  }
  return rows;
}
