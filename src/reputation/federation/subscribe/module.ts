/**
 * Polls the peers of this server: when a peer is due it is read, judged (compare.ts), and its rows are applied. Off
 * until the first `peer add`: before that it only looks at the store, and has no timer and no figure.
 *
 * Invariants: rows become events of the journal, and the peer's position is in one commit with the last of them.
 * After an interruption the same rows are read again, which changes nothing. New rows that look like a mistake or an
 * attack wait for the operator; rows that the peer removes are removed meanwhile. Each commit checks the peer's row,
 * so nothing is written for a peer that was removed during the poll. Every poll compares the peers' terms in the
 * journal with their present ones: when a peer is no longer new, or its head has expired, an event says so to all
 * nodes.
 *
 * Bounds: two quick polls and two slow ones run at a time, so slow peers hold up no other; a slow one ends when a
 * further peer waits. A peer is polled every five minutes, after failures at most every hour, and never sooner than
 * it asks for.
 */

import { isDeepStrictEqual } from 'node:util';
import type { Config } from '../../../config.ts';
import type { CatchUpTo } from '../../../contracts/reputation.ts';
import type { Clock } from '../../../core/clock.ts';
import { OperatorError } from '../../../core/errors.ts';
import { every, type Loop, type Run } from '../../../core/every.ts';
import type { Log } from '../../../core/log.ts';
import type { Metrics } from '../../../core/metrics.ts';
import type { Random } from '../../../core/random.ts';
import { fail, ok } from '../../../core/result.ts';
import { backgroundScheduler, createJobs } from '../../../core/scheduling.ts';
import { dayMs, hourMs, lastHour32, minuteMs } from '../../../core/time.ts';
import type { IpIndex } from '../../../index/ip-index.ts';
import { retryOnConflict } from '../../../storage/change.ts';
import { createEventId } from '../../../storage/journal/define-event.ts';
import { LeaseLostError, type Maintenance } from '../../../storage/maintenance.ts';
import type { NewEvent, SetRow, Store } from '../../../storage/store.ts';
import { BusyServerError } from '../../lists/import/download.ts';
import { contributionKinds, tagOf } from '../../state/contributions.ts';
import type { Entries } from '../../state/entries.ts';
import {
  peerCleared,
  peerRows,
  peerRowsPerEventMax,
  peerSet,
  type RowSequence,
} from '../../state/events.ts';
import { type PeerRow, type PeerTerms, peersMax } from '../../votes/peer-votes.ts';
import type { Policy } from '../../votes/quorum.ts';
import { type FederationHead, faultOfHead, headFaults } from '../document/head.ts';
import type { SigningKey } from '../document/key.ts';
import {
  type AddressRef,
  addressAt,
  chainStart,
  createRowList,
  newAddress,
  noFacts,
  rowCount,
  wordAt,
} from '../document/segment.ts';
import {
  countsOf,
  createJudge,
  type FoundRows,
  findLeaders,
  stepInSlices,
  votesByPeer,
} from './compare.ts';
import {
  type FetchOptions,
  type KnownHead,
  openPeerReader,
  PeerFault,
  type ReadSegment,
} from './fetch.ts';
import { acceptedOf, type HeldRows, type NoticeKind, notePeer, sendNotices } from './notices.ts';
import {
  changePeer,
  cursorRow,
  type HoldReason,
  keyOfPeer,
  listPeers,
  type PeerCursor,
  peerNameOf,
  readCursor,
  readPeer,
  type StoredPeer,
  termsOf,
} from './peers.ts';

const everyMs = 5 * minuteMs;
const retryMsMin = minuteMs;
const retryMsMax = hourMs;
const jitter = 0.1;
/** A look that found nothing new is written so often: a durable write costs as much as the look. */
const notedMs = 30 * minuteMs;
const pollsMax = 4;
/** Polls at a time that have not taken `slowMs` yet. */
const quickPollsMax = 2;
const slowMs = 30_000;
const eventsPerCommit = 10;
interface PollOptions {
  readonly store: Store;
  readonly isMine: () => boolean;
  readonly entries: Entries;
  readonly index: IpIndex;
  readonly policy: () => Policy;
  readonly catchUpTo: CatchUpTo;
  readonly allowPrivate: boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Returns the key that signs this server's requests, undefined before it has one. */
  readonly signer: () => Promise<SigningKey | undefined>;
  /** Tells operators what of a peer they should know. */
  readonly onNotice?: ((peer: StoredPeer, kind: NoticeKind) => void) | undefined;
  readonly destinations?: FetchOptions['destinations'];
}

