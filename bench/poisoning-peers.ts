/**
 * What captured peers can do, and what the rules for peers cost honest ones: each figure of the tables that the rules were
 * chosen by, played through the fold, with its bound. Rates are assumed: a captured peer says its word daily, an honest one
 * has a usual number of new rows a day, of which we confirm one in twenty.
 */

import { dayMs, hourMs } from '../src/core/time.ts';
import { maliciousScore } from '../src/reputation/check/score.ts';
import {
  type FederationHead,
  faultOfHead,
  headLifeMs,
} from '../src/reputation/federation/document/head.ts';
import { createRowList } from '../src/reputation/federation/document/segment.ts';
import {
  countsOf,
  createJudge,
  findLeaders,
  newRowsLimit,
} from '../src/reputation/federation/subscribe/compare.ts';
import {
  isSilent,
  notFetched,
  type StoredPeer,
  termsOf,
} from '../src/reputation/federation/subscribe/peers.ts';
import { ceilings, type Policy } from '../src/reputation/votes/quorum.ts';
import { seededRandom } from '../test/support/seeded.ts';
import {
  anchored,
  closed,
  earn,
  numberedIds,
  open,
  openPoisoningWorld,
  type PoisoningWorld,
  peersAtLeast,
  peersAtMost,
  victim,
} from './poisoning-world.ts';
import type { BenchRow } from './row.ts';

const few = 20_000;
const never = new AbortController().signal;

interface PeerSize {
  readonly days: number;
}

export async function peerRows(s: PeerSize): Promise<BenchRow[]> {
  return [
    ...(await captured(s)),
    ...(await plans(s)),
    ...(await landlord(s)),
    await allNew(),
    ...honestDays(s),
    ...(await mesh()),
    ...(await mirrors()),
    frozen(),
    ...(await lapses()),
  ];
}

/** A peer as the store has it, of a domain of its own, added long ago unless told. */
function storedPeer(number: number, weight: number, addedAt = 1): StoredPeer {
  return {
    ...notFetched,
    number,
    url: `https://p${number}.example`,
    key: '',
    weight: 4 * weight,
    owner: '',
    isOwn: false,
    budget: 0,
    isIndependent: false,
    addedAt,
    state: 'active',
  };
}

async function tell(world: PoisoningWorld, peers: readonly StoredPeer[], policy: Policy) {
  for (const terms of termsOf(peers, policy, world.at.now).values()) await world.peer(terms);
}

/** Each peer names the victim. */
async function allSay(world: PoisoningWorld, peers: readonly StoredPeer[]): Promise<void> {
  for (const { number } of peers) await world.peerSays(number, [victim]);
}

const numbered = (count: number, weight: number, addedAt?: number) =>
  Array.from({ length: count }, (_, i) => storedPeer(i + 1, weight, addedAt));

// One victim, named daily by captured peers of one weight, beside what we have of it.

/** How many, and their weight. */
// biome-ignore format: a table.
const columns = [[1, 0.5], [1, 1], [2, 0.5], [2, 1], [3, 0.5], [3, 0.75], [3, 1], [4, 0.5]] as const;

interface Beside {
  /** The highest score that is meant, by column. */
  readonly bounds: readonly (number | undefined)[];
  readonly policy?: Policy;
  readonly areNew?: boolean;
  readonly newcomers?: number;
  readonly list?: number;
  /** Accounts that have earned their standing. */
  readonly farmed?: number;
  readonly hasMember?: boolean;
}

