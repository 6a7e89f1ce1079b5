/** Guards of reports in memory: against a model, through failures and restarts, and at their bound. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLog } from '../../../src/core/log.ts';
import { systemRandom } from '../../../src/core/random.ts';
import { createReportGuards } from '../../../src/reputation/reports/store/report-guards.ts';
import { createReportStore } from '../../../src/reputation/reports/store/report-store.ts';
import { reportGuardPrefix } from '../../../src/storage/keys.ts';
import { openLmdbStore } from '../../../src/storage/lmdb/store.ts';
import type { CommitResult, Store } from '../../../src/storage/store.ts';
import { manualClock, seededRandom } from '../../support/seeded.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';

/** As docs/API.md promises it. */
const guardMs = 900_000;
const clock = manualClock(Date.UTC(2026, 10, 21));
const random = systemRandom();

function openAt(path: string): Store {
  return openLmdbStore({ path, clock, log: createLog('silent') });
}

function tempDir() {
  const directory = makeTempDir('guards');
  return { path: directory.path, [Symbol.dispose]: directory.remove };
}

/** Says what became of a report. */
function reporting(store: Store, guardsMax?: number) {
  const more = guardsMax === undefined ? {} : { guardsMax };
  const reports = createReportStore({ store, clock, random, ...more });
  return async (account: string, address: number): Promise<string> => {
    const saved = await reports.add(
      { account, slot: 1, country: 'ZZ' },
      {
        family: 4,
        words: Uint32Array.of(address, 0, 0, 0),
        ip: '',
        categories: 4,
        comment: '',
        reportedAt: clock.now(),
      },
    );
    return saved.ok ? 'saved' : saved.error;
  };
}

async function eventsOf(store: Store): Promise<number> {
  return Number(await store.lastSeq());
}

const away = { ok: false, error: 'store_unavailable', seq: 0n, detail: 'full' } as const;

test('a journal that was read at a start holds up no report, and guards as before', async () => {
  using directory = tempDir();
  const before = openAt(directory.path);
  assert.equal(await reporting(before)('a', 1), 'saved');
  await before.close();
  const store = openAt(directory.path);
  let reads = 0;
  const counted: Store = Object.create(store, {
    read: {
      value: (...asked: Parameters<Store['read']>) => {
        reads++;
        return store.read(...asked);
      },
    },
  });
  await createReportStore({ store: counted, clock, random }).readAhead();
  const atStart = reads;
  assert.ok(atStart > 0);
  assert.equal(await reporting(counted)('a', 1), 'duplicate_report');
  assert.equal(await reporting(counted)('a', 2), 'saved');
  assert.equal(reads, atStart);
  await store.close();
});

test('of reports of one pair in one turn one is written, and others are not held up', async () => {
  using directory = tempDir();
  const store = openAt(directory.path);
  const report = reporting(store);
  const all = await Promise.all([
    report('a', 1),
    report('a', 1),
    report('a', 2),
    report('b', 1),
    report('a', 1),
  ]);
  assert.deepEqual(all.toSorted(), [
    'duplicate_report',
    'duplicate_report',
    'saved',
    'saved',
    'saved',
  ]);
  assert.equal(await eventsOf(store), 3);
  clock.advance(guardMs - 1);
  assert.equal(await report('a', 1), 'duplicate_report');
  clock.advance(1);
  assert.equal(await report('a', 1), 'saved');
  assert.deepEqual(await store.scan(reportGuardPrefix(), { limit: 1 }), [], 'no row stands guard');
  await store.close();
});

test('a report that could not be written can be repeated, by whoever waited for it too', async () => {
  using directory = tempDir();
  const store = openAt(directory.path);
  let failures = 1;
  const commit: Store['commit'] = async (one) => (failures-- > 0 ? away : store.commit(one));
  const report = reporting({ ...store, commit });
  const [first, second] = await Promise.all([report('a', 1), report('a', 1)]);
  assert.deepEqual([first, second], ['store_unavailable', 'saved']);
  assert.equal(await report('a', 1), 'duplicate_report');
  failures = 1;
  assert.equal(await report('a', 2), 'store_unavailable');
  assert.equal(await report('a', 2), 'saved');
  const broken = reporting({
    ...store,
    soleOwner: {},
    commit: () => Promise.reject(new Error('a bug')),
  });
  for (let i = 0; i < 2; i++) await assert.rejects(broken('a', 3), /a bug/);
  assert.equal(await eventsOf(store), 2);
  await store.close();
});