interface Begun {
  /** Time of the monotonic clock. */
  readonly atMs: number;
  /** Failures in a row before this poll. */
  readonly failures: number;
  /** Ends its reading. */
  readonly reading: AbortController;
}

export function createPeerPoller(options: PollOptions) {
  const { store, entries, clock, random, log } = options;
  const jobs = createJobs<number>(pollsMax, (error) => {
    if (!(error instanceof LeaseLostError)) log.warn({ err: error }, 'peers: not polled');
  });
  const { signal } = jobs;
  /** The polls under way, by the peer's number. */
  const begun = new Map<number, Begun>();
  /** The day and the peers for which it is known who follows whom: a number may be given again. */
  let mirrorsOf = '';

  /** The heads that were read last, by the peer's number: most looks find the same one. */
  const heads = new Map<number, KnownHead & Pick<StoredPeer, 'key' | 'url'>>();
  /** The times at which peers are due whose last look found nothing new, and the stored ones that these stand for. */
  const unwritten = new Map<number, { readonly dueAt: number; readonly stored: number }>();

  const newEventId = () => createEventId(clock, random);
  const taker = createTaker(options, signal);
  const fraction = () => Buffer.from(random.bytes(4)).readUInt32BE() / 2 ** 32;

  /** Tells the journal what the peers are worth now, where that is news. */
  async function publishTerms(peers: readonly StoredPeer[]): Promise<void> {
    const events: NewEvent[] = [];
    const wanted = termsOf(peers, options.policy(), clock.now());
    for (const [number, terms] of wanted) {
      if (!isSameTerms(entries.peers.get(number), terms)) {
        events.push(peerSet.encode(newEventId(), terms));
      }
    }
    for (const number of entries.peers.numbers()) {
      if (!wanted.has(number)) events.push(peerCleared.encode(newEventId(), { peer: number }));
    }
    if (events.length > 0) await options.catchUpTo(await taker.commit(events));
  }

  /** Once a day: who follows whom. The next poll writes the groups that come of it. */
  async function findMirrors(peers: readonly StoredPeer[]): Promise<void> {
    const added = peers.map(({ addedAt }) => addedAt).join(' ');
    const asOf = `${Math.floor(clock.now() / dayMs)} ${added}`;
    if (peers.length < 2 || mirrorsOf === asOf) return;
    mirrorsOf = asOf;
    const followed = await findLeaders(entries, clock.now(), signal);
    for (const { number, follows } of peers) {
      const next = followed.get(number) ?? 0;
      if (next === follows) continue;
      await changePeer(store, number, () => ({ follows: next }));
      log.info({ peer: number, follows: next }, 'peers: whom a peer follows has changed');
    }
  }

  function readerOf(peer: StoredPeer, signer: SigningKey | undefined) {
    const { allowPrivate, destinations } = options;
    const own = begun.get(peer.number)?.reading.signal;
    return openPeerReader({
      url: peer.url,
      allowPrivate,
      signer,
      now: clock.now,
      signal: own === undefined ? signal : AbortSignal.any([signal, own]),
      scheduler: backgroundScheduler(),
      destinations,
    });
  }

  async function refresh(peer: StoredPeer): Promise<PeerChange> {
    const reader = readerOf(peer, await options.signer());
    const known = heads.get(peer.number);
    const isSameKey = known?.key === peer.key && known.url === peer.url;
    const read = await reader.head(() => keyOfPeer(peer), isSameKey ? known : undefined);
    heads.set(peer.number, { ...read, key: peer.key, url: peer.url });
    const { head } = read;
    const { headSeq: seq, headChain: chain, headMadeAt: madeAt } = peer;
    const before = madeAt === 0 ? undefined : { seq, chain, madeAt };
    const fault = faultOfHead(head, before, clock.now());
    if (fault === 'forked') return { ...headOf(head), ...otherHistory(peer, head) };
    if (fault !== undefined) throw new PeerFault(`its head is refused: ${headFaults[fault]}`);
    const change: PeerChange = { ...headOf(head), ...rotated(peer, head), freshAt: clock.now() };
    await options.catchUpTo(await store.lastSeq());
    const step = stepOf(peer, head, await readCursor(store, peer.number));
    switch (step.kind) {
      case 'nothing':
        return change;
      case 'other history':
        return { ...change, ...otherHistory(peer, head) };
      case 'release':
        return { ...change, ...released };
      case 'take back':
        return { ...change, ...(await taker.takeBackMeanwhile(peer, reader, head, step.cursor)) };
      case 'take':
        return { ...change, ...(await take(peer, reader, head, step)) };
    }
  }

  /** Takes what came since the start, by segments where they lead there, else by the snapshot. */
  async function take(
    peer: StoredPeer,
    reader: ReturnType<typeof readerOf>,
    head: FederationHead,
    { start, isFirst, cursor }: Extract<Step, { kind: 'take' }>,
  ): Promise<PeerChange> {
    const accepted = await acceptedOf(store, peer);
    const { snapshot } = head;
    // The snapshot that was shown is read, though segments may lead there too: its hash alone was seen.
    const isShown = snapshot?.seq === accepted?.seq && snapshot?.sha256 === accepted?.hash;
    const isByShown = isShown && accepted !== undefined && (cursor?.seq ?? -1) < accepted.seq;
    const segments = !isByShown && start ? await reader.segments(head, start) : undefined;
    if (segments === undefined) {
      const taken = await taker.takeSnapshot(peer, reader, head, { former: cursor, accepted });
      return { ...released, ...taken };
    }
    // The rows that waited are those that the operator has seen.
    const seen = segments.find((one) => one.seq === cursor?.readSeq);
    if (seen !== undefined && seen.chain !== cursor?.readChain) return otherHistory(peer, head);
    const taken = await taker.takeSegments(peer, segments, { start: start!, isFirst, accepted });
    return { ...released, ...taken };
  }

  async function run(peer: StoredPeer): Promise<void> {
    let change: Partial<StoredPeer>;
    let waiting: HeldRows | undefined;
    let askedMs = 0;
    try {
      const { waiting: held, ...refreshed } = await refresh(peer);
      change = { failures: 0, failure: '', ...refreshed };
      waiting = held;
    } catch (error) {
      if (error instanceof PeerChangedError || error instanceof LeaseLostError) return;
      if (signal.aborted) return;
      if (!(error instanceof OperatorError))
        log.error({ err: error }, 'peers: a peer was not read');
      if (error instanceof BusyServerError) askedMs = Math.min(retryMsMax, error.waitMs);
      const isStrange = error instanceof PeerFault && error.isStrangeKey;
      const failure =
        error instanceof OperatorError ? error.message : 'an unexpected error, which the log has';
      change = {
        failures: peer.failures + 1,
        failure,
        ...(isStrange ? holdFields('strange key') : {}),
      };
    }
    // First what waits, then that it waits: nobody accepts what was not shown.
    if (waiting !== undefined) {
      const { count: heldCount, examples: heldExamples, seq: heldSeq, hash: heldHash } = waiting;
      const { hasChanged } = waiting;
      await notePeer(store, peer, { heldCount, heldExamples, heldSeq, heldHash, hasChanged });
    }
    const now = clock.now();
    const pause =
      change.failures === 0
        ? everyMs
        : Math.min(retryMsMax, retryMsMin * 2 ** Math.min(6, change.failures! - 1));
    const waitMs = Math.max(askedMs, Math.round(pause * (1 - jitter + 2 * jitter * fraction())));
    const dueAt = change.dueAt ?? now + waitMs;
    const isNoted = peer.dueAt !== 0 && now - peer.freshAt < notedMs;
    if (isNoted && isAsBefore(peer, change)) {
      unwritten.set(peer.number, { dueAt, stored: peer.dueAt });
      return;
    }
    const done = await changePeer(store, peer.number, (stored) => {
      // Another peer has the number meanwhile, or the operator asked for something else.
      const isSame = (['addedAt', 'key', 'headMadeAt'] as const).every(
        (field) => stored[field] === peer[field],
      );
      if (!isSame) return 'changed meanwhile';
      const isAccepted = stored.acceptedSeq !== peer.acceptedSeq;
      const { acceptedSeq } = stored;
      const kept = isAccepted ? { held: 'none' as const, acceptedSeq, dueAt: 0 } : {};
      // The operator asked for it meanwhile, too late for this poll: it stays due.
      const next = stored.dueAt === peer.dueAt ? dueAt : stored.dueAt;
      return { ...change, triedAt: now, dueAt: next, ...kept };
    });
    if (!done.ok) return;
    await note(peer, done.value, waiting);
    const peers = await listPeers(store);
    await publishTerms(peers);
    await notifyOperators(peers);
  }

  async function note(
    before: StoredPeer,
    peer: StoredPeer,
    waiting: HeldRows | undefined,
  ): Promise<void> {
    const facts = { peer: peer.number, name: peerNameOf(peer) };
    if (peer.held !== before.held && peer.held !== 'none') {
      const isStrange = peer.held === 'strange key';
      const isChanged = waiting?.hasChanged ?? false;
      const waits = isChanged ? 'what was accepted has changed and waits anew' : 'new rows wait';
      const why = isStrange ? 'a strange key signs' : `${waits} for the operator`;
      log.warn({ ...facts, reason: peer.held }, `peers: ${why}`);
    } else if (peer.failure !== '' && peer.failure !== before.failure) {
      log.warn({ ...facts, reason: peer.failure }, 'peers: a peer was not read');
    }
    if (peer.key !== before.key) {
      log.warn({ ...facts, reason: 'the old key signed a new one' }, 'peers: key changed');
      await notePeer(store, peer, { isRotated: true });
    }
  }

  /** Tells operators what is due; a hold, a key and a failure have lines of the log of their own. */
  function notifyOperators(peers: readonly StoredPeer[]): Promise<void> {
    const now = clock.now();
    return sendNotices(store, peers, {
      now,
      budgetOf: ({ number }) => entries.peers.budget(number, now),
      notify(peer, kind) {
        const facts = { peer: peer.number, name: peerNameOf(peer) };
        if (kind === 'stale') log.warn(facts, 'peers: a head has been over for a day');
        if (kind === 'budget') log.warn(facts, 'peers: 80 % of a budget are used');
        options.onNotice?.(peer, kind);
      },
    });
  }

  function dueAtOf({ number, dueAt }: StoredPeer): number {
    const later = unwritten.get(number);
    return later?.stored === dueAt ? later.dueAt : dueAt;
  }

  function forget(number: number): void {
    heads.delete(number);
    unwritten.delete(number);
  }

  /**
   * Takes the place of a poll that has taken long, for a peer that waits: of who failed most, then of the
   * longest.
   */
  function endSlowest(polls: readonly Begun[]): void {
    const [slowest] = [...polls].sort((a, b) => b.failures - a.failures || a.atMs - b.atMs);
    slowest?.reading.abort(new PeerFault('reading it takes long, and other peers wait'));
  }

  /** Begins what is due. @returns all peers as they are stored */
  async function poll(): Promise<readonly StoredPeer[]> {
    const peers = await listPeers(store);
    for (const number of [...heads.keys(), ...unwritten.keys()]) {
      if (!peers.some((one) => one.number === number)) forget(number);
    }
    if (!options.isMine() || signal.aborted) return peers;
    await findMirrors(peers);
    // Also while a long poll is under way: a peer that is paused counts nothing from now on.
    await publishTerms(peers);
    if (jobs.count() === 0) await notifyOperators(peers);
    const now = clock.now();
    const due = peers
      .filter((one) => one.state === 'active' && isDue(dueAtOf(one), now))
      .sort((a, b) => a.dueAt - b.dueAt);
    const isQuick = ({ atMs }: Begun) => clock.monotonicMs() - atMs < slowMs;
    for (const peer of due.filter(({ number }) => !begun.has(number))) {
      const { number, failures } = peer;
      const polls = [...begun.values()];
      if (polls.filter(isQuick).length >= quickPollsMax) break;
      if (jobs.isFull()) {
        endSlowest(polls.filter((one) => !isQuick(one)));
        break;
      }
      const reading = new AbortController();
      begun.set(number, { atMs: clock.monotonicMs(), failures, reading });
      if (!jobs.begin(number, () => run(peer).finally(() => begun.delete(number)))) {
        begun.delete(number);
      }
    }
    return peers;
  }

  return { poll, idle: jobs.idle, stop: jobs.stop };
}

