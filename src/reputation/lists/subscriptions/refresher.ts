/**
 * Fetches subscribed lists when they are due, and loads the good ones.
 *
 * Invariants: the rows of a list change only after a download is complete, parsed, and has at least half of the rows
 * before it (or as few as the operator has accepted). The result is one commit after that, so a server that is killed
 * earlier tries again. A change or removal of the subscription meanwhile wins, since the run begins under a check of
 * its row.
 *
 * After a success a list is fetched again after its interval. After failures the wait is a minute and doubles each
 * time, up to the interval or an hour. All waits vary by a tenth, so that many servers don't ask at one moment. A
 * `Retry-After` is respected, for a day at most.
 */

import { Worker } from 'node:worker_threads';
import type { Clock } from '../../../core/clock.ts';
import type { Log } from '../../../core/log.ts';
import type { Random } from '../../../core/random.ts';
import { ok, type Result } from '../../../core/result.ts';
import { createJobs, createScheduler } from '../../../core/scheduling.ts';
import { dayMs, hourMs, minuteMs } from '../../../core/time.ts';
import type { GeoSource } from '../../../geo/sources.ts';
import { LeaseLostError } from '../../../storage/maintenance.ts';
import type { Store } from '../../../storage/store.ts';
import { hostsOfPeers } from '../../federation/subscribe/peers.ts';
import { contributionKinds, tagOf } from '../../state/contributions.ts';
import type { Entries } from '../../state/entries.ts';
import type { ListRef, RowBatch } from '../../state/events.ts';
import { retryAfterMsMax, type Validators } from '../import/download.ts';
import { type ListFormatName, type ParseOptions, splitRows } from '../import/parse.ts';
import type { BadLine } from '../import/rows.ts';
import { findList, loadList } from '../load-list.ts';
import type { Sources } from '../sources.ts';
import {
  changeSubscription,
  findSubscription,
  listSubscriptions,
  type SourceHeaders,
  type Subscription,
  type SubscriptionTerms,
} from './subscriptions.ts';

const retryMsMin = minuteMs;
const retryMsMax = hourMs;
const jitter = 0.1;

/** @param failures in a row, 0 after a good answer */
function pauseMs(everyMs: number, failures: number): number {
  if (failures === 0) return everyMs;
  const longestMs = Math.max(everyMs, retryMsMax);
  // Beyond 30 the longest is reached whatever it is.
  return Math.min(longestMs, retryMsMin * 2 ** Math.min(30, failures - 1));
}

/** @param fraction a random number from 0 to 1 */
function dueAfter(
  { everyMs, failures }: Pick<Subscription, 'everyMs' | 'failures'>,
  now: number,
  fraction: number,
): number {
  return now + Math.round(pauseMs(everyMs, failures) * (1 - jitter + 2 * jitter * fraction));
}

/** A list is due, too, when its time lies too far ahead: a clock that was set back must not hold it up. */
function isDue(row: Subscription, now: number): boolean {
  if (row.state !== 'active') return false;
  const pause = pauseMs(row.everyMs, row.failures) * (1 + jitter) + 1;
  const longestMs = row.failures === 0 ? pause : Math.max(pause, retryAfterMsMax);
  return row.dueAt <= now || row.dueAt - now > longestMs;
}

/** Downloads at one time; the others wait for the next poll. */
const fetchesMax = 2;

type Change = Partial<Subscription>;

