/**
 * Compares what a peer says with what is here: rows that would come before it is added, and afterwards who was
 * first, and how many addresses are suspect or blocked with it and without it. All of it is read from the
 * memory of a node, in slices.
 */

import { bandStarts, entryFlags } from '../../../contracts/reputation.ts';
import type { Clock } from '../../../core/clock.ts';
import {
  backgroundScheduler,
  createScheduler,
  createSemaphore,
  type Scheduler,
} from '../../../core/scheduling.ts';
import { dayMs, hourMs, hourSeconds } from '../../../core/time.ts';
import type { IpIndex } from '../../../index/ip-index.ts';
import {
  ceilingOf,
  flagsOf,
  lastReportedAtOf,
  listScoreOf,
  metaOf,
  reportsOf,
  strengthOf,
} from '../../../index/records.ts';
import { COVERING_MAX } from '../../../index/trie/layout.ts';
import { formatNetwork } from '../../../ip/prefix.ts';
import { specialUse } from '../../../ip/special.ts';
import { canBeReported } from '../../address/known.ts';
import {
  communityEvidence,
  entryScore,
  halfLivesAt,
  maliciousScore,
  strengthOfEvidence,
} from '../../check/score.ts';
import { serviceNames, serviceNumber } from '../../lists/import/rows.ts';
import { contributionKinds, kindOf, peerDetail, refOf, tagOf } from '../../state/contributions.ts';
import type { Entries } from '../../state/entries.ts';
import { type PeerRow, peersMax, voteNetworkNumber } from '../../votes/peer-votes.ts';
import {
  bestCount,
  ceilingFor,
  createVoteTally,
  type Policy,
  voteDay,
  voteDays,
} from '../../votes/quorum.ts';
import { type AddressRef, addressAt, newAddress, rowCount, wordAt } from '../document/segment.ts';
import type { HeldRows } from './notices.ts';
import type { HoldReason, StoredPeer } from './peers.ts';

/** The memory of a node, as far as peers are in it. */
export interface PeerMemory {
  readonly index: Pick<IpIndex, 'records' | 'covering' | 'walk'>;
  readonly entries: Entries;
  readonly policy: () => Policy;
}

const rowsPerSlice = 64;
/** The service of a bundled range that resolvers and root servers belong to. */
const resolvers = serviceNumber(serviceNames[3]) - 1;
const examplesMax = 5;
/** Entries of a /64 that are looked at, the lowest addresses first. */
const withinMax = 256;

/** Runs a step for each of 0 to count − 1, and lets others have their turn between. */
export async function stepInSlices(
  count: number,
  step: (i: number) => void,
  signal?: AbortSignal,
  scheduler: Scheduler = createScheduler(),
): Promise<void> {
  for (let i = 0; i < count; i++) {
    if (i % rowsPerSlice === 0 && scheduler.shouldYield()) {
      await scheduler.yield();
      signal?.throwIfAborted();
    }
    step(i);
  }
}

/**
 * Returns what looks up what stands over an address: allowed, known good or special, a resolver, a list or a
 * manual entry.
 */
function createFlags({ index, entries }: Pick<PeerMemory, 'index' | 'entries'>) {
  const covering = new Int32Array(COVERING_MAX);
  const { contributions } = entries;

  function isOfResolvers(entry: number): boolean {
    for (let node = contributions.first(entry); node !== 0; node = contributions.next[node]!) {
      const isGood = kindOf(contributions.tag[node]!) === contributionKinds.good;
      if (isGood && contributions.detail[node] === resolvers) return true;
    }
    return false;
  }

  return (row: Pick<PeerRow, 'family' | 'words' | 'length'>) => {
    const { family, words, length } = row;
    const count = index.covering(family, words, covering);
    let [isImmune, isResolver, isListed] = [
      !canBeReported(specialUse(family, words)),
      false,
      false,
    ];
    function note(entry: number, immune: number): void {
      const flags = flagsOf(metaOf(index.records, entry));
      if ((flags & immune) === 0) return;
      isImmune = true;
      isResolver ||= isOfResolvers(entry);
    }
    for (let i = 0; i < count; i++) {
      const entry = covering[i]!;
      if ((flagsOf(metaOf(index.records, entry)) & entryFlags.seeded) !== 0) isListed = true;
      note(entry, entryFlags.allowlisted | entryFlags.knownGood);
    }
    // A resolver is a host: whoever names its /64 names it too.
    if (length === 64) {
      index.walk(row, (entry) => note(entry, entryFlags.knownGood), { limit: withinMax });
    }
    return { isImmune, isResolver, isListed };
  };
}