const nothing = [35, 45, 59, 71, 68, 81, 83, 79];
const threeOfOne = (bound: number) => columns.map((_, i) => (i === 6 ? bound : undefined));
// biome-ignore format: a table.
const cases: Readonly<Record<string, Beside>> = {
  'nothing of ours, public': { bounds: nothing },
  'nothing of ours, private': { policy: closed, bounds: nothing },
  'nothing of ours, all new': { areNew: true, bounds: [22, 35, 41, 59, 52, 62, 68, 59] },
  '20 newcomers of ours': { newcomers: 20, bounds: [49, 49, 74, 74, 74, 84, 84, 84] },
  'a list of 37': { list: 37, bounds: [41, 59, 59, 71, 74, 81, 83, 79] },
  'one farmed account': { farmed: 1, bounds: [66, 71, 71, 73, 81, 83, 84, 83] },
  'two farmed accounts': { farmed: 2, bounds: [72, 82, 82, 84, 84, 84, 84, 84] },
  'one farmed account, anchored': { farmed: 1, policy: anchored, bounds: [66, 71, 71, 73, 72, 74, 74, 73] },
  'two farmed accounts, anchored': { farmed: 2, policy: anchored, bounds: [72, 73, 73, 74, 73, 74, 74, 74] },
  'a hijacked member': { hasMember: true, bounds: [68, 91, 91, 97, 95, 98, 99, 97] },
  'nothing, FEDERATION_BLOCKS=off': { policy: { ...open, neverByPeers: true }, bounds: threeOfOne(74) },
  'nothing, FEDERATION_AGREE=4': { policy: { ...open, agree: 4 }, bounds: threeOfOne(73) },
};

async function captured({ days }: PeerSize): Promise<BenchRow[]> {
  const rows: BenchRow[] = [];
  for (const [what, one] of Object.entries(cases)) {
    for (const [i, [count, weight]] of columns.entries()) {
      const bound = one.bounds[i];
      if (bound === undefined) continue;
      const score = await highest(one, count, weight, days);
      rows.push(
        peersAtMost(`${count} captured of weight ${weight}, ${what}`, 'score', score, bound),
      );
    }
  }
  return rows;
}

async function highest(beside: Beside, count: number, weight: number, days: number) {
  const { policy = open, areNew = false, newcomers = 0, list = 0, farmed = 0 } = beside;
  const world = openPoisoningWorld(policy, few);
  const ids = [...numberedIds('n', newcomers), ...numberedIds('f', farmed)];
  world.accounts(ids);
  if (beside.hasMember) {
    world.accounts(['member'], 'member');
    ids.push('member');
  }
  if (farmed > 0) {
    // Along with others that do nothing later.
    const others = ['x', 'y'].slice(0, Math.max(0, 3 - ids.length));
    world.accounts(others);
    await earn(world, [...ids, ...others]);
  }
  const peers = numbered(count, weight, areNew ? world.at.now : 1);
  await tell(world, peers, policy);
  if (list > 0) await world.list([victim], list);
  let most = 0;
  // New ones are so for 14 days.
  for (let today = 0; today < (areNew ? 14 : days); today++) {
    world.reportAll(ids, victim);
    await allSay(world, peers);
    most = Math.max(most, world.score(victim));
    world.at.now += dayMs;
  }
  return most;
}

// Many victims: how many addresses captured peers lift above 49 before their budget or a hold ends it.

const chunk = 25;
const honestShare = 0.05;

/** Victims and the rows that we confirm are each in a /24 of their own. */
const victimAt = (i: number) => 0x2000_0000 + 256 * i;
const honestAt = (i: number) => 0x6000_0000 + 256 * i;

interface Plan {
  readonly kind: 'all at once' | 'below the limit' | 'five a day';
  readonly policy: Policy;
  readonly weight: number;
  readonly count: number;
  /** New rows of an honest day. */
  readonly usual: number;
  readonly days: number;
  /** The same peers come first each time, and the third finds nothing left to lift. */
  readonly isInOrder?: boolean;
}