export function createRefresher(options: {
  readonly store: Store;
  /** Returns false while another node has the lease. */
  readonly isMine: () => boolean;
  readonly allowPrivate: boolean;
  /** The file of autonomous systems, for lists of them. */
  readonly systems?: GeoSource | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Returns what the source asks for. Absent: none asks for anything. */
  readonly credentialsOf?: (row: Subscription) => Promise<Result<SourceHeaders | undefined>>;
  readonly fetch: (job: FetchJob, signal: AbortSignal) => Promise<FetchResult>;
  /** Counts the rows that the list has already. */
  readonly countKnown: (
    list: Pick<ListRef, 'list' | 'source'>,
    batches: readonly RowBatch[],
  ) => Promise<number>;
}) {
  const { store, isMine, clock, random, log } = options;
  const jobs = createJobs<string>(fetchesMax, () => {
    // The store can't write: the list is due again when it can.
  });
  const { signal } = jobs;

  const fraction = () => Buffer.from(random.bytes(4)).readUInt32BE() / 2 ** 32;

  /** Returns the list's rows in the journal, and whether they are whole, recent and this subscription's. */
  async function held(row: Subscription) {
    const found = (await findList(store, { list: row.list, source: row.name })).row;
    const isOurs = found?.run === row.run && found.loading === false && row.run !== '';
    // A list ends if it is not loaded in time, so an unchanged one is written again now and then.
    const anewMs = Math.min(dayMs, (row.holdDays * dayMs) / 2);
    const isRecent = Math.abs(clock.now() - row.loadedAt) < anewMs;
    const rows = found === undefined ? 0 : found.loading ? row.rows : found.rows;
    return { rows, isCurrent: isOurs && isRecent };
  }

  async function refresh(row: Subscription): Promise<void> {
    const before = await held(row);
    const { etag, lastModified } = row;
    const canAsk = before.isCurrent && etag + lastModified !== '';
    const opened = (await options.credentialsOf?.(row)) ?? ok(undefined);
    if (!opened.ok) {
      await note(row, failed(row, opened.detail ?? opened.error));
      return;
    }
    const answer = await options.fetch(
      {
        ...fetchBounds,
        terms: row,
        allowPrivate: options.allowPrivate,
        peerHosts: await hostsOfPeers(store),
        systems: options.systems,
        credentials: opened.value,
        known: canAsk ? { etag, lastModified } : undefined,
      },
      signal,
    );
    if (signal.aborted || !isMine()) return;
    const change = await outcomeOf(row, before, answer);
    if (change === undefined) return;
    await note(row, change, 'failed' in answer ? answer.waitMs : 0);
    notify(row, change);
  }

  /** Stores the outcome of a try and the time of the next one. */
  function note(row: Subscription, change: Change, waitMs = 0) {
    return changeSubscription(store, row.name, (stored) => {
      // A subscription that was removed and added again meanwhile is another one.
      if (stored.addedAt !== row.addedAt) return 'changed meanwhile';
      const next = { ...stored, triedAt: clock.now(), ...change };
      // The operator asked for it meanwhile, too late for this try: it stays due.
      if (stored.dueAt !== row.dueAt) return next;
      const now = clock.now();
      return { ...next, dueAt: Math.max(now + waitMs, dueAfter(next, now, fraction())) };
    });
  }

  /** Returns undefined when somebody changed it meanwhile: it is due again at the next poll. */
  async function outcomeOf(
    row: Subscription,
    before: { rows: number; isCurrent: boolean },
    answer: FetchResult,
  ): Promise<Change | undefined> {
    if ('failed' in answer) return failed(row, answer.failed);
    const fresh = { failures: 0, failure: '', heldRows: 0, acceptedRows: 0, freshAt: clock.now() };
    if ('unchanged' in answer) return { ...fresh, unchanged: row.unchanged + 1 };
    const { rows, digest, badLines, samples, leftOut, validators } = answer.fetched;
    const lines = { badLines, samples, leftOut };
    const seen = { ...validators, ...lines };
    if (before.isCurrent && digest === row.digest) {
      return { ...fresh, ...seen, unchanged: row.unchanged + 1 };
    }
    const least =
      (row.acceptedRows > 0 ? Math.min(row.acceptedRows, before.rows) : before.rows) / 2;
    if (rows < least) {
      return { failures: 0, failure: '', ...lines, heldRows: rows, holds: row.holds + 1 };
    }
    const loaded = await load(row, before.rows, answer.fetched);
    return loaded && ('failure' in loaded ? loaded : { ...fresh, ...seen, ...loaded });
  }

  function failed(row: Subscription, failure: string): Change {
    return { failures: row.failures + 1, failuresEver: row.failuresEver + 1, failure };
  }

  async function load(
    row: Subscription,
    rowsBefore: number,
    { batches, rows, digest }: FetchedRows,
  ): Promise<Change | undefined> {
    const { name, list, holdDays } = row;
    const found = await findSubscription(store, name);
    if (found?.row.addedAt !== row.addedAt || found.row.state !== 'active') return undefined;
    const ref = { list, source: name };
    const known = await options.countKnown(ref, batches);
    const done = await loadList({
      store,
      clock,
      random,
      ...ref,
      holdDays,
      batches,
      unlessChanged: found.check,
      // A run that never ends takes nothing back, and the next start tries again.
      onRows: () => signal.throwIfAborted(),
    });
    if (!done.ok) {
      if (done.error === 'conflict') return undefined;
      return failed(row, done.detail ?? done.error);
    }
    const added = rows - known;
    const removed = Math.max(0, rowsBefore - known);
    return {
      rows,
      digest,
      added,
      removed,
      loadedAt: clock.now(),
      loads: row.loads + 1,
      run: (await findList(store, ref)).row?.run ?? '',
      addedEver: row.addedEver + added,
      removedEver: row.removedEver + removed,
    };
  }

  function notify({ name: source, failures }: Subscription, change: Change): void {
    if (change.failure) log.warn({ source, reason: change.failure }, 'lists: source not read');
    else if (change.heldRows) {
      const detail = 'less than half of what was there: portcullis source accept takes it';
      log.warn({ source, rows: change.heldRows, detail }, 'lists: source held');
    } else if (change.rows !== undefined) {
      log.info({ source, rows: change.rows }, 'lists: source loaded');
    } else if (failures > 0) log.info({ source }, 'lists: source is read again');
  }

  function begin(row: Subscription): void {
    jobs.begin(row.name, () =>
      refresh(row).catch(async (error: unknown) => {
        if (error instanceof LeaseLostError || signal.aborted) return;
        log.error({ source: row.name, err: error }, 'lists: source not refreshed');
        await note(row, failed(row, 'an unexpected error, which the log has'));
      }),
    );
  }

  /** Begins what is due. @returns all subscriptions as they are stored */
  async function poll(): Promise<readonly Subscription[]> {
    const rows = await listSubscriptions(store);
    if (!isMine() || signal.aborted) return rows;
    // The one that has waited longest goes first.
    const due = rows.filter((row) => isDue(row, clock.now())).sort((a, b) => a.dueAt - b.dueAt);
    for (const row of due) begin(row);
    return rows;
  }

  // Work that a stop cuts short is done again later.
  return { poll, idle: jobs.idle, stop: jobs.stop };
}