/** Writes what was read of a peer, and judges it before. */
function createTaker(options: PollOptions, signal: AbortSignal) {
  const { store, entries, index, clock, random } = options;
  const admitRows = createJudge(options, signal);
  const newEventId = () => createEventId(clock, random);
  const inSlices = (count: number, step: (i: number) => void) =>
    stepInSlices(count, step, signal, backgroundScheduler());

  async function commit(events: readonly NewEvent[]) {
    const done = await store.commit({ events: [...events] });
    if (!done.ok) throw new Error(`a peer's rows were not written: ${done.error}`);
    return done.seq;
  }

  /** Writes what was read of a peer, unless it was removed or judged otherwise meanwhile: then nothing. */
  async function commitFor(
    peer: StoredPeer,
    events: readonly NewEvent[],
    set: readonly SetRow[] = [],
  ): Promise<void> {
    const done = await retryOnConflict(async () => {
      const found = await readPeer(store, peer.number);
      if (found === undefined || !isSamePeer(found.peer, peer)) throw new PeerChangedError();
      const written = await store.commit({ check: [found.check], set, events: [...events] });
      if (written.ok) return ok(written.seq);
      return written.error === 'check_failed' ? 'conflict' : fail('store_unavailable');
    });
    if (!done.ok) throw new Error(`a peer's rows were not written: ${done.error}`);
    await options.catchUpTo(done.value);
  }

  /** The rest of a hold is the operator's: rows behind the cursor wait, tombstones don't. */
  async function takeBackMeanwhile(
    peer: StoredPeer,
    reader: ReturnType<typeof openPeerReader>,
    head: FederationHead,
    cursor: PeerCursor,
  ): Promise<PeerChange> {
    const segments = await reader.segments(head, { seq: cursor.readSeq, chain: cursor.readChain });
    const removed =
      segments === undefined
        ? await missingIn(peer.number, await reader.snapshot(head, cursor.readSeq))
        : concatenate(segments.map((one) => one.removed));
    const read =
      segments === undefined
        ? { readSeq: head.snapshot!.seq, readChain: head.snapshot!.chain }
        : { readSeq: head.seq, readChain: head.chain };
    await writeRows(peer, head.seq, { removed }, { ...cursor, ...read });
    return {};
  }

  async function takeSegments(
    peer: StoredPeer,
    read: readonly ReadSegment[],
    { start, isFirst, accepted }: Reading & { start: { seq: number; chain: string } },
  ): Promise<PeerChange> {
    const segments = start.seq === 0 ? await withAbsent(peer.number, read) : read;
    let counts = countsOf(peer, clock.now());
    let at = start;
    const isUnseen = isFirst && accepted === undefined;
    const isWaiting = accepted !== undefined && accepted.seq > start.seq;
    // The chain says all that came before it.
    const isAsShown =
      isWaiting && segments.find(({ seq }) => seq === accepted.seq)?.chain === accepted.hash;
    for (const [i, segment] of segments.entries()) {
      const { seq, chain } = segment;
      const isAccepted = isUnseen || (isAsShown && seq <= accepted.seq);
      const judged = await admitRows(peer, counts, segment.added, isAccepted);
      if (judged.reason !== 'none') {
        const removed = concatenate(segments.slice(i).map((one) => one.removed));
        const end = segments.at(-1)!;
        const cursor = { ...at, readSeq: end.seq, readChain: end.chain };
        await writeRows(peer, end.seq, { removed }, cursor);
        const hasChanged = isWaiting && !isAsShown;
        return { ...counts, ...waitFor(judged, { seq, hash: chain, hasChanged }) };
      }
      at = { seq, chain };
      counts = judged.counts;
      const cursor = { ...at, readSeq: at.seq, readChain: at.chain };
      const rows = { ...segment, taken: judged.taken };
      await writeRows(peer, isFirst ? 0 : seq, rows, cursor);
    }
    return counts;
  }

  /** Takes back what all segments from the first on do not say: it comes of another history, or of a backup. */
  async function withAbsent(peer: number, segments: readonly ReadSegment[]) {
    const [first, ...rest] = segments;
    if (first === undefined) return segments;
    const gone = await missingIn(peer, concatenate(segments.map(({ added }) => added)));
    return [{ ...first, removed: concatenate([gone, first.removed]) }, ...rest];
  }

  async function takeSnapshot(
    peer: StoredPeer,
    reader: ReturnType<typeof openPeerReader>,
    head: FederationHead,
    { former, accepted }: Reading & { former: PeerCursor | undefined },
  ): Promise<PeerChange> {
    const isFirst = former === undefined;
    const rows = await reader.snapshot(head, former?.seq);
    const { seq, chain, sha256: hash } = head.snapshot!;
    const removed = await missingIn(peer.number, rows);
    const counts = countsOf(peer, clock.now());
    // No chain says what a snapshot holds: the operator's word is good for the bytes that were shown.
    const isAsShown = accepted?.seq === seq && accepted.hash === hash;
    const isUnseen = isFirst && accepted === undefined;
    const judged = await admitRows(peer, counts, rows, isUnseen || isAsShown);
    const read = { readSeq: seq, readChain: chain };
    if (judged.reason !== 'none') {
      const cursor = former ?? nothingRead;
      await writeRows(peer, seq, { removed }, { ...cursor, ...read });
      const hasChanged = accepted !== undefined && accepted.seq > cursor.seq;
      return { ...counts, ...waitFor(judged, { seq, hash, hasChanged }) };
    }
    // The newest rows of a first load get budget first.
    const taken = await newestFirst(rows, judged.taken);
    const change = { added: rows, taken, removed };
    await writeRows(peer, isFirst ? 0 : seq, change, { seq, chain, ...read });
    // The segments behind a first one come at once. Later ones wait: a peer could name snapshots without end.
    const isDueAtOnce = isFirst && seq < head.seq;
    return { ...judged.counts, ...(isDueAtOnce ? { dueAt: 0 } : {}) };
  }

  /** Sorts by day, in slices: a whole sort would hold up everybody. */
  async function newestFirst(rows: Uint32Array, taken: Uint32Array): Promise<Uint32Array> {
    const dayOf = (i: number) => Math.floor(wordAt(rows, taken[i]!, 'lastHour') / 24);
    /** The offset of the next row of each day, counted from the newest on. */
    const offsets = new Uint32Array(Math.floor(lastHour32 / 24) + 2);
    const last = offsets.length - 2;
    await inSlices(taken.length, (i) => offsets[last - dayOf(i) + 1]!++);
    for (let day = 1; day < offsets.length; day++) offsets[day]! += offsets[day - 1]!;
    const sorted = new Uint32Array(taken.length);
    await inSlices(taken.length, (i) => {
      sorted[offsets[last - dayOf(i)]!++] = taken[i]!;
    });
    return sorted;
  }

  /**
   * Writes rows as events, a bounded commit at a time, the last one with the cursor. What is cut short is written
   * once more, which changes nothing.
   */
  async function writeRows(
    peer: StoredPeer,
    seq: number,
    change: RowChange,
    cursor: PeerCursor,
  ): Promise<void> {
    const { number } = peer;
    const { added = none, taken = none } = change;
    let events: NewEvent[] = [];
    const removed = await heldByPeer(number, change.removed);
    const [size, less] = [peerRowsPerEventMax, rowCount(removed)];
    const scheduler = backgroundScheduler();
    for (let from = 0; from < less + taken.length; from += size) {
      const gone = addressesAt(removed, from, Math.min(less, from + size));
      const first = Math.max(0, from - less);
      const more = taken.subarray(first, Math.max(0, from + size - less));
      const rows = { added: rowsAt(added, more), removed: gone };
      events.push(peerRows.encode(newEventId(), { peer: number, seq, ...rows }));
      if (events.length === eventsPerCommit) {
        await commitFor(peer, events);
        events = [];
      }
      if (scheduler.shouldYield()) await scheduler.yield();
      signal.throwIfAborted();
    }
    await commitFor(peer, events, [cursorRow(number, cursor)]);
  }

  /** Returns those that the peer says here: tombstones of rows it never had would be written without end. */
  async function heldByPeer(peer: number, gone: Uint32Array): Promise<Uint32Array> {
    const tag = tagOf(contributionKinds.peer, peer);
    const found = createRowList();
    await inSlices(rowCount(gone), (i) => {
      if (nodeAt(gone, i, tag) !== 0) found.copy(gone, i);
    });
    return found.finish();
  }

  const address = newAddress();
  function nodeAt(rows: Uint32Array, row: number, tag: number): number {
    const { family, words, length } = addressAt(rows, row, address);
    const entry = entries.get(family, words, length);
    return entry === 0 ? 0 : entries.contributions.find(entry, tag);
  }

  /** Returns what a peer says here and is not among these rows. */
  async function missingIn(peer: number, rows: Uint32Array): Promise<Uint32Array> {
    const tag = tagOf(contributionKinds.peer, peer);
    const { contributions } = entries;
    const isNamed = new Uint8Array(1 + contributions.highest());
    await inSlices(rowCount(rows), (i) => {
      isNamed[nodeAt(rows, i, tag)] = 1;
    });
    const found = createRowList();
    await inSlices(isNamed.length - 1, (i) => {
      const node = i + 1;
      const entry = contributions.owner[node]!;
      if (entry === 0 || contributions.tag[node] !== tag || isNamed[node] !== 0) return;
      found.add(index.prefixOf(entry)!, noFacts);
    });
    return found.finish();
  }

  return { commit, takeBackMeanwhile, takeSegments, takeSnapshot };
}