/** @returns addresses lifted */
async function lifted(plan: Plan): Promise<number> {
  const { kind, policy, weight, count, usual, days, isInOrder } = plan;
  const world = openPoisoningWorld(policy);
  world.accounts(['staff'], 'staff');
  const peers = numbered(count, weight);
  await tell(world, peers, policy);
  const { entries, index } = world;
  const judge = createJudge({ entries, index, clock: { now: () => world.at.now } }, never);
  let stored: StoredPeer = { ...peers[0]!, days: new Array<number>(28).fill(usual), day: 0 };
  let [victims, named, confirmed] = [0, 0, 0];
  let isHeld = false;
  for (let today = 0; today < days; today++) {
    const day = stored.day || Math.floor(world.at.now / dayMs);
    stored = { ...stored, ...countsOf({ ...stored, day }, world.at.now), newToday: usual };
    for (const { number } of peers) {
      const found = Array.from({ length: honestShare * usual }, () => honestAt(confirmed++));
      await world.peerSays(number, found);
      for (const address of found) world.report('staff', address, 1);
    }
    const room = newRowsLimit(stored.days) - usual;
    const tries = { 'all at once': 20_000, 'below the limit': room, 'five a day': 5 }[kind];
    for (let tried = 0; tried < tries && !isHeld; tried += chunk) {
      const size = Math.min(chunk, tries - tried);
      const said = Array.from({ length: size }, (_, i) => victimAt(named + i));
      named += size;
      const rows = createRowList(size);
      const hours = { firstHour: 0, lastHour: Math.floor(world.at.now / hourMs) };
      const word = { ...hours, categories: 1 << 18, reports: 1, staff: 1, members: 0, earned: 0 };
      for (const address of said) {
        rows.add({ family: 4, words: Uint32Array.of(address), length: 32 }, word);
      }
      const judged = await judge(stored, stored, rows.finish(), false);
      isHeld = judged.reason !== 'none';
      if (isHeld) break;
      stored = { ...stored, ...judged.counts };
      // Whoever comes last finds the votes of the others: they take turns, so that no budget is used up before another.
      for (let i = 0; i < count; i++) {
        const first = isInOrder === true ? 0 : tried / chunk;
        await world.peerSays(1 + ((i + first) % count), said);
      }
      const now = said.filter((address) => world.score(address) > ceilings.none).length;
      victims += now;
      // The budget is used up for today: what else they name is no vote.
      if (now < size && kind !== 'all at once') break;
    }
    world.at.now += dayMs;
  }
  if (isHeld !== (kind === 'all at once')) throw new Error(`${kind}: held is ${isHeld}`);
  return victims;
}

// biome-ignore format: a table.
const planColumns = [['public', open, 0.5], ['public', open, 1], ['private', closed, 0.5], ['private', closed, 1]] as const;

/**
 * By kind and usual rows, the most addresses of each column. Two of ½ lift an address, so three that take turns have half
 * as much again as one pair; of three of 1 each is charged for each address that they block.
 */
// biome-ignore format: a table.
const planBounds = [
  ['all at once', 100, [400, 400, 400, 400]],
  ['all at once', 1_000, [840, 1_060, 3_000, 3_000]],
  ['below the limit', 100, [3_417, 4_167, 14_424, 17_841]],
  ['below the limit', 1_000, [8_284, 7_448, 19_834, 22_747]],
  ['five a day', 100, [300, 300, 300, 300]],
] as const;

/** As the rules were chosen: peers that don't take turns, by usual rows. */
// biome-ignore format: a table.
const inOrderBounds = [[100, [2_278, 9_616]], [1_000, [5_523, 13_223]]] as const;

async function plans({ days }: PeerSize): Promise<BenchRow[]> {
  const rows: BenchRow[] = [];
  async function add(name: string, plan: Plan, most: number): Promise<void> {
    rows.push(peersAtMost(`lifted by ${name}`, 'addresses', await lifted(plan), most));
  }
  for (const [kind, usual, bounds] of planBounds) {
    for (const [i, [mode, policy, weight]] of planColumns.entries()) {
      const name = `3 of weight ${weight}, ${mode}, usual ${usual} a day, ${kind}`;
      await add(name, { kind, policy, weight, usual, days, count: 3 }, bounds[i]!);
    }
  }
  const kind = 'below the limit';
  for (const [usual, bounds] of inOrderBounds) {
    for (const [i, [mode, policy]] of planColumns.filter(([, , weight]) => weight < 1).entries()) {
      const plan = { kind, policy, weight: 0.5, count: 3, usual, days, isInOrder: true } as const;
      await add(
        `3 of weight 0.5 in one order, ${mode}, usual ${usual} a day, ${kind}`,
        plan,
        bounds[i]!,
      );
    }
  }
  for (const [mode, policy] of planColumns.filter(([, , weight]) => weight === 1)) {
    await add(
      `one of weight 1, ${mode}`,
      { kind, policy, weight: 1, count: 1, usual: 1_000, days },
      0,
    );
  }
  return rows;
}