/** Rows of a /24 or IPv6 /48 that count. */
export const networkRowsMax = 16;

/** Rows that a peer would bring, compared with what is here. */
export type Overlap = ReturnType<ReturnType<typeof createOverlap>['result']>;

/**
 * Counts rows that would come: `reported` by our own reporters too, `listed` by a list or a manual entry, and
 * `good`, which are allowed, known good or special and change nothing here, the first few as text. Of the
 * others `crowded` have too many others in their network.
 */
export function createOverlap(memory: PeerMemory) {
  const { index, entries } = memory;
  const flagsAt = createFlags(memory);
  const found = { rows: 0, reported: 0, listed: 0, good: 0, resolvers: 0, crowded: 0 };
  const byNetwork = new Map<number, number>();
  const goodExamples: string[] = [];
  return {
    add(row: Pick<PeerRow, 'family' | 'words' | 'length'>): void {
      found.rows++;
      const entry = entries.get(row.family, row.words, row.length);
      if (entry !== 0 && reportsOf(index.records, entry) > 0) found.reported++;
      const { isImmune, isResolver, isListed } = flagsAt(row);
      if (isListed) found.listed++;
      if (isResolver) found.resolvers++;
      if (isImmune) {
        if (found.good++ < examplesMax) goodExamples.push(formatNetwork(row));
        return;
      }
      const network = voteNetworkNumber(row.family, row.words);
      const before = byNetwork.get(network) ?? 0;
      byNetwork.set(network, before + 1);
      if (before >= networkRowsMax) found.crowded++;
    },
    result: () => ({ ...found, goodExamples: goodExamples as readonly string[] }),
  };
}

/** Counts the rows of each peer whose vote has not lapsed and counts. */
export async function votesByPeer(
  { contributions, peers }: Pick<Entries, 'contributions' | 'peers'>,
  now: number,
  signal?: AbortSignal,
): Promise<Map<number, number>> {
  const oldest = voteDay(now / 1_000) - voteDays;
  const found = new Map<number, number>();
  await stepInSlices(
    contributions.ofPeers() === 0 ? 0 : contributions.highest(),
    (i) => {
      const node = i + 1;
      if (
        contributions.owner[node] === 0 ||
        kindOf(contributions.tag[node]!) !== contributionKinds.peer
      )
        return;
      const { day, quarters } = peers.voteOf(node);
      if (quarters === 0 || day <= oldest) return;
      const peer = refOf(contributions.tag[node]!);
      found.set(peer, (found.get(peer) ?? 0) + 1);
    },
    signal,
  );
  return found;
}

/** Two peers are walked at a time; who comes then gets the answer that it can't be counted now. */
const walks = createSemaphore({ runningMax: 2, waitingMax: 8 });

/** The worth of a peer here, in addresses. */
export type PeerFigures = NonNullable<Awaited<ReturnType<typeof figuresOf>>>;

/**
 * Counts what a peer is worth. Scores are those of the address itself, as rows, votes and budgets stand now: a
 * network over it and a vote that another peer would have paid for are left out.
 */
export async function figuresOf(
  memory: PeerMemory,
  peer: number,
  now: number,
  signal?: AbortSignal,
) {
  const done = await walks.run(() => walk(memory, peer, now, signal));
  return done.ok ? done.value : undefined;
}