/** Rows between two looks at the clock. */
const rowsPerSlice = 64;

/** Counts the rows of a new list that its former one had, before the journal replaces them. */
export async function countKnownRows(
  { entries, sources }: { entries: Entries; sources: Pick<Sources, 'list'> },
  { list, source }: Pick<ListRef, 'list' | 'source'>,
  batches: readonly RowBatch[],
): Promise<number> {
  const former = sources.list().find((one) => one.list === list && one.source === source);
  if (former === undefined) return 0;
  const tag = tagOf(contributionKinds[list], former.number);
  const words = new Uint32Array(4);
  let known = 0;
  const scheduler = createScheduler();
  for (const batch of batches) {
    for (let i = 0; i < batch.count; i++) {
      if (i % rowsPerSlice === 0 && scheduler.shouldYield()) await scheduler.yield();
      for (let word = 0; word < 4; word++) words[word] = batch.words[4 * i + word]!;
      const entry = entries.get(batch.families[i] === 4 ? 4 : 6, words, batch.lengths[i]!);
      if (entry !== 0 && entries.contributions.find(entry, tag) !== 0) known += 1;
    }
  }
  return known;
}

// A download in a thread of its own: reading, unpacking and sorting a list of millions of rows takes seconds,
// and nothing on the main thread waits for it. The thread is asked to end, never killed in the middle: Node 20
// ends the whole process when a thread goes while it makes a decompressor.

/** Bounds of one download. */
export const fetchBounds = {
  /** The bound holds after unpacking. */
  bytesMax: 256 * 1024 * 1024,
  rowsMax: 4_000_000,
  /** Bound on the wait for an answer, and for each next piece. */
  waitMsMax: 30_000,
  fetchMsMax: 10 * minuteMs,
};

type FetchBounds = Readonly<typeof fetchBounds>;

export interface FetchJob extends FetchBounds {
  readonly terms: Pick<SubscriptionTerms, 'url' | 'confidence' | 'allowDocumentation' | 'service'> &
    Pick<ParseOptions, 'format'>;
  readonly allowPrivate: boolean;
  /** Hosts that the list may not come from, nor by a redirect. */
  readonly peerHosts: readonly string[];
  readonly systems?: GeoSource | undefined;
  /** Headers for the host of the address alone. */
  readonly credentials?: SourceHeaders | undefined;
  /** Validators of the rows that are here and complete; undefined: all is to be sent. */
  readonly known: Validators | undefined;
}

interface FetchedFacts {
  /** The format that it was read in. */
  readonly format: ListFormatName;
  readonly rows: number;
  /** SHA-256 of the rows, base64url. */
  readonly digest: string;
  readonly badLines: number;
  readonly samples: readonly BadLine[];
  readonly leftOut: number;
  readonly validators: Validators;
}

interface FetchedRows extends FetchedFacts {
  readonly batches: readonly RowBatch[];
}

/** As the thread sends it: all rows in one array a field. */
export type SentRows = { readonly sent: FetchedFacts; readonly all: RowBatch };

export type FetchResult =
  | { readonly fetched: FetchedRows }
  | { readonly unchanged: true }
  /** `waitMs`: the server wants to be left alone for as long. */
  | { readonly failed: string; readonly waitMs?: number };

/** A thread that has not ended by then is in one long sort at most. */
const endMsMax = 2_000;

/** @param signal asks the thread to end; its answer is then of no interest */
export function fetchInThread(job: FetchJob, signal: AbortSignal): Promise<FetchResult> {
  const worker = new Worker(new URL('./fetch.worker.js', import.meta.url), {
    workerData: job,
    name: 'list',
  });
  let late: NodeJS.Timeout | undefined;
  function end(): void {
    worker.postMessage('end');
    late ??= setTimeout(() => void worker.terminate(), endMsMax);
  }
  signal.addEventListener('abort', end, { once: true });
  if (signal.aborted) end();
  return new Promise<FetchResult>((resolve) => {
    let answer: FetchResult = { failed: 'the thread that reads it ended' };
    worker.once('message', (message: SentRows | Exclude<FetchResult, { fetched: unknown }>) => {
      answer =
        'sent' in message
          ? { fetched: { ...message.sent, batches: splitRows(message.all) } }
          : message;
    });
    worker.once('error', (error: Error) => {
      answer = { failed: `the thread that reads it failed: ${error.message}` };
    });
    worker.once('exit', () => {
      clearTimeout(late);
      signal.removeEventListener('abort', end);
      resolve(answer);
    });
  });
}