/**
 * The way of reading a peer's rows: as the first ones, or with what the operator has accepted of those that
 * waited.
 */
interface Reading {
  readonly isFirst?: boolean;
  readonly accepted: { readonly seq: number; readonly hash: string } | undefined;
}

function waitFor(
  { reason, waiting }: { readonly reason: HoldReason; readonly waiting?: FoundRows },
  of: Pick<HeldRows, 'seq' | 'hash' | 'hasChanged'>,
): PeerChange {
  return { ...holdFields(reason), waiting: { count: 0, examples: [], ...waiting, ...of } };
}

/** The part of another history that is read first stands for it: its snapshot, or without one its segments. */
function otherHistory(peer: StoredPeer, { seq, chain, snapshot }: FederationHead): PeerChange {
  const hasChanged = peer.acceptedSeq !== 0;
  const first = { seq: snapshot?.seq ?? seq, hash: snapshot?.sha256 ?? chain };
  return { acceptedSeq: 0, ...waitFor({ reason: 'two histories' }, { ...first, hasChanged }) };
}

const nothingRead: PeerCursor = { seq: 0, chain: chainStart, readSeq: 0, readChain: chainStart };
/** The change of a peer whose rows wait no longer. */
const released: Partial<StoredPeer> = { held: 'none', acceptedSeq: 0 };

