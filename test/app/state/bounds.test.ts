/**
 * What is asked for at the bound of a table is refused before anything is written, and what is let
 * in fits: lists, rows of lists, rules of the allowlist, manual entries; with a server and without one.
 */

import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { afterEach, beforeEach, it } from 'node:test';
import { openState, type State } from '../../../src/app/state.ts';
import { createLog } from '../../../src/core/log.ts';
import { loadList } from '../../../src/reputation/lists/load-list.ts';
import {
  createAllowlist,
  createManualEntries,
} from '../../../src/reputation/ranges/operator-ranges.ts';
import type { RowBatch } from '../../../src/reputation/state/events.ts';
import { openLmdbStore } from '../../../src/storage/lmdb/store.ts';
import type { Store } from '../../../src/storage/store.ts';
import { manualClock, seededRandom } from '../../support/seeded.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';

const limits = { listsMax: 3, entriesMax: 100, contributionsMax: 300 };
const dayMs = 86_400_000;
const log = createLog('silent');
const random = seededRandom(3);
let clock = manualClock(Date.UTC(2026, 0, 1));
let directory: ReturnType<typeof makeTempDir>;
let store: Store;

beforeEach(() => {
  clock = manualClock(Date.UTC(2026, 0, 1));
  directory = makeTempDir('bounds');
  store = openLmdbStore({ path: `${directory.path}/store`, clock, log });
});

afterEach(async () => {
  await store.close();
  directory.remove();
});

/** Single IPv4 addresses `first`, `first` + 1, … */
function rowsFrom(first: number, count: number): RowBatch[] {
  const words = new Uint32Array(4 * count);
  for (let i = 0; i < count; i++) words[4 * i] = 0x0808_0000 + first + i;
  const of = (value: number) => new Uint8Array(count).fill(value);
  return [{ count, families: of(4), words, lengths: of(32), scores: of(80) }];
}

function load(source: string, batches: RowBatch[]) {
  const list = { list: 'seed', source, holdDays: 1, batches, onRows: () => {}, limits } as const;
  return loadList({ store, clock, random, ...list });
}

async function openServer(entriesMax = 100): Promise<State> {
  const onFailure = (error: unknown) => assert.fail(String(error));
  const state = await openState({ store, clock, random, log, onFailure, entriesMax });
  state.start();
  await state.reconcile();
  return state;
}

const errorOf = (result: Awaited<ReturnType<typeof load>>) => (result.ok ? 'none' : result.error);

it('a list beyond the most is refused whole, one that is known is loaded again, one that ended makes room', async () => {
  for (const source of ['a', 'b', 'c'])
    assert.equal(errorOf(await load(source, rowsFrom(0, 1))), 'none');
  const before = await store.lastSeq();
  assert.equal(errorOf(await load('d', rowsFrom(0, 1))), 'capacity_exceeded');
  assert.equal(await store.lastSeq(), before, 'nothing was written');
  assert.equal(errorOf(await load('b', rowsFrom(0, 2))), 'none');
  let state = await openServer();
  assert.equal(state.sources.list().length, 3);
  clock.advance(dayMs);
  await load('b', rowsFrom(0, 2));
  await state.follower.catchUpTo(await store.lastSeq());
  clock.advance(dayMs / 2);
  await state.housekeep();
  await state.follower.catchUpTo(await store.lastSeq());
  assert.deepEqual(
    state.sources.list().map(({ source }) => source),
    ['b'],
  );
  await state.stop();
  state = await openServer();
  assert.equal(errorOf(await load('d', rowsFrom(0, 1))), 'none');
  assert.equal(errorOf(await load('e', rowsFrom(0, 1))), 'none');
  assert.equal(errorOf(await load('f', rowsFrom(0, 1))), 'capacity_exceeded');
  await state.stop();
});

it('of many lists begun at once no more are taken than there is room for', async () => {
  const results = await Promise.all(
    Array.from({ length: 8 }, (_, i) => load(`l${i}`, rowsFrom(10 * i, 10))),
  );
  assert.equal(results.filter(({ ok }) => ok).length, limits.listsMax);
  const state = await openServer();
  assert.equal(state.sources.list().length, limits.listsMax);
  assert.equal(state.refusals.total(), 0);
  await state.stop();
});

for (const server of [true, false]) {
  it(`rows that do not fit are refused whole, ${server ? 'beside a server' : 'without a server'}`, async () => {
    const state = server ? await openServer() : undefined;
    assert.equal(errorOf(await load('a', rowsFrom(0, 90))), 'none');
    const before = await store.lastSeq();
    assert.equal(errorOf(await load('b', rowsFrom(200, 11))), 'capacity_exceeded');
    assert.equal(await store.lastSeq(), before);
    assert.equal(errorOf(await load('b', rowsFrom(200, 10))), 'none');
    await state?.stop();
    const after = await openServer();
    assert.equal(after.index.size(), 100);
    assert.equal(after.refusals.total(), 0);
    await after.stop();
  });
}

it('a full list is loaded again, for its rows are known', async () => {
  assert.equal(errorOf(await load('a', rowsFrom(0, 100))), 'none');
  let state = await openServer();
  await state.stop();
  assert.equal(errorOf(await load('a', rowsFrom(0, 100))), 'none');
  state = await openServer();
  await state.stop();
  assert.equal(errorOf(await load('a', rowsFrom(1, 100))), 'capacity_exceeded');
});

