/**
 * Group commit: jobs that wait while a transaction is being synced share the next one, so one
 * fsync acknowledges many. One transaction is under way at a time; jobs keep their order. The next one begins
 * before those of the last one have their answer, so that the disk doesn't wait for what they do with it.
 *
 * Jobs that stand apart, such as reports, don't even wait for the end of the last transaction: those of one turn of
 * the event loop are handed over together, and the database has its next transaction ready when it ends one. All
 * others begin when nothing is under way.
 *
 * When a transaction fails (disk full, I/O error) its jobs answer `store_unavailable` and so does
 * every later commit, at once, until a probe write succeeds. Maintenance is tried all the same:
 * removing rows may be what makes room again.
 */

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { BoundedTable } from '../core/bounded-tables.ts';
import type { Clock } from '../core/clock.ts';
import { every, type Loop } from '../core/every.ts';
import type { Log } from '../core/log.ts';
import type { Key } from './keys.ts';
import type { WriteState } from './store.ts';

export interface Job<Context> {
  /** Runs inside the transaction. All reads before the first write. */
  run(context: Context): void;
  /** The transaction is on disk. */
  done(): void;
  /** The job took no effect, or it is unknown whether it did. */
  unavailable(detail: string): void;
  /** `run` threw before its first write: a bug. */
  threw(error: unknown): void;
  readonly bytes: number;
  readonly maintenance: boolean;
  /** True if nothing that it reads can be written by a job of its kind, so that it needn't wait for their end. */
  readonly isIndependent?: boolean;
  /** Keys and event ids that `run` reads, for a database that must fetch them first. */
  readonly reads?: JobReads;
}

interface JobReads {
  readonly keys: readonly Key[];
  readonly eventIds: readonly string[];
  /** Rows that it sets: each needs a version. */
  readonly sets: number;
}

/** Runs the queue's jobs in the transactions of a database. */
export interface Transactor<Context> {
  /**
   * Resolves when what `body` wrote is durable. Rejects with the cause when the transaction failed,
   * which it must when `body` throws.
   */
  transact(
    body: (context: Context) => void,
    /**
     * Serves a database that must know the jobs before it can run them: takes the waiting ones, up to a limit. Then
     * `body` runs these, and may be called again, each time from the start.
     */
    takeJobs: (jobsMax: number, setsMax: number) => readonly Job<Context>[],
  ): Promise<void>;
  /**
   * For a database that keeps transactions in order by itself: runs `body`, of jobs that stand apart, at once.
   * What it writes is in the next transaction, behind all that is under way, and only if that becomes durable.
   * @returns as `transact`; undefined: not before all that is under way has ended
   */
  append?(body: (context: Context) => void): Promise<void> | undefined;
  /** Rows written so far: a job that threw before its first write is skipped, the others go on. */
  writes(context: Context): number;
  /** A write of a representative size, durable like the others. */
  probe(): Promise<void>;
  /** True when no later write of this process can succeed. */
  isFatal(error: unknown): boolean;
}

interface GroupCommitOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly probeMs: number;
  /** A transaction that takes longer counts as an unavailable store. */
  readonly stallMs: number;
}

const groupJobsMax = 1_024;
const groupBytesMax = 16 * 1024 * 1024;
/**
 * The callback runs on the event loop, so it ends. Long enough for all that 128 connections wait
 * for: a transaction costs the same whatever it holds, about 1 ms of two threads, so two of half
 * the size cost an eighth more processor time a report.
 */
const groupSliceMs = 4;
/** Fewer waiting jobs than this are not split into two transactions. */
const splitFrom = 64;
/**
 * Between groups that are appended while others are under way: by then the transaction before has all that it
 * gets, and is being synced. Those who have just been answered would else join the one that begins, and all
 * wait for the same one.
 */
const appendPauseMs = 1;
const queueJobsMax = 20_000;
const queueBytesMax = 128 * 1024 * 1024;

