/**
 * Commits a third-party list to the journal: one run of a source, in events small enough that a
 * report committed at the same time waits for one of them at most.
 *
 * Nothing is taken back before the last row is on disk: a loader that dies half-way leaves the
 * former list in place, with the rows that had come, until the list is loaded again.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { capacities } from '../../config.ts';
import type { Clock } from '../../core/clock.ts';
import { type Random, randomToken } from '../../core/random.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import { createEventId } from '../../storage/journal/define-event.ts';
import { listPrefix, listRowKey } from '../../storage/keys.ts';
import { readLedger } from '../../storage/ledger.ts';
import { bareRecord, type Decoded, flag, text, time, varint } from '../../storage/record.ts';
import type { NewEvent, RowCheck, SetRow, Store } from '../../storage/store.ts';
import {
  type ListKind,
  type ListRef,
  listBegun,
  listEnded,
  listRows,
  type RowBatch,
} from '../state/events.ts';
import { type CapacityLimits, ensureCapacity } from './capacity.ts';
import { runMsMax } from './sources.ts';

// The known lists as durable rows, which a loader reads before it begins. A row is added with the run
// that makes the list known and removed with the event that ends it, in the same commits, and all of
// them change the ledger's row: of two loaders that begin at once the second sees the first.

type ListRow = Decoded<typeof listRowCodec.decode>;

const listRowCodec = bareRecord({
  run: text,
  /** Rows of the run. */
  rows: varint,
  /** The run is under way, was cut short, or took the list back. */
  loading: flag,
  begunAt: time,
});

type Name = Pick<ListRef, 'list' | 'source'>;

export async function findList(store: Store, { list, source }: Name) {
  const key = listRowKey(list, source);
  const found = await store.get(key);
  const check: RowCheck = { key, version: found?.version ?? null };
  return { row: found && listRowCodec.decode(found.value), check };
}

function listRow({ list, source }: Name, row: ListRow): SetRow {
  return { key: listRowKey(list, source), value: listRowCodec.encode(row) };
}

/** Rows that runs under way have said they bring; a run that takes too long counts no more. */
async function rowsUnderWay(store: Store, except: Name, now: number): Promise<number> {
  const own = Buffer.from(listRowKey(except.list, except.source));
  let rows = 0;
  for (const { key, value } of await store.scan(listPrefix(), { limit: 1_000 })) {
    const row = listRowCodec.decode(value);
    if (row?.loading !== true || now - row.begunAt > runMsMax || own.equals(key)) continue;
    rows += row.rows;
  }
  return rows;
}

/** Pause and number of further tries of a commit while the store can't write, e.g. on a full disk. */
const retryMs = 250;
const retriesMax = 20;

interface LoadLimits extends CapacityLimits {
  readonly listsMax: number;
}

/** Reports that are under way keep their room. */
const reportReserve = 4_096;
function limitsOf({ soleOwner }: Store): LoadLimits {
  const entriesMax = soleOwner === undefined ? capacities.sharedEntries : capacities.entries;
  return {
    listsMax: capacities.sources,
    entriesMax: entriesMax - reportReserve,
    contributionsMax: entriesMax * capacities.contributionsPerEntry - reportReserve,
  };
}

interface LoadListOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly list: ListKind;
  /** Name under which a later load replaces this one. */
  readonly source: string;
  readonly holdDays: number;
  /** At most `rowsPerEventMax` rows each. */
  readonly batches: readonly RowBatch[];
  /** A row that must be as it was read when the run begins. */
  readonly unlessChanged?: RowCheck;
  /** Bounds of the tables; for tests. */
  readonly limits?: LoadLimits;
  /** Called after each commit with the number of rows that are durable so far. */
  readonly onRows: (rows: number) => void;
}

/**
 * @returns the journal's sequence number of the run's end, once all of it is durable.
 * `capacity_exceeded`: too many lists, or no room for its rows; `conflict`: `unlessChanged` was
 * changed. Nothing was written.
 */
export async function loadList(options: LoadListOptions): Promise<Result<bigint>> {
  const { store, clock, random, batches } = options;
  const ref = { list: options.list, source: options.source, run: randomToken(random, 9) };
  const eventId = () => createEventId(clock, random);
  const total = batches.reduce((sum, { count }) => sum + count, 0);
  const state = { run: ref.run, rows: total, begunAt: clock.now() };

  const begun = await begin(options, ref, total);
  if (!begun.ok) return begun;
  let rows = 0;
  for (const batch of batches) {
    const done = await commitEvent(store, listRows.encode(eventId(), { ref, rows: batch }));
    if (!done.ok) return done;
    rows += batch.count;
    options.onRows(rows);
  }
  const ended = listEnded.encode(eventId(), { ref });
  const found = await findList(store, ref);
  // Another loader has overtaken this one: the row is its.
  if (found.row?.run !== ref.run) return commitEvent(store, ended);
  const loading = options.holdDays === 0;
  return commitEvent(store, ended, [listRow(ref, { ...state, loading })]);
}

/** Announces the run, in the commit that counts the list. */
async function begin(
  options: LoadListOptions,
  ref: ListRef,
  rows: number,
): Promise<Result<bigint>> {
  const { store, clock, random, holdDays, unlessChanged } = options;
  const limits = options.limits ?? limitsOf(store);
  const event = listBegun.encode(createEventId(clock, random), { ref, holdDays });
  for (let attempt = 0; attempt < retriesMax; attempt++) {
    const ledger = await readLedger(store, 'lists');
    const found = await findList(store, ref);
    if (found.row === undefined && ledger.used >= limits.listsMax) {
      return fail(
        'capacity_exceeded',
        `no room for another list: ${limits.listsMax} are known; they end when they are not loaded again in time`,
      );
    }
    const others = await rowsUnderWay(store, ref, clock.now());
    const room = await ensureCapacity(store, options.batches, others, limits);
    if (!room.ok) return room;
    const row = { run: ref.run, rows, begunAt: clock.now(), loading: true };
    const done = await store.commit({
      check: [ledger.check, found.check, ...(unlessChanged === undefined ? [] : [unlessChanged])],
      set: [ledger.set(ledger.used + (found.row === undefined ? 1 : 0)), listRow(ref, row)],
      events: [event],
    });
    if (done.ok) return ok(done.seq);
    if (store.writeState().fatal) break;
    if (done.error === 'store_unavailable') await sleep(retryMs);
    else if (done.failedCheck === 2) return fail('conflict');
  }
  return fail('store_unavailable', 'the data directory can not be written');
}

/** The same event id each time: a commit whose outcome was unknown is not applied twice. */
async function commitEvent(
  store: Store,
  event: NewEvent,
  set: readonly SetRow[] = [],
): Promise<Result<bigint>> {
  let detail = '';
  for (let attempt = 0; attempt <= retriesMax; attempt++) {
    const result = await store.commit({ set, events: [event] });
    if (result.ok) return ok(result.seq);
    if (result.error === 'check_failed') throw new Error('a commit without checks failed a check');
    detail = result.detail;
    if (store.writeState().fatal) break;
    await sleep(retryMs);
  }
  return fail('store_unavailable', `the data directory can't be written: ${detail}`);
}