async function walk(
  { index: { records }, entries, policy }: PeerMemory,
  peer: number,
  now: number,
  signal: AbortSignal | undefined,
) {
  const { contributions, peers } = entries;
  const tag = tagOf(contributionKinds.peer, peer);
  const nowHalfLives = halfLivesAt(now);
  const oldest = voteDay(now / 1_000) - voteDays;
  const immune = entryFlags.allowlisted | entryFlags.knownGood;
  const scratch = createVoteTally();
  const found = {
    rows: 0,
    /** Rows with a vote that has not lapsed; none while nothing of the peer counts. */
    votes: 0,
    /** Our own reporters named them too. Of those that came after the peer's first load it is known who was first. */
    shared: 0,
    peerFirst: 0,
    oursFirst: 0,
    /** Rows that ours confirmed. */
    confirmed: 0,
    /** Its rows that score 50 or more, and 75 or more, without it and with it. */
    suspectWithout: 0,
    suspect: 0,
    maliciousWithout: 0,
    malicious: 0,
  };

  function scoreWithout(entry: number, node: number): number {
    const meta = metaOf(records, entry);
    const listScore = listScoreOf(meta);
    const lastReportedAt = lastReportedAtOf(records, entry);
    peers.count(scratch, entry, voteDay(peers.newestOn(entry, lastReportedAt, node)), node);
    let { ceiling } = ceilingFor(scratch.counts, listScore, policy());
    const held = entries.heldCeiling(entry);
    if (held !== 0) {
      const best = ceilingFor(
        bestCount(contributions, entry, peers, node),
        listScore,
        policy(),
      ).ceiling;
      if (best > ceiling) ceiling = Math.max(ceiling, Math.min(held, best));
    }
    const whole = communityEvidence(strengthOf(records, entry), nowHalfLives);
    const ofPeers = communityEvidence(peers.evidenceOf(entry), nowHalfLives);
    const ofOthers = communityEvidence(peers.evidenceOf(entry, node), nowHalfLives);
    const strength = strengthOfEvidence(whole - ofPeers + ofOthers, nowHalfLives);
    return entryScore(listScore, ceiling, strength, nowHalfLives);
  }

  function note(node: number): void {
    found.rows++;
    const { day, quarters } = peers.voteOf(node);
    if (quarters > 0 && day > oldest) found.votes++;
    if ((contributions.detail[node]! & peerDetail.confirmed) !== 0) found.confirmed++;
    const entry = contributions.owner[node]!;
    // Nodes are in the order in which they came.
    let [isBehind, isOurs, isOursFirst] = [false, false, false];
    for (let other = contributions.first(entry); other !== 0; other = contributions.next[other]!) {
      if (other === node) isBehind = true;
      if (kindOf(contributions.tag[other]!) !== contributionKinds.reports) continue;
      isOurs = true;
      if (!isBehind) isOursFirst = true;
    }
    if (isOurs) {
      found.shared++;
      // Rows of a first load came all at once.
      if (contributions.listed[node] !== 0) found[isOursFirst ? 'oursFirst' : 'peerFirst']++;
    }
    const meta = metaOf(records, entry);
    if ((flagsOf(meta) & immune) !== 0) return;
    const strength = strengthOf(records, entry);
    const score = entryScore(listScoreOf(meta), ceilingOf(meta), strength, nowHalfLives);
    if (score < bandStarts.suspect) return;
    const without = scoreWithout(entry, node);
    found.suspect++;
    if (score >= maliciousScore) found.malicious++;
    if (without >= bandStarts.suspect) found.suspectWithout++;
    if (without >= maliciousScore) found.maliciousWithout++;
  }

  await stepInSlices(
    contributions.ofPeer(peer) === 0 ? 0 : contributions.highest(),
    (i) => {
      const node = i + 1;
      if (contributions.tag[node] === tag && contributions.owner[node] !== 0) note(node);
    },
    signal,
  );
  return found;
}

// Below, a peer is judged: by rows that are a reason to wait for the operator (a mistake, or a captured peer), and by
// whom it repeats. All of it reads memory in slices, and writes nothing.

/** New rows of a day that are no surprise, however few there were before. */
const newRowsMin = 500;
const newRowsFactor = 4;
const daysKept = 28;
/** Rows on allowed or known-good addresses in a day that are no surprise. */
const goodRowsMin = 3;
const goodShare = 0.002;
/** More rows of a /24 or IPv6 /48 than this all wait. */
const networkRowsHeld = 64;
const aheadMsMax = hourMs;

type Counts = Pick<StoredPeer, 'day' | 'newToday' | 'goodToday' | 'goodEver' | 'days'>;

