/**
 * The reducer of reputation: the one place that decides what a journal event does to addresses.
 *
 * The result depends on the event and on earlier events alone: no wall clock, no request. The
 * same journal gives the same state on every node and after every restart.
 *
 * Lists: a loader announces a run (`list.begun`), sends rows, and ends it (`list.ended`), which
 * takes back the rows that the run did not bring again. Rows of a run that another run of the
 * same source has overtaken are ignored, so two loaders at once leave exactly one list.
 */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { createScheduler } from '../../core/scheduling.ts';
import type { IndexPrefix } from '../../index/prefix.ts';
import type { Reader, Writer } from '../../storage/codec.ts';
import { halfLivesAt } from '../check/score.ts';
import type { Source, Sources } from '../lists/sources.ts';
import type { Refusals } from '../reports/refusals.ts';
import type { PeerRow, PeerTerms } from '../votes/peer-votes.ts';
import { defaultPolicy, type Policy } from '../votes/quorum.ts';
import { contributionKinds, kindOf, tagOf } from './contributions.ts';
import type { Entries, SettleAfter } from './entries.ts';
import { hasVote } from './entry-pages.ts';
import {
  type AddedReport,
  decodePolicy,
  type ListRef,
  type PeerRows,
  type ReputationInMemory,
  type RowBatch,
  writePolicy,
} from './events.ts';
import type { ReportReducer } from './report-reducer.ts';

export interface Reducer extends ReputationInMemory {
  /** Counts votes that did not count because their account's budget was used up, since the start. */
  refusedVotes(): number;
  /** Grows with each rule added or removed: a list made before may hold an allowed address. */
  allowlistVersion(): number;
}

/** Rows and sweeps yield to other work after this time; the clock is read every few rows. */
const sliceMs = 3;
/** The turn in which an event comes has its commit and events before it in it, too. */
const firstSliceMs = 1;
const rowsPerSlice = 16;
const nodesPerSlice = 256;
/** A node that is taken back costs what a row costs, and may cost the encoding of a page. */
const removalsPerSlice = 16;

const allowTag = tagOf(contributionKinds.allow, 0);
const manualTag = tagOf(contributionKinds.manual, 0);

