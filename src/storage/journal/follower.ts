/**
 * The only way from the journal into memory: events are applied in order, without gaps, each once. Events that this
 * process commits to a store of its own arrive with the commit and are not read back. Applying runs in slices of a
 * few milliseconds, so that requests are answered in between.
 *
 * If applying throws, if there is a gap, or if the journal was pruned, the follower stops for good and logs it: a
 * state that skipped an event would differ from every other node's. If the store can't be reached, the follower tries
 * again: a late state is still right. An event of a newer program is no failure either: the state stays as it was
 * before that event, and still answers.
 */

import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';
import { missingEvent } from '../rows.ts';
import { type Store, type StoreEvent, StoreUnavailableError, storeLimits } from '../store.ts';

export interface FollowerOptions {
  readonly store: Pick<Store, 'read' | 'onJournalGrowth'>;
  /**
   * A pure function of the state so far and the event. A promise means that the work goes on
   * in slices; the next event waits for it.
   */
  readonly apply: (event: StoreEvent) => void | Promise<void>;
  /** Seq of the last event that the state holds already: 0n at the very beginning. */
  readonly from: bigint;
  /** The time of that event, when it is known: a journal that has another one there is another journal. */
  readonly fromAt?: number | undefined;
  readonly log: Log;
  readonly clock: Clock;
  /** Milliseconds between reads of the journal without a hint; undefined if every commit gives a hint. */
  readonly pollMs?: number | undefined;
  /** The least time between reads, except when the journal is far ahead or somebody waits for an event. */
  readonly readIntervalMs?: number | undefined;
  /** Time on the event loop before others get a turn. */
  readonly sliceMs?: number;
  /**
   * Returns why this version can't read an event, undefined if it can. The follower stops before it, with a
   * valid state.
   */
  readonly tooNew?: ((event: StoreEvent) => string | undefined) | undefined;
  /** Called once when the follower has failed: the process should not go on serving. */
  readonly onFailure?: (error: unknown) => void;
}

const pageEvents = storeLimits.readLimitMax;
/** A read takes milliseconds. */
const silentMs = 3_000;
/** The pause before a failed read is tried again, if nothing else triggers it. */
const retryMs = 200;
/**
 * The least distance of reads where each is a query, milliseconds: a node costs the database at most 200
 * queries a second, however many commits there are.
 */
export const queryIntervalMs = 5;
/** Milliseconds between reads of a shared journal: a hint of another node's commit may be lost. */
export const journalPollMs = 200;
/** Events that came with commits and wait to be applied; beyond it they are read from the journal. */
const committedMax = 10_000;
/**
 * A page with fewer events is what has just been written. A page of the store holds as many rows, each with one event
 * or more.
 */
const aheadEvents = 100;
/** More requests than can be in flight; a bound all the same. */
const waitersMax = 100_000;