/** Returns the counts of today: at a new day those of the day before become one of the days. */
export function countsOf(
  { day, newToday, goodToday, goodEver, days }: StoredPeer,
  now: number,
): Counts {
  const today = Math.floor(now / dayMs);
  if (day === today) return { day, newToday, goodToday, goodEver, days };
  const kept = day === 0 ? [] : [...days, newToday].slice(-daysKept);
  return { day: today, newToday: 0, goodToday: 0, goodEver, days: kept };
}

export function newRowsLimit(days: readonly number[]): number {
  const sorted = [...days].sort((a, b) => a - b);
  const median = sorted[Math.floor(sorted.length / 2)] ?? 0;
  return Math.max(newRowsMin, newRowsFactor * median);
}

/** Looks for what a mistake or a captured peer would bring. */
export function createJudge(
  {
    entries,
    index,
    clock,
  }: { readonly entries: Entries; readonly index: IpIndex; readonly clock: Pick<Clock, 'now'> },
  signal: AbortSignal,
) {
  const { contributions } = entries;
  const flagsAt = createFlags({ entries, index });
  const address = newAddress();
  const inSlices = (count: number, step: (i: number) => void) =>
    stepInSlices(count, step, signal, backgroundScheduler());

  /** Judges new rows. @param isAccepted the operator takes them as they are, or they are the first ones */
  async function admitRows(
    peer: StoredPeer,
    before: Counts,
    added: Uint32Array,
    isAccepted: boolean,
  ): Promise<{ reason: HoldReason; counts: Counts; taken: Uint32Array; waiting?: FoundRows }> {
    const tag = tagOf(contributionKinds.peer, peer.number);
    const thisHour = Math.floor(clock.now() / hourMs);
    const latest = Math.floor((clock.now() + aheadMsMax) / hourMs);
    const limit = newRowsLimit(before.days);
    /** Rows come sorted: those of one network follow one another. */
    const near = { network: -1, rows: 0 };
    const taken = new Uint32Array(rowCount(added));
    let used = 0;
    const found = {
      fresh: createHeldRows(),
      good: createHeldRows(),
      resolver: createHeldRows(),
      future: createHeldRows(),
      crowded: createHeldRows(),
    };
    await inSlices(taken.length, (i) => {
      const row = addressAt(added, i, address);
      const lastHour = wordAt(added, i, 'lastHour');
      if (lastHour > latest) found.future.add(row);
      const flags = flagsAt(row);
      if (flags.isResolver) found.resolver.add(row);
      if (flags.isImmune) {
        found.good.add(row);
        return;
      }
      const entry = entries.get(row.family, row.words, row.length);
      const node = entry === 0 ? 0 : contributions.find(entry, tag);
      // Said again without news: it would be written without end.
      if (node !== 0 && Math.min(lastHour, thisHour) <= hourOf(contributions.newest[node]!)) return;
      if (node === 0) {
        found.fresh.add(row);
        const network = voteNetworkNumber(row.family, row.words);
        if (network !== near.network) Object.assign(near, { network, rows: rowsIn(row, tag) });
        near.rows++;
        // The first ones are as much of a reason as the one that is too many.
        if (near.rows === networkRowsHeld + 1) found.crowded.count += networkRowsHeld;
        if (near.rows > networkRowsHeld) found.crowded.add(row);
        if (near.rows > networkRowsMax) return;
      }
      taken[used++] = i;
    });
    const counts = {
      ...before,
      newToday: before.newToday + (isAccepted ? 0 : found.fresh.count),
      goodToday: before.goodToday + (isAccepted ? 0 : found.good.count),
      goodEver: before.goodEver + found.good.count,
    };
    const goodMax = Math.max(goodRowsMin, goodShare * (counts.newToday + counts.goodToday));
    const judged = { counts, taken: taken.subarray(0, used) };
    const held = (reason: HoldReason, waiting: FoundRows) => ({ reason, waiting, ...judged });
    if (isAccepted) return { reason: 'none', ...judged };
    if (found.resolver.count > 0) return held('a resolver or root server', found.resolver);
    if (found.future.count > 0) return held('rows from the future', found.future);
    if (counts.newToday > limit) return held('many new rows', found.fresh);
    if (counts.goodToday > goodMax) return held('allowed or known good addresses', found.good);
    if (found.crowded.count > 0) return held('many rows of one network', found.crowded);
    return { reason: 'none', ...judged };
  }

  /** Counts what the peer says already of a row's /24 or IPv6 /48. */
  function rowsIn({ family, words }: AddressRef, tag: number): number {
    const length = family === 4 ? 24 : 48;
    const masked = Uint32Array.of(words[0]!, words[1]!, 0, 0);
    if (family === 4) masked[0]! &= 0xffff_ff00;
    else masked[1]! &= 0xffff_0000;
    if (family === 4) masked[1] = 0;
    let found = 0;
    const count = (entry: number) => {
      if (entries.contributions.find(entry, tag) !== 0) found++;
    };
    index.walk({ family, words: masked, length }, count, { limit: 1_024 });
    return found;
  }

  return admitRows;
}