/** Ten rented /24 attack us, each from another address a day, so that we confirm the peer that names them. */
async function landlord({ days }: PeerSize): Promise<BenchRow[]> {
  const world = openPoisoningWorld(open, few);
  world.accounts(['staff'], 'staff');
  await tell(world, [storedPeer(1, 1)], open);
  const rented = Array.from({ length: 2_560 }, (_, i) => 0x4000_0000 + i);
  for (let today = 0; today < days; today++) {
    await world.peerSays(1, rented);
    for (let i = today; i < rented.length; i += 256) world.report('staff', rented[i]!, 1);
    await world.peerTakesBack(1, rented);
    world.at.now += dayMs;
  }
  const { confirmed } = world.entries.peers.budget(1, world.at.now)!;
  const most = 10 * Math.ceil(days / 14);
  return [peersAtMost('budget that a landlord of ten /24 earns one', 'votes', confirmed, most)];
}

/** Three of full weight name a victim from the day on which they were added. */
async function allNew(): Promise<BenchRow> {
  const world = openPoisoningWorld(open, few);
  const peers = numbered(3, 1, world.at.now);
  let today = 0;
  for (; today < 60 && world.score(victim) < maliciousScore; today++) {
    world.at.now += dayMs;
    await tell(world, peers, open);
    await allSay(world, peers);
  }
  return peersAtLeast('3 new ones of weight 1: first day they block', 'day', today, 14);
}

/** The share of an honest peer's days that are held: daily counts are lognormal around 1,000. */
function honestDays({ days: usual }: PeerSize): BenchRow[] {
  const tries = 500 * usual;
  return [[0.5, 0.5] as const, [0.7, 3] as const].map(([sigma, most]) => {
    const random = seededRandom(36);
    const normal = () =>
      Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next());
    const count = () => Math.round(1_000 * Math.exp(sigma * normal()));
    let held = 0;
    let days = Array.from({ length: 28 }, count);
    for (let i = 0; i < tries; i++) {
      const today = count();
      if (today > newRowsLimit(days)) held++;
      days = [...days.slice(1), today];
    }
    const share = Math.round((1_000 * held) / tries) / 10;
    return peersAtMost(`honest days that are held, sigma ${sigma}`, '%', share, most);
  });
}

/** Three servers that all follow one another, and one report of the first one's staff. */
async function mesh(): Promise<BenchRow[]> {
  const worlds = Array.from({ length: 3 }, () => openPoisoningWorld(closed, few));
  for (const world of worlds) await tell(world, numbered(3, 1), closed);
  worlds[0]!.accounts(['staff'], 'staff');
  worlds[0]!.report('staff', victim, 1);
  /** Each takes what each other one publishes. */
  async function poll(): Promise<void> {
    const said = worlds.map((world) => world.publishes(victim));
    for (const [i, world] of worlds.entries()) {
      for (let peer = 1; peer <= 3; peer++) {
        if (peer === i + 1) continue;
        if (said[peer - 1]) await world.peerSays(peer, [victim]);
        else await world.peerTakesBack(peer, [victim]);
      }
    }
  }
  for (let round = 0; round < 5; round++) await poll();
  const [first, ...others] = worlds.map((world) => world.score(victim));
  const carried = worlds.slice(1).filter((world) => world.publishes(victim)).length;
  worlds[0]!.withdraw('staff', victim);
  await poll();
  const left = worlds.map((world) => world.score(victim));
  return [
    peersAtMost('full mesh of 3, a report of staff: score where it was made', 'score', first!, 91),
    peersAtMost('full mesh of 3: score at the others', 'score', Math.max(...others), 45),
    peersAtMost('full mesh of 3: servers that carry it on', 'servers', carried, 0),
    peersAtMost('full mesh of 3: score left after the retraction', 'score', Math.max(...left), 0),
  ];
}