export interface GroupCommit<Context> {
  add(job: Job<Context>): void;
  writeState(): WriteState;
  onWriteState(callback: (state: WriteState) => void): () => void;
  /** Jobs that wait, and their bytes. */
  readonly tables: readonly BoundedTable[];
  /** Resolves when nothing is under way. Jobs added later throw. */
  close(): Promise<void>;
}

export function createGroupCommit<Context>(
  transactor: Transactor<Context>,
  { clock, log, probeMs, stallMs }: GroupCommitOptions,
): GroupCommit<Context> {
  const waiting: Job<Context>[] = [];
  const listeners = new Set<(state: WriteState) => void>();
  let waitingBytes = 0;
  let running: Promise<void> | undefined;
  const appended = createAppended(appendGroup);
  let probing: Loop | undefined;
  let closed = false;
  /**
   * True if nobody had asked meanwhile when the last transaction ended: all who write wait for the
   * same one, and disk and event loop for each other. With half of them in the next one both work at once.
   */
  let isLockstep = false;
  /** The end and the duration of the last appended group. */
  let lastEndMs = 0;
  let lastTookMs = 0;
  let state: WriteState = { available: true, fatal: false, detail: 'available' };

  function setState(next: WriteState): void {
    if (next.available === state.available && next.fatal === state.fatal) return;
    state = next;
    if (next.available) log.info('store: writes work again');
    else log.error({ detail: next.detail, fatal: next.fatal }, 'store: writes are unavailable');
    for (const listener of listeners) listener(next);
  }

  function markUnavailable(error: unknown): void {
    const detail = error instanceof Error ? error.message : String(error);
    setState({ available: false, fatal: transactor.isFatal(error), detail });
    if (closed) return;
    probing ??= every(probeMs, () => {
      running ??= runAll(true);
    });
  }

  function isNextIndependent(): boolean {
    return transactor.append !== undefined && state.available && waiting[0]?.isIndependent === true;
  }

  /** Sees to it that what waits goes on, now or when what is under way ends. */
  function proceed(): void {
    if (waiting.length === 0 || running !== undefined) return;
    if (isNextIndependent()) appended.next();
    else if (!appended.isDue()) running = runAll(false);
  }

  function appendGroup(): void {
    if (running === undefined && isNextIndependent()) {
      // A transaction of all of them is no loss where the disk takes longer than all that comes between.
      isLockstep &&= appended.count() === 0 && clock.monotonicMs() - lastEndMs > lastTookMs;
      let ran: Job<Context>[] = [];
      const durable = transactor.append!((context) => {
        ran = runJobs(context, (job) => job.isIndependent === true);
      });
      // The end of what is under way leads here again.
      if (durable === undefined) return;
      appended.add(ran, endOf(ran, durable), proceed);
    }
    proceed();
  }

  async function endOf(jobs: readonly Job<Context>[], durable: Promise<void>): Promise<void> {
    let ran = jobs;
    const startMs = clock.monotonicMs();
    const stall = watchStall(() => {
      const stalled = ran;
      ran = [];
      return stalled;
    });
    try {
      await durable;
      isLockstep = appended.count() === 1 && waiting.length === 0;
      lastEndMs = clock.monotonicMs();
      lastTookMs = lastEndMs - startMs;
      answer(ran);
    } catch (error) {
      giveUp(ran, error);
    } finally {
      clearTimeout(stall);
    }
  }

  /** @param take returns the jobs of the transaction, which get no other answer */
  function watchStall(take: () => readonly Job<Context>[]): NodeJS.Timeout {
    return setTimeout(() => {
      const error = new Error(`a transaction takes longer than ${stallMs} ms`);
      markUnavailable(error);
      for (const job of take()) job.unavailable(error.message);
      refuseCommits(error.message);
    }, stallMs);
  }

  function markAvailable(): void {
    void probing?.stop();
    probing = undefined;
    setState({ available: true, fatal: false, detail: 'available' });
  }

  function refuseCommits(detail: string): void {
    refuse((job) => !job.maintenance, detail);
  }

  function refuse(isRefused: (job: Job<Context>) => boolean, detail: string): void {
    const kept = waiting.filter((job) => !isRefused(job));
    const refused = waiting.filter(isRefused);
    waiting.splice(0, waiting.length, ...kept);
    waitingBytes = kept.reduce((sum, job) => sum + job.bytes, 0);
    for (const job of refused) job.unavailable(detail);
  }

  /** The jobs at the head of the queue, at least one, and off the queue. */
  function takeAhead(jobsMax: number, setsMax: number): Job<Context>[] {
    let bytes = 0;
    let sets = 0;
    let taken = 0;
    while (taken < Math.min(waiting.length, jobsMax) && bytes < groupBytesMax) {
      const job = waiting[taken]!;
      sets += job.reads?.sets ?? 0;
      if (taken > 0 && sets > setsMax) break;
      bytes += job.bytes;
      taken += 1;
    }
    const jobs = waiting.slice(0, taken);
    drop(taken, bytes);
    return jobs;
  }

  /** Does what `runJobs` does, with jobs that are off the queue. */
  function runTaken(context: Context, jobs: readonly Job<Context>[]): Job<Context>[] {
    return jobs.map((job) => {
      const writesBefore = transactor.writes(context);
      try {
        job.run(context);
        return job;
      } catch (error) {
        if (transactor.writes(context) > writesBefore) throw new DoomedGroup(jobs, error);
        return { ...job, done: () => job.threw(error) };
      }
    });
  }

  /**
   * Runs waiting jobs inside the transaction until a bound is met, or one doesn't belong there. Returns those
   * that ran.
   */
  function runJobs(
    context: Context,
    belongs: (job: Job<Context>) => boolean = () => true,
  ): Job<Context>[] {
    const ran: Job<Context>[] = [];
    const endMs = clock.monotonicMs() + groupSliceMs;
    let bytes = 0;
    let taken = 0;
    const isSplit = isLockstep && waiting.length >= splitFrom;
    const jobsMax = isSplit ? waiting.length >> 1 : Math.min(waiting.length, groupJobsMax);
    while (taken < jobsMax && bytes < groupBytesMax) {
      const job = waiting[taken]!;
      if (!belongs(job)) break;
      taken += 1;
      bytes += job.bytes;
      const writesBefore = transactor.writes(context);
      try {
        job.run(context);
        ran.push(job);
      } catch (error) {
        ran.push({ ...job, done: () => job.threw(error) });
        // Half of its writes may be in: the transaction must fail for the commit to be atomic.
        if (transactor.writes(context) > writesBefore) {
          drop(taken, bytes);
          throw new DoomedGroup(ran, error);
        }
      }
      if (clock.monotonicMs() >= endMs) break;
    }
    drop(taken, bytes);
    return ran;
  }

  function drop(jobs: number, bytes: number): void {
    waiting.splice(0, jobs);
    waitingBytes -= bytes;
  }

  function giveUp(ran: readonly Job<Context>[], error: unknown): void {
    if (!(error instanceof FollowsFailureError)) markUnavailable(error);
    for (const job of ran) job.unavailable(state.detail);
    // Jobs that never ran because the transaction did not even begin wait no longer either.
    refuseCommits(state.detail);
  }

  function answer(durable: readonly Job<Context>[]): void {
    try {
      for (const job of durable) job.done();
    } catch (error) {
      giveUp(durable, error);
    }
  }

  /** @returns jobs that are on disk and have no answer yet; undefined: the group failed, and all have theirs */
  async function runGroup(): Promise<readonly Job<Context>[] | undefined> {
    let ran: Job<Context>[] = [];
    let taken: Job<Context>[] | undefined;
    function takeOnce(jobsMax: number, setsMax: number): readonly Job<Context>[] {
      taken ??= takeAhead(jobsMax, setsMax);
      ran = taken;
      return taken;
    }
    const stall = watchStall(() => {
      const stalled = ran;
      ran = [];
      return stalled;
    });
    try {
      await transactor.transact((context) => {
        try {
          ran = taken === undefined ? runJobs(context) : runTaken(context, taken);
        } catch (error) {
          if (!(error instanceof DoomedGroup)) throw error;
          ran = error.jobs as Job<Context>[];
          throw error.cause;
        }
      }, takeOnce);
      isLockstep = waiting.length === 0;
      return ran;
    } catch (error) {
      giveUp(ran, error);
      return undefined;
    } finally {
      clearTimeout(stall);
    }
  }

  async function runAll(probeFirst: boolean): Promise<void> {
    if (appended.count() > 0) await appended.none();
    if (probeFirst) {
      try {
        await transactor.probe();
        markAvailable();
      } catch (error) {
        markUnavailable(error);
      }
    }
    let durable: readonly Job<Context>[] | undefined;
    for (;;) {
      if (waiting.length === 0 || isNextIndependent()) {
        if (durable === undefined) break;
        answer(durable);
        durable = undefined;
        continue;
      }
      const group = runGroup();
      if (durable !== undefined) {
        // lmdb begins a transaction at the end of the turn: it works while those of the last one go on.
        await nextTurn();
        answer(durable);
      }
      const before = waiting.length;
      durable = await group;
      // Maintenance that ran answered already. Where no transaction begins it would wait for ever, and a stop for it.
      if (!state.available && waiting.length >= before) refuse(() => true, state.detail);
    }
    running = undefined;
    proceed();
  }

  return {
    add(job) {
      if (closed) throw new Error('the store is closed');
      if (!state.available && !job.maintenance) {
        job.unavailable(state.detail);
        return;
      }
      if (waiting.length >= queueJobsMax || waitingBytes + job.bytes > queueBytesMax) {
        job.unavailable('too many writes are waiting');
        return;
      }
      waiting.push(job);
      waitingBytes += job.bytes;
      proceed();
    },
    writeState: () => state,
    onWriteState(callback) {
      listeners.add(callback);
      return () => listeners.delete(callback);
    },
    tables: [
      { name: 'store_queue', used: () => waiting.length, limit: queueJobsMax },
      { name: 'store_queue_bytes', used: () => waitingBytes, limit: queueBytesMax },
    ],
    async close() {
      closed = true;
      void probing?.stop();
      while (running !== undefined || waiting.length > 0 || appended.count() > 0) {
        await (running ?? appended.none());
        await nextTurn();
      }
    },
  };
}