export function createReducer(options: {
  entries: Entries;
  sources: Sources;
  reports: ReportReducer;
  policy: PolicyKeeper;
  refusals: Refusals;
  /** Called with each report that stands, after it was applied. */
  onReport?: (event: AddedReport, at: number) => void;
}): Reducer {
  const { entries, sources, reports, policy, refusals, onReport } = options;
  const { contributions } = entries;
  const peers = createPeerReducer({ entries, reports, refusals });
  const words = new Uint32Array(4);
  let allowlistVersion = 0;

  /** Returns undefined when all rows fitted into one slice. */
  function addRows(ref: ListRef, rows: RowBatch, at: number): Promise<void> | undefined {
    const source = sources.current(ref);
    if (source === undefined) return undefined;
    const next = addSlice(ref, source, rows, 0, at, firstSliceMs);
    return next === rows.count ? undefined : addRest(ref, source, rows, next, at);
  }

  async function addRest(
    ref: ListRef,
    source: Source,
    rows: RowBatch,
    from: number,
    at: number,
  ): Promise<void> {
    while (from < rows.count) {
      await nextTurn();
      from = addSlice(ref, source, rows, from, at);
    }
  }

  /** Adds rows until the slice ends. @returns the first row that is left */
  function addSlice(
    ref: ListRef,
    source: Source,
    rows: RowBatch,
    from: number,
    at: number,
    lastsMs = sliceMs,
  ): number {
    const sliceEnd = performance.now() + lastsMs;
    const kind = contributionKinds[ref.list];
    const tag = tagOf(kind, source.number);
    for (let i = from; i < rows.count; i++) {
      // A row may cost the encoding of a whole page, while a checkpoint is under way.
      if (i % rowsPerSlice === 0 && i > from && performance.now() > sliceEnd) return i;
      for (let word = 0; word < 4; word++) words[word] = rows.words[4 * i + word]!;
      const entry = entries.claim(rows.families[i] === 4 ? 4 : 6, words, rows.lengths[i]!);
      if (entry === 0) {
        refusals.count('rows');
        continue;
      }
      const score = kind === contributionKinds.seed ? rows.scores[i]! : 0;
      const count = Math.max(1, rows.reports?.[i] ?? 1);
      if (!putRow(entry, tag, source.generation, { score, count, at })) refusals.count('rows');
      if (kind === contributionKinds.seed) entries.reviewPeers(entry, at);
      entries.settle(entry);
    }
    return rows.count;
  }

  /** Adds a row; one that stands twice in a run keeps its higher score. */
  function putRow(
    entry: number,
    tag: number,
    generation: number,
    { score, count, at }: { score: number; count: number; at: number },
  ): boolean {
    const node = contributions.find(entry, tag);
    if (node === 0) {
      const added = contributions.add(entry, tag);
      if (added === 0) return false;
      contributions.listed[added] = (generation << 8) | score;
      contributions.newest[added] = Math.floor(at / 1_000);
      setReports(added, count);
      if (kindOf(tag) === contributionKinds.seed) reports.confirmedByList(entry, at);
      return true;
    }
    const before = contributions.listed[node]!;
    const isRepeated = before >>> 8 === generation;
    const kept = isRepeated ? Math.max(score, before & 0xff) : score;
    contributions.listed[node] = (generation << 8) | kept;
    if (kept !== (before & 0xff) || contributions.newest[node] === 0) {
      contributions.newest[node] = Math.floor(at / 1_000);
    }
    if (!isRepeated || count - 1 > contributions.detail[node]!) setReports(node, count);
    return true;
  }

  /** Writes only a change: a field that stays 0 costs no memory. */
  function setReports(node: number, count: number): void {
    if (contributions.detail[node] !== count - 1) contributions.detail[node] = count - 1;
  }

  /** Takes back a source's rows: those of earlier generations, or all of them. */
  async function sweep(
    list: ListRef['list'],
    sourceNumber: number,
    keep: number | undefined,
  ): Promise<void> {
    const tag = tagOf(contributionKinds[list], sourceNumber);
    const { owner, tag: tags, listed } = contributions;
    // A slice's duration has no influence on the result: no other event comes in between.
    const scheduler = createScheduler();
    let removed = 0;
    await scheduler.yield();
    for (let node = 1; node <= contributions.highest(); node++) {
      if (node % nodesPerSlice === 0 && scheduler.shouldYield()) await scheduler.yield();
      const entry = owner[node]!;
      if (entry === 0 || tags[node] !== tag || listed[node]! >>> 8 === keep) continue;
      entries.touch(entry);
      contributions.remove(node);
      entries.settle(entry);
      if (++removed % removalsPerSlice === 0 && scheduler.shouldYield()) await scheduler.yield();
    }
  }

  /** Counts the rules of a group once all of them are there, or gone. */
  function noteRules({ list }: ListRef): void {
    if (list === 'allow') allowlistVersion++;
  }

  /** Removes the contribution `tag` of exactly this prefix. */
  function forget({ family, words, length }: IndexPrefix, tag: number): void {
    const entry = entries.get(family, words, length);
    const node = entry === 0 ? 0 : contributions.find(entry, tag);
    if (node === 0) return;
    entries.touch(entry);
    contributions.remove(node);
    entries.settle(entry);
  }

  /** Sets the policy and computes the ceiling of every reported entry again. */
  async function changePolicy(next: Policy): Promise<void> {
    policy.set(next);
    const { owner, tag: tags } = contributions;
    const scheduler = createScheduler();
    for (let node = 1; node <= contributions.highest(); node++) {
      if (node % nodesPerSlice === 0 && scheduler.shouldYield()) await scheduler.yield();
      const entry = owner[node]!;
      if (entry === 0) continue;
      if (kindOf(tags[node]!) === contributionKinds.rise && !next.isRising) entries.sink(node);
      if (!hasVote(tags[node]!)) continue;
      entries.touch(entry);
      entries.settle(entry);
    }
  }

  return {
    beginList: sources.begin,
    addRows,
    endList(ref, at) {
      const source = sources.end(ref, at);
      return source && sweep(ref.list, source.number, source.generation).then(() => noteRules(ref));
    },
    expireList(ref, at) {
      // A load that ended after this was decided has prolonged it.
      const source = sources.overdue(ref, at);
      if (source === undefined) return undefined;
      return sweep(ref.list, source.number, undefined).then(() => {
        sources.forget(ref);
        noteRules(ref);
      });
    },
    allow({ family, words, length }) {
      allowlistVersion++;
      const entry = entries.claim(family, words, length);
      if (entry === 0) return refusals.count('rules');
      if (contributions.find(entry, allowTag) === 0 && contributions.add(entry, allowTag) === 0) {
        refusals.count('rules');
      }
      entries.settle(entry);
    },
    disallow(prefix) {
      allowlistVersion++;
      forget(prefix, allowTag);
    },
    setEntry({ family, words, length, score, category, setSecond, endSecond }, at) {
      const entry = entries.claim(family, words, length);
      const before = entry === 0 ? 0 : contributions.find(entry, manualTag);
      const node = entry === 0 ? 0 : before || contributions.add(entry, manualTag);
      if (node === 0) refusals.count('rules');
      else {
        contributions.listed[node] = (category << 8) | score;
        contributions.newest[node] = setSecond;
        contributions.detail[node] = endSecond;
        // A manual entry confirms reports as a list does.
        if (before === 0) reports.confirmedByList(entry, at);
        entries.reviewPeers(entry, at);
      }
      if (entry !== 0) entries.settle(entry);
    },
    removeEntry(prefix) {
      forget(prefix, manualTag);
      entries.updateManualTime();
    },
    addReport(report, at) {
      if (reports.add(report, at)) onReport?.(report, at);
    },
    withdrawReports: reports.withdraw,
    expireReports: reports.expire,
    changePolicy,
    setPeer: peers.setPeer,
    changePeerRows: peers.changePeerRows,
    clearPeer: peers.clearPeer,
    refusedVotes: reports.refusedVotes,
    allowlistVersion: () => allowlistVersion,
  };
}

