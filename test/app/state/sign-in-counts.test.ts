/**
 * Sign-ins by site and day: what the events of the journal add up to, the same after a restart from the checkpoint
 * and the journal, for a command beside, and in a ring that never grows.
 */

import assert from 'node:assert/strict';
import { afterEach, beforeEach, it } from 'node:test';
import { createSignInCounts, readSignInCounts, signInsPage } from '../../../src/app/counting.ts';
import { openState, type State } from '../../../src/app/state.ts';
import { createLog } from '../../../src/core/log.ts';
import { signedIn } from '../../../src/signon/sites/codes.ts';
import { createEventId } from '../../../src/storage/journal/define-event.ts';
import { openLmdbStore } from '../../../src/storage/lmdb/store.ts';
import type { Store } from '../../../src/storage/store.ts';
import { manualClock, seededRandom } from '../../support/seeded.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';

const dayMs = 86_400_000;
const log = createLog('silent');
const random = seededRandom(7);
let clock = manualClock(Date.UTC(2026, 0, 1, 12));
let directory: ReturnType<typeof makeTempDir>;
let store: Store;

beforeEach(() => {
  clock = manualClock(Date.UTC(2026, 0, 1, 12));
  directory = makeTempDir('sign-in-counts');
  store = openLmdbStore({ path: `${directory.path}/store`, clock, log });
});
afterEach(async () => {
  await store.close();
  directory.remove();
});

async function signIn(site: string): Promise<void> {
  const done = await store.commit({
    events: [signedIn.encode(createEventId(clock, random), { site })],
  });
  assert.ok(done.ok);
}

async function open(): Promise<State> {
  const onFailure = (error: unknown) => assert.fail(String(error));
  const state = await openState({ store, clock, random, log, onFailure, entriesMax: 100 });
  state.start();
  await state.follower.catchUpTo(await store.lastSeq());
  return state;
}

const sumsOf = ({ counting }: State) => Object.fromEntries(counting.signIns.sums(clock.now()));
const beside = async () =>
  Object.fromEntries((await readSignInCounts(store, signInsPage))!.sums(clock.now()));

it('each day counts for itself, after a checkpoint and a restart too, and beside the server', async () => {
  await signIn('a.example');
  clock.advance(8 * dayMs);
  await signIn('a.example');
  await signIn('b.example');
  let state = await open();
  await state.checkpoint();
  clock.advance(2 * dayMs);
  await signIn('b.example');
  await signIn('b.example');
  await state.follower.catchUpTo(await store.lastSeq());
  const said = {
    'a.example': { today: 0, week: 1, month: 2 },
    'b.example': { today: 2, week: 3, month: 3 },
  };
  assert.deepEqual(sumsOf(state), said);
  assert.deepEqual(await beside(), said);
  // As after a kill: the checkpoint is of before.
  await state.follower.stop();
  state = await open();
  assert.deepEqual(sumsOf(state), said);
  await state.stop();
  state = await open();
  assert.deepEqual(sumsOf(state), said);
  assert.deepEqual(await beside(), said);
  clock.advance(29 * dayMs);
  assert.deepEqual(sumsOf(state), { 'b.example': { today: 0, week: 0, month: 2 } });
  await state.stop();
});

it('a day whose place comes round again begins at nothing', () => {
  const counts = createSignInCounts(0, () => {});
  counts.add('a.example', clock.now());
  const later = clock.now() + 30 * dayMs;
  counts.add('b.example', later);
  counts.add('a.example', clock.now());
  assert.deepEqual([...counts.sums(later)], [['b.example', { today: 1, week: 1, month: 1 }]]);
});

it('a day keeps 1,000 sites, the busiest of them, and takes as much room however many come', () => {
  const counts = createSignInCounts(0, () => {});
  const at = clock.now();
  for (let i = 0; i < 3_000; i++) {
    counts.add(`s${i}.example`, at);
    counts.add('busy.example', at);
  }
  const sums = counts.sums(at);
  assert.equal(sums.size, 1_000);
  assert.equal(sums.get('busy.example')!.today, 3_000);
  const page = Math.floor(at / dayMs) % 30;
  const bytes = counts.section.encode(page);
  const again = createSignInCounts(0, () => {});
  assert.ok(again.section.load(page, bytes));
  assert.deepEqual(again.sums(at), sums);
  assert.equal(again.section.load(page, bytes.subarray(1)), false);
});

it('a damaged event stops, and one of a newer program', () => {
  const counts = createSignInCounts(0, () => assert.fail('nothing changes'));
  const event = { ...signedIn.encode('id', { site: 'a.example' }), seq: 1n, at: 0 };
  assert.deepEqual(signedIn.decode(event.version, event.body), { site: 'a.example' });
  const damaged = { ...event, body: event.body.subarray(1) };
  assert.throws(() => signedIn.follow(counts, damaged), /can't be read/);
  assert.throws(() => signedIn.follow(counts, { ...event, version: 2 }), /can't be read/);
});