const followHours = 48;
const followDays = 14;
const followRowsMin = 200;
const followShare = 0.6;
/** A peer that is first so often, of what both have, is no mirror. */
const firstShare = 0.2;

/**
 * Finds peers that repeat another one: over 14 days most of their rows come within 48 hours behind the other's,
 * and of what both have they are seldom first. Rows of a first load are left out.
 * @returns the peer that each of them follows
 */
export async function findLeaders(
  { contributions }: Pick<Entries, 'contributions'>,
  now: number,
  signal: AbortSignal,
): Promise<Map<number, number>> {
  const since = now / hourMs - 24 * followDays;
  const size = peersMax + 1;
  const rows = new Uint32Array(size);
  const late = new Uint32Array(size);
  /** By peer and another one: rows that both have, and those where the peer came first or soon behind. */
  const [both, ahead, behind] = [0, 1, 2].map(() => new Uint32Array(size * size)) as Uint32Array[];
  await stepInSlices(
    contributions.highest(),
    (i) => {
      const node = i + 1;
      if (
        contributions.owner[node] === 0 ||
        kindOf(contributions.tag[node]!) !== contributionKinds.peer
      )
        return;
      const hour = contributions.listed[node]!;
      if (hour === 0 || hour < since) return;
      const peer = refOf(contributions.tag[node]!);
      rows[peer]!++;
      let [isBefore, isLate] = [true, false];
      for (
        let other = contributions.first(contributions.owner[node]!);
        other !== 0;
        other = contributions.next[other]!
      ) {
        if (other === node) isBefore = false;
        const came = contributions.listed[other]!;
        const isOther =
          other !== node && kindOf(contributions.tag[other]!) === contributionKinds.peer;
        if (!isOther || came === 0) continue;
        const pair = peer * size + refOf(contributions.tag[other]!);
        both![pair]!++;
        // Nodes are in the order in which they came.
        if (!isBefore) ahead![pair]!++;
        else if (hour - came <= followHours) {
          behind![pair]!++;
          isLate = true;
        }
      }
      if (isLate) late[peer]!++;
    },
    signal,
  );
  const found = new Map<number, number>();
  for (let peer = 1; peer < size; peer++) {
    if (rows[peer]! < followRowsMin || late[peer]! < followShare * rows[peer]!) continue;
    let leader = 0;
    for (let other = 1; other < size; other++) {
      const pair = peer * size + other;
      const most = leader === 0 ? 0 : behind![peer * size + leader]!;
      const isSeldomFirst = ahead![pair]! < firstShare * both![pair]!;
      if (isSeldomFirst && behind![pair]! > most) leader = other;
    }
    if (leader !== 0) found.set(peer, leader);
  }
  return found;
}

/** Counts rows that are a reason to wait, and keeps the first few. */
function createHeldRows() {
  const found = {
    count: 0,
    examples: [] as string[],
    add(row: AddressRef): void {
      if (found.count++ < examplesMax) found.examples.push(formatNetwork(row));
    },
  };
  return found;
}

/** Rows that are a reason to wait. */
export type FoundRows = Pick<HeldRows, 'count' | 'examples'>;

function hourOf(second: number): number {
  return Math.floor(second / hourSeconds);
}