/** A captured peer and two honest ones that repeat it: once that shows they are one voice. */
async function mirrors(): Promise<BenchRow[]> {
  const world = openPoisoningWorld(open, few);
  const addedAt = world.at.now;
  let peers = numbered(3, 1, addedAt);
  await tell(world, peers, open);
  let before = 0;
  for (let i = 0; i < 240; i++) {
    const named = [victim, victimAt(i)];
    for (const { number } of peers) {
      await world.peerSays(number, named);
      world.at.now += hourMs / 3;
    }
    before = Math.max(before, world.score(victim));
  }
  const followed = await findLeaders(world.entries, world.at.now, never);
  peers = peers.map((peer) => ({ ...peer, follows: followed.get(peer.number) ?? 0 }));
  let after = 0;
  for (let today = 0; today < 14; today++) {
    world.at.now += dayMs;
    await tell(world, peers, open);
    await allSay(world, peers);
    after = Math.max(after, world.score(victim));
  }
  return [
    peersAtMost('one captured of 1 and two mirrors, new ones', 'score', before, 68),
    peersAtMost('one captured of 1 and two mirrors, once 200 rows show it', 'score', after, 49),
    ...(await pairs()),
  ];
}

/** Whom the rule for mirrors finds: one with rows of its own, and an honest pair. */
async function pairs(): Promise<BenchRow[]> {
  const world = openPoisoningWorld(open, few);
  const random = seededRandom(36);
  await tell(world, numbered(4, 1), open);
  for (let i = 0; i < 1_000; i++) {
    world.at.now += hourMs / 4;
    // The second repeats the first; three in eight of its rows are its own.
    await world.peerSays(1, [victimAt(i)]);
    if (i >= 8) await world.peerSays(2, [victimAt(i - 8)]);
    if (i % 5 < 3) await world.peerSays(2, [victimAt(10_000 + i)]);
    // The third and the fourth share a quarter of what they see, either of them first.
    const [one, other] = random.next() < 0.5 ? [3, 4] : [4, 3];
    await world.peerSays(one, [honestAt(i)]);
    if (random.next() < 0.25) await world.peerSays(other, [honestAt(i)]);
  }
  const found = await findLeaders(world.entries, world.at.now, never);
  const honest = [3, 4].filter((peer) => found.has(peer)).length;
  const mirrors = found.get(2) === 1 ? 1 : 0;
  return [
    peersAtLeast(
      'mirrors with three rows in eight of their own that are found',
      'peers',
      mirrors,
      1,
    ),
    peersAtMost('honest ones of a pair that are taken for mirrors', 'peers', honest, 0),
  ];
}

/** A head that somebody sends again and again. */
function frozen(): BenchRow {
  const madeAt = Date.UTC(2026, 0, 1);
  const head = { seq: 1, chain: '', madeAt, endsAt: madeAt + headLifeMs } as FederationHead;
  const peer = { ...storedPeer(1, 1), headEndsAt: head.endsAt, freshAt: madeAt };
  let hours = 0;
  while (!isSilent(peer, madeAt + hours * hourMs)) hours++;
  const taken = faultOfHead(head, head, madeAt + headLifeMs) === undefined;
  const left = taken ? 999 : hours - 1;
  return peersAtMost('a frozen head: hours until its votes are gone', 'hours', left, 48);
}

/** Days until a block by peers that nobody says again is over. */
async function lapses(): Promise<BenchRow[]> {
  const rows: BenchRow[] = [];
  // biome-ignore format: a table.
  for (const [count, weight, most] of [[3, 1, 13.7], [3, 0.75, 7.9], [4, 0.5, 5.5]] as const) {
    const world = openPoisoningWorld(open, few);
    const peers = numbered(count, weight);
    await tell(world, peers, open);
    await allSay(world, peers);
    const start = world.at.now;
    while (world.score(victim) >= maliciousScore) world.at.now += dayMs / 100;
    const days = Math.round((10 * (world.at.now - start)) / dayMs) / 10;
    rows.push(
      peersAtMost(`a block by ${count} of weight ${weight} lapses after`, 'days', days, most),
    );
  }
  return rows;
}