test('a report that was written though the store could not say so is not written again', async () => {
  using directory = tempDir();
  const store = openAt(directory.path);
  let late: Promise<CommitResult> | undefined;
  const commit: Store['commit'] = async (one) => {
    if (late !== undefined) return store.commit(one);
    const seq = await store.lastSeq();
    late = store.commit(one);
    return { ...away, seq };
  };
  const report = reporting({ ...store, commit });
  assert.equal(await report('a', 1), 'store_unavailable');
  await late;
  assert.equal(await report('a', 1), 'duplicate_report');
  assert.equal(await report('a', 2), 'saved');
  assert.equal(await eventsOf(store), 2);
  await store.close();
});

test('a start knows what was reported before it, and nothing that was cut off', async () => {
  using directory = tempDir();
  const store = openAt(directory.path);
  const report = reporting(store);
  for (let i = 0; i < 20; i++) {
    assert.equal(await report('a', i), 'saved');
    clock.advance(guardMs / 10);
  }
  // Taken, and then the process ends.
  void reporting({ ...store, commit: () => new Promise(() => {}) })('a', 100);
  await new Promise(setImmediate);
  await store.close();
  const again = openAt(directory.path);
  const after = reporting(again);
  assert.equal(await after('a', 100), 'saved');
  for (let i = 0; i < 20; i++)
    assert.equal(await after('a', i), i > 10 ? 'duplicate_report' : 'saved', `${i}`);
  await again.pruneEvents(await again.lastSeq());
  await again.close();
  const pruned = openAt(directory.path);
  assert.equal(await reporting(pruned)('a', 1), 'saved', 'a pruned journal is no fault');
  await pruned.close();
});

test('beyond the bound rows stand guard, through a restart too, and memory stays as it is', async () => {
  using directory = tempDir();
  const store = openAt(directory.path);
  const report = reporting(store, 16);
  for (let i = 0; i < 40; i++) assert.equal(await report(`a${i % 3}`, i), 'saved');
  for (let i = 0; i < 40; i++)
    assert.equal(await report(`a${i % 3}`, i), 'duplicate_report', `${i}`);
  assert.equal((await store.scan(reportGuardPrefix(), { limit: 100 })).length, 24);
  await store.close();
  const again = openAt(directory.path);
  const after = reporting(again, 32);
  for (let i = 8; i < 40; i++)
    assert.equal(await after(`a${i % 3}`, i), 'duplicate_report', `${i}`);
  clock.advance(guardMs);
  for (let i = 0; i < 32; i++) assert.equal(await after(`a${i % 3}`, i), 'saved');
  assert.equal(await eventsOf(again), 72);
  await again.close();
});

for (let seed = 1; seed <= 10; seed++) {
  test(`random reports, failures and waits are as in a model, in bounded memory, seed ${seed}`, async () => {
    const draw = seededRandom(seed);
    const below = (n: number) => Math.floor(draw.next() * n);
    const bound = 64;
    const guards = createReportGuards({
      store: { read: async () => [], lastSeq: async () => 0n, scan: async () => [] },
      clock,
      random: draw,
      guardsMax: bound,
    });
    const [table] = guards.tables;
    const made = new Map<string, number>();
    const open: { name: string; place: number }[] = [];
    const first = guards.take({ account: 'x', family: 4, words: Uint32Array.of(0) });
    assert.ok(first.kind === 'wait', 'the journal is read first');
    await first.until;
    for (let step = 0; step < 20_000; step++) {
      if (below(4) === 0) clock.advance(below(guardMs / 20));
      for (const [name, at] of made) if (clock.monotonicMs() - at >= guardMs) made.delete(name);
      if (open.length > 0 && below(2) === 0) {
        const { name, place } = open.splice(below(open.length), 1)[0]!;
        const isWritten = below(3) > 0;
        guards.settle(place, isWritten);
        if (!isWritten) made.delete(name);
        continue;
      }
      const [account, address] = [`account ${below(5)}`, below(20)];
      const family = address % 2 === 0 ? 4 : 6;
      const words = Uint32Array.of(address >> 1, 0, 0, family === 6 ? address : 0);
      const name = `${account} ${address}`;
      const taken = guards.take({ account, family, words });
      const isUnderWay = open.some((one) => one.name === name);
      const expected = isUnderWay ? 'wait' : made.has(name) ? 'duplicate' : 'taken';
      assert.equal(taken.kind, expected, `step ${step}`);
      assert.ok(table!.used() <= bound);
      if (taken.kind !== 'taken' || taken.sequence === undefined) continue;
      open.push({ name, place: taken.sequence });
      made.set(name, clock.monotonicMs());
    }
  });
}