/** Counts the groups that were appended and are not durable yet, and says when the next one is. */
function createAppended(append: () => void) {
  const groups = new Set<Promise<void>>();
  let jobs = 0;
  let bytes = 0;
  let due: NodeJS.Immediate | undefined;
  let pausing: NodeJS.Timeout | undefined;

  function run(): void {
    clearTimeout(pausing);
    due = undefined;
    pausing = undefined;
    append();
  }

  return {
    count: () => groups.size,
    /** True: `append` is called at the end of this turn. */
    isDue: () => due !== undefined,
    /** Has `append` called: at the end of the turn, or a moment later while others are under way. */
    next(): void {
      if (due !== undefined) return;
      if (groups.size === 0) due = setImmediate(run);
      else if (jobs < groupJobsMax && bytes < groupBytesMax) {
        pausing ??= setTimeout(run, appendPauseMs);
      }
    },
    /** @param end never rejects */
    add(ran: readonly { readonly bytes: number }[], end: Promise<void>, then: () => void): void {
      const own = ran.reduce((sum, job) => sum + job.bytes, 0);
      jobs += ran.length;
      bytes += own;
      const group = end.then(() => {
        groups.delete(group);
        jobs -= ran.length;
        bytes -= own;
        then();
      });
      groups.add(group);
    },
    /** Resolves when none is under way. */
    async none(): Promise<void> {
      while (groups.size > 0) await Promise.all(groups);
    },
  };
}

/**
 * A group that was appended after one that failed. The reason is in the error of that one, which is reported
 * first.
 */
export class FollowsFailureError extends Error {
  override readonly name = 'FollowsFailureError';
}

/** Carries the jobs that ran out of the loop, next to the error that ends their transaction. */
class DoomedGroup extends Error {
  override readonly name = 'DoomedGroup';
  readonly jobs: readonly unknown[];
  constructor(jobs: readonly unknown[], cause: unknown) {
    super('a write inside the transaction failed', { cause });
    this.jobs = jobs;
  }
}
