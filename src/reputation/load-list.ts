/**
 * Commits a third-party list to the journal: one run of a source, in events small enough that a
 * report committed beside it waits for one of them at most.
 *
 * Nothing is taken back before the last row is on disk: a loader that dies half-way leaves the
 * former list in place, with the rows that had come, until the list is loaded again.
 */

import type { Clock } from '../core/clock.ts';
import type { Random } from '../core/random.ts';
import { randomToken } from '../core/random.ts';
import { fail, ok, type Result } from '../core/result.ts';
import { createEventId } from '../store/event-id.ts';
import type { NewEvent, Store } from '../store/store.ts';
import { encodeEvent, type ListKind, type RowBatch } from './events.ts';

/** How long a commit is tried again while the store can't write, e.g. on a full disk. */
const retryMs = 250;
const retriesMax = 20;

export interface LoadListOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly list: ListKind;
  /** Name under which a later load replaces this one. */
  readonly source: string;
  readonly holdDays: number;
  /** At most `rowsPerEventMax` rows each. */
  readonly batches: Iterable<RowBatch>;
  /** Told after each commit how many rows are durable so far. */
  readonly onRows: (rows: number) => void;
}

/** @returns the journal's sequence number of the run's end, once all of it is durable */
export async function loadList(options: LoadListOptions): Promise<Result<bigint>> {
  const { store, clock, random } = options;
  const ref = { list: options.list, source: options.source, run: randomToken(random, 9) };
  const event = (body: Parameters<typeof encodeEvent>[1]) =>
    encodeEvent(createEventId(clock, random), body);

  const begun = await commitEvent(
    store,
    event({ kind: 'list.begun', ref, holdDays: options.holdDays }),
  );
  if (!begun.ok) return begun;
  let rows = 0;
  for (const batch of options.batches) {
    const done = await commitEvent(store, event({ kind: 'list.rows', ref, rows: batch }));
    if (!done.ok) return done;
    rows += batch.count;
    options.onRows(rows);
  }
  return commitEvent(store, event({ kind: 'list.ended', ref }));
}

/** The same event id each time: a commit whose outcome was unknown is not applied twice. */
async function commitEvent(store: Store, event: NewEvent): Promise<Result<bigint>> {
  let detail = '';
  for (let attempt = 0; attempt <= retriesMax; attempt++) {
    const result = await store.commit({ events: [event] });
    if (result.ok) return ok(result.seq);
    if (result.error === 'check_failed') throw new Error('a commit without checks failed a check');
    detail = result.detail;
    await new Promise((resolve) => setTimeout(resolve, retryMs));
  }
  return fail('store_unavailable', `the data directory can't be written: ${detail}`);
}
