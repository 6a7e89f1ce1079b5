/**
 * Compares what a peer says with what is here: rows that would come before it is added, and afterwards who was
 * first, and how many addresses are suspect or blocked with it and without it. All of it is read from the
 * memory of a node, in slices.
 */

import { entryFlags } from '../../../contracts/reputation.ts';
import { createScheduler, createSemaphore, type Scheduler } from '../../../core/scheduling.ts';
import { bandStarts } from '../../../core/score-band.ts';
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
import { type PeerRow, voteNetworkNumber } from '../../votes/peer-votes.ts';
import {
  bestCount,
  ceilingFor,
  createVoteTally,
  type Policy,
  voteDay,
  voteDays,
} from '../../votes/quorum.ts';

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
export function createFlags({ index, entries }: Pick<PeerMemory, 'index' | 'entries'>) {
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