/**
 * Does what the events about peers say, servers of other owners. A row on an allowed or known-good address leaves
 * nothing, and one that is taken back leaves what the others make: votes/peer-votes.ts.
 */
function createPeerReducer(options: {
  entries: Entries;
  reports: Pick<ReportReducer, 'isImmune'>;
  refusals: Refusals;
}) {
  const { entries, reports, refusals } = options;
  const { contributions } = entries;

  /** Calls back for each entry that a peer names, in slices. */
  async function forEachOf(peer: number, change: (entry: number, node: number) => void) {
    const tag = tagOf(contributionKinds.peer, peer);
    const { owner, tag: tags } = contributions;
    const scheduler = createScheduler();
    for (let node = 1; node <= contributions.highest(); node++) {
      if (node % nodesPerSlice === 0 && scheduler.shouldYield()) await scheduler.yield();
      const entry = owner[node]!;
      if (entry === 0 || tags[node] !== tag) continue;
      entries.touch(entry);
      change(entry, node);
    }
  }

  /** Sets the terms of a peer, and recomputes the entries that it names. */
  function setPeer(terms: PeerTerms, at: number): void | Promise<void> {
    const before = entries.peers.get(terms.peer);
    entries.peers.set(terms);
    if (before === undefined) return undefined;
    const { quarters, group, isOwn } = terms;
    const isSame = before.group === group && before.isOwn === isOwn;
    if (isSame && before.quarters === quarters) return undefined;
    const isRaised = isSame && before.quarters < quarters && before.quarters > 0;
    const after: SettleAfter = isRaised
      ? { kind: 'report', nowHalfLives: halfLivesAt(at) }
      : { kind: 'taking_back' };
    return forEachOf(terms.peer, (entry) => {
      entries.reviewPeers(entry, at);
      entries.settle(entry, after);
    });
  }

  function changePeerRows(change: PeerRows, at: number): void | Promise<void> {
    if (entries.peers.get(change.peer) === undefined) return undefined;
    const next = applyPeerSlice(change, 0, at, firstSliceMs);
    if (next < change.added.length + change.removed.length)
      return applyRemainingPeerRows(change, next, at);
    return undefined;
  }

  async function applyRemainingPeerRows(change: PeerRows, from: number, at: number): Promise<void> {
    while (from < change.added.length + change.removed.length) {
      await nextTurn();
      from = applyPeerSlice(change, from, at);
    }
  }

  /** Takes rows back, then adds some, until the slice is over. @returns the first that is left */
  function applyPeerSlice(
    { peer, seq, added, removed }: PeerRows,
    from: number,
    at: number,
    lastsMs = sliceMs,
  ): number {
    const sliceEnd = performance.now() + lastsMs;
    for (let i = from; i < removed.length + added.length; i++) {
      if (i % rowsPerSlice === 0 && i > from && performance.now() > sliceEnd) return i;
      if (i < removed.length) takePeerRow(removed.at(i)!, peer);
      else putPeerRow(added.at(i - removed.length)!, peer, { at, isFirstLoad: seq === 0 });
    }
    return removed.length + added.length;
  }

  function putPeerRow(
    row: PeerRow,
    peer: number,
    when: { readonly at: number; readonly isFirstLoad: boolean },
  ): void {
    const { at } = when;
    const { family, words: address, length } = row;
    // Neither evidence nor a vote: nothing is kept.
    if (reports.isImmune(family, address)) return;
    const entry = entries.claim(family, address, length);
    if (entry === 0) {
      refusals.count('rows');
      return;
    }
    if (contributions.first(entry) === 0 && !entries.hasRoomForPeers()) {
      refusals.count('rows');
      entries.settle(entry);
      return;
    }
    if (entries.peers.put(entry, peer, row, when) === 0) {
      refusals.count('rows');
      entries.settle(entry);
      return;
    }
    entries.reviewPeers(entry, at);
    entries.settle(entry, { kind: 'report', nowHalfLives: halfLivesAt(at) });
  }

  /** Its vote stays charged: else one budget would lift address after address for a day each. */
  function takePeerRow({ family, words: address, length }: IndexPrefix, peer: number) {
    const entry = entries.get(family, address, length);
    const node = entry && contributions.find(entry, tagOf(contributionKinds.peer, peer));
    if (node === 0) return;
    entries.touch(entry);
    contributions.remove(node);
    entries.settle(entry, { kind: 'taking_back' });
  }

  async function clearPeer(peer: number): Promise<void> {
    await forEachOf(peer, (entry, node) => {
      contributions.remove(node);
      entries.settle(entry, { kind: 'taking_back' });
    });
    entries.peers.forget(peer);
  }

  return { setPeer, changePeerRows, clearPeer };
}

export type PolicyKeeper = ReturnType<typeof createPolicyKeeper>;

/**
 * Keeps the policy of votes, as the journal last said it, in the header of the checkpoint.
 * @param touch called before anything changes, for the checkpoint
 */
export function createPolicyKeeper(touch: () => void) {
  let policy = defaultPolicy;

  function get(): Policy {
    return policy;
  }

  function set(next: Policy): void {
    touch();
    policy = next;
  }

  function encode(out: Writer): void {
    writePolicy(out, policy);
  }

  function load(input: Reader): void {
    policy = decodePolicy(input);
  }

  return { get, set, encode, load };
}