/** Says what a poll does once it has read a good head of the peer. */
type Step =
  /** Nothing new came, or a strange key signs: only the operator knows whose it was. */
  | { readonly kind: 'nothing' }
  /** All of it is taken: nothing waits any more. */
  | { readonly kind: 'release' }
  /** The peer is where we are, and came there another way. */
  | { readonly kind: 'other history' }
  /** Rows wait for the operator: meanwhile only what the peer has withdrawn is taken. */
  | { readonly kind: 'take back'; readonly cursor: PeerCursor }
  /** New rows are taken from `start` on; undefined: only the snapshot leads there. */
  | {
      readonly kind: 'take';
      readonly start: { readonly seq: number; readonly chain: string } | undefined;
      readonly isFirst: boolean;
      readonly cursor: PeerCursor | undefined;
    };

/** @param found how far the peer was read; rows go on waiting where a backup, or another history, left none */
function stepOf(peer: StoredPeer, head: FederationHead, found: PeerCursor | undefined): Step {
  if (peer.held === 'strange key') return { kind: 'nothing' };
  if (peer.held !== 'none') {
    const cursor = found ?? nothingRead;
    return head.seq === cursor.readSeq ? { kind: 'nothing' } : { kind: 'take back', cursor };
  }
  if (found === undefined) {
    const isFirst = head.snapshot === undefined;
    const start = isFirst ? { seq: 0, chain: chainStart } : undefined;
    return { kind: 'take', start, isFirst, cursor: found };
  }
  const { seq, chain } = found;
  if (seq !== head.seq)
    return { kind: 'take', start: { seq, chain }, isFirst: false, cursor: found };
  return { kind: chain === head.chain ? 'release' : 'other history' };
}