it('a store that a machine with more memory filled is loaded whole', async () => {
  assert.equal(errorOf(await load('a', rowsFrom(0, 100))), 'none');
  await (await openServer()).stop();
  const state = await openServer(40);
  assert.equal(state.index.size(), 100);
  assert.equal(state.refusals.total(), 0);
  await state.stop();
});

it('known rows are found wherever they stand: both families, all over the address space, in many batches', async () => {
  const all = Array.from({ length: 100 }, (_, i) => {
    const family = i % 2 === 0 ? 4 : 6;
    const words = new Uint32Array(4);
    words[0] = family === 4 ? 0x0808_0000 + i * 0x0001_0001 : 0x2a00_0000 + i;
    if (family === 6) words[3] = i;
    const one = (value: number) => Uint8Array.of(value);
    const length = family === 4 ? 32 : 128;
    return { count: 1, families: one(family), words, lengths: one(length), scores: one(80) };
  });
  assert.equal(errorOf(await load('a', all)), 'none');
  await (await openServer()).stop();
  assert.equal(errorOf(await load('a', all.toReversed())), 'none');
  await (await openServer()).stop();
  const other = rowsFrom(1, 1);
  assert.equal(errorOf(await load('a', [...all.slice(1), ...other])), 'capacity_exceeded');
});

it('of two loaders that begin at once the second counts the rows of the first', async () => {
  const results = await Promise.all([load('a', rowsFrom(0, 60)), load('b', rowsFrom(200, 60))]);
  assert.equal(results.filter(({ ok }) => ok).length, 1);
});

it('a rule beyond the most is refused, a removed one makes room, rules made before are counted', async () => {
  const uncounted = createAllowlist({ store, clock, random, rulesMax: 2 });
  assert.ok((await uncounted.add('192.0.2.1', 'one')).ok);
  assert.ok((await uncounted.add('192.0.2.2', 'two')).ok);
  assert.ok((await uncounted.add('192.0.2.2', 'another reason')).ok);
  const third = await uncounted.add('192.0.2.3', 'three');
  assert.equal(!third.ok && third.error, 'capacity_exceeded');
  assert.ok((await uncounted.remove('192.0.2.1')).ok);
  assert.ok((await uncounted.add('192.0.2.3', 'three')).ok);
});

it('a manual entry beyond the most is refused, and one whose time is over ends by an event, with its place', async () => {
  const entries = createManualEntries({ store, clock, random, entriesMax: 2 });
  const terms = { score: 90, category: 0, note: '', endsAt: 0 };
  const endsAt = clock.now() + dayMs;
  assert.ok((await entries.add('192.0.2.1', { ...terms, endsAt })).ok);
  assert.ok((await entries.add('192.0.2.2', { ...terms, endsAt })).ok);
  assert.ok((await entries.add('192.0.2.2', terms)).ok, 'set anew: it does not end');
  const third = await entries.add('192.0.2.3', terms);
  assert.equal(!third.ok && third.error, 'capacity_exceeded');
  const state = await openServer();
  await state.housekeep();
  assert.equal(state.entries.contributions.manualNodes.size, 2, 'its time is not over');
  clock.advance(dayMs);
  await state.housekeep();
  await state.follower.catchUpTo(await store.lastSeq());
  assert.equal(state.entries.contributions.manualNodes.size, 1);
  assert.deepEqual(
    (await entries.list()).map(({ prefix }) => prefix),
    ['192.0.2.2/32'],
  );
  const newest = state.index.listTimes[255];
  assert.equal(newest, (clock.now() - dayMs) / 1_000);
  await state.stop();
  const again = await openServer();
  assert.equal(again.index.listTimes[255], newest);
  assert.ok((await entries.add('192.0.2.3', terms)).ok);
  await again.stop();
});

it('what found no room is counted, and the count survives a stop and a crash', async () => {
  const state = await openServer();
  // As an older version wrote it: no room was asked for.
  const wide = { listsMax: 9, entriesMax: 1_000, contributionsMax: 1_000 };
  const list = { list: 'seed', source: 'a', holdDays: 1, onRows: () => {}, limits: wide } as const;
  await loadList({ store, clock, random, ...list, batches: rowsFrom(0, 130) });
  await state.follower.catchUpTo(await store.lastSeq());
  assert.equal(state.refusals.of('rows'), 30);
  await state.checkpoint();
  await state.follower.stop();
  const after = await openServer();
  assert.equal(after.refusals.of('rows'), 30);
  await after.stop();
  const again = await openServer();
  assert.equal(again.refusals.of('rows'), 30);
  await again.stop();
});

it('a list is not tried again where no later write can succeed', async () => {
  await load('a', rowsFrom(0, 1));
  rmSync(`${directory.path}/store/data.mdb`);
  const { commit } = store;
  let commits = 0;
  Object.assign(store, {
    commit: (...args: Parameters<typeof commit>) => {
      commits += 1;
      return commit(...args);
    },
  });
  assert.equal(errorOf(await load('b', rowsFrom(1, 1))), 'store_unavailable');
  assert.equal(commits, 1);
});