interface Waiter {
  readonly seq: bigint;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

export function createFollower({
  store,
  apply,
  from,
  fromAt,
  log,
  clock,
  pollMs,
  readIntervalMs = 0,
  sliceMs = 4,
  tooNew,
  onFailure,
}: FollowerOptions) {
  let applied = from;
  let appliedAt = fromAt;
  let phase: 'new' | 'following' | 'stopped' | 'tooOld' | 'failed' = 'new';
  let running: Promise<void> | undefined;
  /** The time of the first failed read since the last one that succeeded. */
  let awaySinceMs: number | undefined;
  /** Set while a run is under way: there may be more than it has read. */
  let again = false;
  /** Events that came with their commits, without gaps. */
  let committed: StoreEvent[] = [];
  /** True if the journal must be read: at the start, and when events came with a gap or without a hint's events. */
  let mustRead = true;
  let timer: NodeJS.Timeout | undefined;
  /** Set while a hint waits until the next read may be. */
  let readTimer: NodeJS.Timeout | undefined;
  let readAtMs = Number.NEGATIVE_INFINITY;
  let isReading = false;
  let unsubscribe: (() => void) | undefined;
  let waiters: Waiter[] = [];

  function isFollowing(): boolean {
    return phase === 'following';
  }

  function wake(): void {
    mustRead = true;
    proceed();
  }

  function proceed(): void {
    if (!isFollowing()) return;
    again = true;
    running ??= run();
  }

  function onJournalGrowth(events?: readonly StoreEvent[]): void {
    if (events === undefined) {
      wakeInTime();
      return;
    }
    const last = committed.at(-1)?.seq;
    const isNext = last === undefined || events[0]?.seq === last + 1n;
    if (isNext && committed.length + events.length <= committedMax) committed.push(...events);
    else {
      committed = [];
      mustRead = true;
    }
    proceed();
  }

  /** Takes the events that came with commits, when the next one is among them. */
  function takeCommitted(): StoreEvent[] {
    const next = committed.findIndex(({ seq }) => seq === applied + 1n);
    const taken = next < 0 ? [] : committed.slice(next);
    const hasGap = next < 0 && committed.some(({ seq }) => seq > applied);
    committed = [];
    if (hasGap) mustRead = true;
    return taken;
  }

  /** There may be more, and nobody waits for it. */
  function wakeInTime(): void {
    const waitMs = readAtMs + readIntervalMs - clock.monotonicMs();
    if (waitMs <= 0) wake();
    else if (isFollowing()) readTimer ??= setTimeout(wake, Math.ceil(waitMs)).unref();
  }

  async function run(): Promise<void> {
    clearTimeout(timer);
    try {
      while (again && isFollowing()) {
        again = false;
        await applyPages();
      }
    } catch (error) {
      failWith(error);
    }
    // In the same turn as the last look at `again`, so that no wake-up falls between.
    running = undefined;
    if (!isFollowing()) return;
    if (pollMs === undefined && awaySinceMs === undefined) return;
    timer = setTimeout(wake, pollMs ?? retryMs);
    timer.unref();
  }

  async function applyPages(): Promise<void> {
    while (isFollowing()) {
      const page = takeCommitted();
      if (page.length === 0) break;
      await applyPage(page);
    }
    if (!mustRead || !isFollowing()) return;
    mustRead = false;
    await applyRead();
  }

  async function applyRead(): Promise<void> {
    let page = await readPage(applied, appliedAt);
    while (isFollowing() && page !== undefined && page.length > 0) {
      const isAhead = page.length >= aheadEvents;
      // A query is on its way while the events before it are applied.
      const next =
        readIntervalMs > 0 && isAhead ? readPage(page.at(-1)!.seq, page.at(-1)!.at) : undefined;
      next?.catch(() => {});
      // Reading so much was a turn of its own.
      if (isAhead) await new Promise(setImmediate);
      await applyPage(page);
      if (readIntervalMs > 0 && !isAhead && waiters.length === 0) return wakeInTime();
      page = await (next ?? readPage(applied, appliedAt));
    }
  }

  /** Undefined while the store can't be reached: the next poll asks again. */
  async function readPage(
    after: bigint,
    afterAt: number | undefined,
  ): Promise<readonly StoreEvent[] | undefined> {
    clearTimeout(readTimer);
    readTimer = undefined;
    readAtMs = clock.monotonicMs();
    isReading = true;
    try {
      const page = await store.read(after, pageEvents, afterAt);
      if (awaySinceMs !== undefined) {
        log.info({ appliedSeq: String(applied) }, 'follower: reads work again');
      }
      awaySinceMs = undefined;
      return page;
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
      if (awaySinceMs === undefined) {
        log.warn({ err: error }, 'follower: journal unavailable, will retry');
      }
      awaySinceMs ??= readAtMs;
      return undefined;
    } finally {
      isReading = false;
    }
  }

  function staleMs(): number {
    const nowMs = clock.monotonicMs();
    const isSilent = isReading && nowMs - readAtMs > silentMs;
    const sinceMs = awaySinceMs ?? (isSilent ? readAtMs : nowMs);
    return nowMs - sinceMs;
  }

  async function applyPage(page: readonly StoreEvent[]): Promise<void> {
    let endMs = clock.monotonicMs() + sliceMs;
    for (const event of page) {
      if (!isFollowing()) return;
      if (event.seq !== applied + 1n) {
        throw missingEvent(applied + 1n);
      }
      const reason = tooNew?.(event);
      if (reason !== undefined) return stopBeforeNewer(reason);
      const done = apply(event);
      if (done !== undefined) await done;
      applied = event.seq;
      appliedAt = event.at;
      if (clock.monotonicMs() < endMs) continue;
      wakeWaiters();
      await new Promise(setImmediate);
      endMs = clock.monotonicMs() + sliceMs;
    }
    wakeWaiters();
  }

  function wakeWaiters(): void {
    if (waiters.length === 0) return;
    const reached = waiters.filter((waiter) => waiter.seq <= applied);
    if (reached.length === 0) return;
    waiters = waiters.filter((waiter) => waiter.seq > applied);
    for (const waiter of reached) waiter.resolve();
  }

  function rejectWaiters(message: string, cause?: unknown): void {
    const rejected = waiters;
    waiters = [];
    for (const waiter of rejected) waiter.reject(endOf(message, cause));
  }

  /** Callers that wait for an event of a newer program get `store_unavailable`: another node may have it. */
  function endOf(message: string, cause?: unknown): Error {
    return phase === 'tooOld' ? new StoreUnavailableError(message) : new Error(message, { cause });
  }

  function stopBeforeNewer(reason: string): void {
    wakeWaiters();
    phase = 'tooOld';
    unsubscribe?.();
    rejectWaiters(reason);
  }

  function failWith(error: unknown): void {
    phase = 'failed';
    unsubscribe?.();
    log.fatal({ err: error, appliedSeq: String(applied) }, 'follower: stopped, an event failed');
    rejectWaiters(`the follower failed after event ${applied}`, error);
    onFailure?.(error);
  }

  return {
    start(): void {
      if (phase !== 'new') throw new Error(`the follower is ${phase}`);
      phase = 'following';
      unsubscribe = store.onJournalGrowth(onJournalGrowth);
      wake();
    },
    /** Resolves when no event is being applied and none will be. Waiters are rejected. */
    async stop(): Promise<void> {
      if (phase !== 'failed' && phase !== 'tooOld') phase = 'stopped';
      clearTimeout(timer);
      clearTimeout(readTimer);
      unsubscribe?.();
      await running;
      rejectWaiters('the follower was stopped');
    },
    /** Resolves when the event `seq` has been applied. Rejects when the follower stops before. */
    catchUpTo(seq: bigint): Promise<void> {
      if (seq <= applied) return Promise.resolve();
      if (phase === 'stopped' || phase === 'failed' || phase === 'tooOld') {
        return Promise.reject(endOf(`the follower is ${phase}`));
      }
      if (waiters.length >= waitersMax) return Promise.reject(new Error('too many waiters'));
      const caughtUp = new Promise<void>((resolve, reject) => {
        waiters.push({ seq, resolve, reject });
      });
      // Without polling each commit brings its events, so they have arrived already.
      if (pollMs === undefined) proceed();
      else wake();
      return caughtUp;
    },
    appliedSeq: (): bigint => applied,
    /** Returns how long the journal has been unreadable or a read unanswered, milliseconds; 0 if it is readable. */
    staleMs,
    /** From the start until it is stopped or has failed: memory follows the journal. */
    isFollowing,
  };
}

export type Follower = ReturnType<typeof createFollower>;