/** The change of a peer's row that a poll makes, and rows that wait since then. */
type PeerChange = Partial<StoredPeer> & { readonly waiting?: HeldRows | undefined };

function headOf({ seq, chain, madeAt, endsAt }: FederationHead): Partial<StoredPeer> {
  return { headSeq: seq, headChain: chain, headMadeAt: madeAt, headEndsAt: endsAt };
}

function holdFields(held: HoldReason): Partial<StoredPeer> {
  return { held };
}

/** The key that signs from now on: the one that is pinned has signed the head that names it. */
function rotated({ key }: StoredPeer, { keys }: FederationHead): Partial<StoredPeer> {
  const next = keys[0]?.line;
  return next === undefined || next === key ? {} : { key: next };
}

/** A clock that was set back must not hold a peer up. */
function isDue(dueAt: number, now: number): boolean {
  return dueAt <= now || dueAt - now > 2 * retryMsMax;
}

/** The operator removed the peer, pinned another key, or decided on what was held, while it was read. */
class PeerChangedError extends Error {
  override readonly name = 'PeerChangedError';
}

function isSamePeer(stored: StoredPeer, read: StoredPeer): boolean {
  return (['addedAt', 'key', 'held', 'acceptedSeq', 'headMadeAt'] as const).every(
    (field) => stored[field] === read[field],
  );
}

/** Returns true where a look found nothing new. */
function isAsBefore(peer: StoredPeer, change: Partial<StoredPeer>): boolean {
  return isDeepStrictEqual({ ...peer, ...change, freshAt: peer.freshAt }, peer);
}

function isSameTerms(known: PeerTerms | undefined, terms: PeerTerms): boolean {
  return (
    known !== undefined &&
    known.quarters === terms.quarters &&
    known.group === terms.group &&
    known.isOwn === terms.isOwn &&
    known.budget === terms.budget
  );
}

/**
 * A change says which rows of `added` are written, in this order, and what goes; packed as document/segment.ts has
 * it.
 */
interface RowChange {
  readonly added?: Uint32Array;
  readonly taken?: Uint32Array;
  readonly removed: Uint32Array;
}

const none = new Uint32Array();

function concatenate(parts: readonly Uint32Array[]): Uint32Array {
  const whole = new Uint32Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

function addressesAt(rows: Uint32Array, from: number, to: number): RowSequence<AddressRef> {
  const address = newAddress();
  return { length: Math.max(0, to - from), at: (i) => addressAt(rows, from + i, address) };
}

function rowsAt(rows: Uint32Array, taken: Uint32Array): RowSequence<PeerRow> {
  const row = { ...newAddress(), firstHour: 0, lastHour: 0, categories: 0 };
  return {
    length: taken.length,
    at(i) {
      const from = taken[i]!;
      addressAt(rows, from, row);
      row.firstHour = wordAt(rows, from, 'firstHour');
      row.lastHour = wordAt(rows, from, 'lastHour');
      row.categories = wordAt(rows, from, 'categories');
      return row;
    },
  };
}

const pollMs = 2_000;

export async function openPeers(
  needs: Pick<PollOptions, 'clock' | 'random' | 'log' | 'signer' | 'onNotice'> & {
    readonly state: Pick<PollOptions, 'entries' | 'index' | 'policy'> & {
      readonly follower: { catchUpTo(seq: bigint): Promise<void> };
      onPeers(listener: () => void): void;
    };
    readonly maintenance: Maintenance;
    readonly config: Config;
  },
) {
  const { state, maintenance, clock, log, config } = needs;
  const { store } = maintenance;
  const { entries } = state;
  const poller = createPeerPoller({
    clock,
    random: needs.random,
    log,
    signer: needs.signer,
    onNotice: needs.onNotice,
    entries,
    index: state.index,
    policy: state.policy,
    store,
    isMine: maintenance.isMine,
    catchUpTo: state.follower.catchUpTo,
    allowPrivate: config.sourceAllowPrivate,
  });
  let peers: readonly StoredPeer[] = [];
  let loop: Loop | undefined;
  let votes: ReadonlyMap<number, number> = new Map();
  let votesAt = Number.NEGATIVE_INFINITY;

  async function poll({ signal }: Run): Promise<void> {
    if (store.writeState().available) peers = await poller.poll();
    if (peers.length === 0 || clock.monotonicMs() - votesAt < everyMs) return;
    votesAt = clock.monotonicMs();
    votes = await votesByPeer(entries, clock.now(), signal);
  }

  function begin(): void {
    loop ??= every(pollMs, poll, {
      isImmediate: true,
      onFailure: (err) => log.warn({ err }, 'peers: pass failed, will retry'),
    });
  }

  // The hint of a commit to a database comes without its events, and before they are applied. One may come
  // while peers are read.
  state.onPeers(begin);
  peers = await listPeers(store);
  if (peers.length > 0) begin();
  return {
    tables: [{ name: 'peers', used: () => peers.length, limit: peersMax }],
    metrics: (metrics: Metrics) =>
      registerMetrics(
        metrics,
        { entries, clock },
        () => peers,
        () => votes,
      ),
    async close() {
      state.onPeers(() => {});
      await loop?.stop();
      await poller.stop();
    },
  };
}

function registerMetrics(
  metrics: Metrics,
  { entries, clock }: { readonly entries: Entries; readonly clock: Clock },
  read: () => readonly StoredPeer[],
  votes: () => ReadonlyMap<number, number>,
): void {
  const gauge = (name: string, help: string, of: (peer: StoredPeer) => number) =>
    metrics.gaugeBy(`portcullis_peer_${name}`, help, 'peer', () =>
      read().map((peer): [string, number] => [String(peer.number), of(peer)]),
    );
  const budget = ({ number }: StoredPeer) => entries.peers.budget(number, clock.now());
  gauge('rows', 'Addresses that a peer names.', ({ number }) =>
    entries.contributions.ofPeer(number),
  );
  gauge(
    'votes',
    'Addresses that a peer names with a vote of its own, as of the last five minutes.',
    ({ number }) => votes().get(number) ?? 0,
  );
  gauge('open', 'Votes of a peer that are open.', (peer) => budget(peer)?.open ?? 0);
  gauge('held', 'Whether new rows of a peer wait for the operator.', ({ held }) =>
    held === 'none' ? 0 : 1,
  );
  gauge('head_age_seconds', 'Age of the head that a peer signed last.', ({ headMadeAt }) =>
    headMadeAt === 0 ? 0 : Math.max(0, (clock.now() - headMadeAt) / 1_000),
  );
  const counter = (name: string, help: string, of: (peer: StoredPeer) => number) =>
    metrics.counterBy(`portcullis_peer_${name}_total`, help, ['peer'], () =>
      read().map((peer) => [{ peer: String(peer.number) }, of(peer)] as const),
    );
  counter(
    'refused',
    'Votes of a peer that its budget did not allow, ever.',
    (peer) => budget(peer)?.refused ?? 0,
  );
  counter(
    'confirmed',
    'Rows of a peer that ours confirmed, ever.',
    (peer) => budget(peer)?.confirmed ?? 0,
  );
  counter(
    'known_good',
    'Rows of a peer on allowed or known-good addresses, ever.',
    ({ goodEver }) => goodEver,
  );
}
