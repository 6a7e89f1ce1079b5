/** An account's reports page by page: by the index, of those from before it, and over what went meanwhile. */

import assert from 'node:assert/strict';
import { after, it } from 'node:test';
import { createLog } from '../../../src/core/log.ts';
import { createScheduler, createSemaphore } from '../../../src/core/scheduling.ts';
import {
  accountReportsPerPage,
  blankComments,
  createAccountReports,
  indexedRow,
  isIndexed,
  removeAccountReportsIndex,
  reportsOfAccount,
} from '../../../src/reputation/reports/store/account-reports.ts';
import { createReportStore } from '../../../src/reputation/reports/store/report-store.ts';
import {
  erasureKey,
  type Key,
  reportByAccountKey,
  reportByAccountPrefix,
  reportByIdPrefix,
  reportsIndexedKey,
} from '../../../src/storage/keys.ts';
import { openLmdbStore } from '../../../src/storage/lmdb/store.ts';
import type { Store } from '../../../src/storage/store.ts';
import { errorOf, value } from '../../support/house/result.ts';
import { manualClock, seededRandom } from '../../support/seeded.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';

const directory = makeTempDir('account-reports');
const clock = manualClock(Date.UTC(2026, 0, 1));
const random = seededRandom(5);
const old = { id: 'old', createdAt: clock.now() - 1_000 };

const wordsOf = (n: number) => new Uint32Array([n, 0, 0, 0]);

const store = openLmdbStore({ path: directory.path, clock, log: createLog('silent') });
const reports = createReportStore({ store, clock, random });
const walks = createSemaphore({ runningMax: 1, waitingMax: 10 });
const own = createAccountReports({ store, clock, walks, scheduler: () => createScheduler() });

after(async () => {
  await store.close();
  directory.remove();
});

async function report(account: string, n: number) {
  clock.advance(1_000);
  const reporter = { account, slot: 1, country: 'FR' };
  const facts = { categories: 1 << 18, comment: `c${n}`, reportedAt: clock.now() };
  const ip = { ip: '', isExample: false, family: 4, words: wordsOf(n) } as const;
  return value(await reports.add(reporter, { ...ip, ...facts }));
}

async function all(account: { id: string; createdAt: number }): Promise<number[]> {
  const found: number[] = [];
  for (let next: string | undefined; ; ) {
    const page = value(await own.page(account, next));
    found.push(...page.reports.map(({ words }) => words[0]!));
    next = page.next;
    if (next === undefined) return found;
  }
}

it('reports from before the index are in it after the first look; others’ are not', async () => {
  const count = accountReportsPerPage * 2 + 3;
  for (let n = 0; n < count; n++) await report('old', n);
  await report('other', 1_000);
  // As a version without the index left them.
  const rows = await store.scan(reportByAccountPrefix('old'), { limit: 500 });
  assert.equal(rows.length, count);
  await store.commit({ del: rows.map(({ key }) => key) });
  const newestFirst = Array.from({ length: count }, (_, i) => count - 1 - i);
  assert.deepEqual(await all(old), newestFirst);
  await report('old', 2_000);
  assert.deepEqual(await all(old), [2_000, ...newestFirst]);
  const first = value(await own.page(old));
  assert.equal(first.reports.length, accountReportsPerPage);
  assert.equal(first.reports[0]?.comment, 'c2000');
  const young = { id: 'young', createdAt: clock.now() };
  await report('young', 7);
  assert.deepEqual(await all(young), [7]);
  assert.equal(await store.get(reportsIndexedKey('young')), undefined, 'no walk for it');
});

it('what is taken back or expired leaves the index; a row without a report goes when it is met', async () => {
  const before = await all(old);
  value(await reports.withdraw('old', 4, wordsOf(2_000), false));
  const rowsOf = () => store.scan(reportByAccountPrefix('old'), { limit: 500 });
  assert.equal((await rowsOf()).length, before.length - 1);
  assert.deepEqual(await all(old), before.slice(1));
  const stray = reportByAccountKey('old', clock.now(), new Uint8Array(16).fill(9));
  await store.commit({ set: [{ key: stray, value: new Uint8Array(17).fill(4) }] });
  assert.deepEqual(await all(old), before.slice(1));
  assert.equal(await store.get(stray), undefined);
  clock.advance(366 * 86_400_000);
  await reports.expire();
  assert.deepEqual(await store.scan(reportByIdPrefix(), { limit: 1 }), []);
  assert.deepEqual(await rowsOf(), []);
});

it('a cursor that no page gave is refused; of a deleted account nothing is left in the index', async () => {
  for (const wrong of ['', 'x', 'A'.repeat(31), 'é'.repeat(500)]) {
    assert.equal(errorOf(await own.page(old, wrong)), 'invalid_parameter', wrong);
  }
  await report('old', 1);
  await removeAccountReportsIndex(store, 'old');
  const left: Key[] = [reportsIndexedKey('old')];
  for (const key of left) assert.equal(await store.get(key), undefined);
  assert.deepEqual(await store.scan(reportByAccountPrefix('old'), { limit: 1 }), []);
});

/** As a store in which reports were made before. */
const beginIndexNow = () => store.commit({ set: [indexedRow('', clock.now() + 1)] });

it('nothing is indexed for an account that is being deleted', async () => {
  await report('leaving', 77);
  await removeAccountReportsIndex(store, 'leaving');
  await beginIndexNow();
  const marked = await store.commit({
    set: [{ key: erasureKey('leaving'), value: new Uint8Array([1]) }],
  });
  assert.ok(marked.ok);
  const page = await own.page({ id: 'leaving', createdAt: old.createdAt });
  assert.equal(errorOf(page), 'store_unavailable');
  assert.deepEqual(await store.scan(reportByAccountPrefix('leaving'), { limit: 10 }), []);
});

it('an account that goes, and its export, read no reports of others', async () => {
  const one = { id: 'going', createdAt: clock.now() };
  for (let n = 0; n < 300; n++) await report('other', 1_000 + n);
  for (const n of [2_000, 2_001]) await report(one.id, n);
  await beginIndexNow();
  const read = { rows: 0 };
  const counting: Store = {
    ...store,
    async scan(prefix, options) {
      const rows = await store.scan(prefix, options);
      read.rows += rows.length;
      return rows;
    },
  };
  const found = async () => {
    read.rows = 0;
    const words: number[] = [];
    const own = reportsOfAccount(counting, one.id, createScheduler());
    for await (const report of own) words.push(report.words[0]!);
    return words.sort();
  };
  assert.deepEqual(await found(), [2_000, 2_001]);
  assert.ok(read.rows > 300, 'reports are there that may lack their row');
  await all(one);
  // As once a year has gone by, or the account was looked through.
  await store.commit({ set: [indexedRow(one.id, clock.now())] });
  assert.deepEqual(await found(), [2_000, 2_001]);
  assert.ok(read.rows < 5, `${read.rows} rows`);
  read.rows = 0;
  assert.equal(await blankComments(counting, one.id, createScheduler()), 2);
  assert.ok(read.rows < 5, `${read.rows} rows`);
});

it('where nobody had reported when the server first started, no account is walked', async () => {
  const own = makeTempDir('account-reports-new');
  const empty = openLmdbStore({ path: own.path, clock, log: createLog('silent') });
  try {
    const walks = createSemaphore({ runningMax: 1, waitingMax: 10 });
    const fresh = createAccountReports({
      store: empty,
      clock,
      walks,
      scheduler: () => createScheduler(),
    });
    await fresh.begin();
    const made = createReportStore({ store: empty, clock, random });
    const facts = { categories: 1 << 18, comment: '', reportedAt: clock.now() };
    const report = { ip: '', isExample: false, family: 4, words: wordsOf(9), ...facts } as const;
    value(await made.add({ account: 'old', slot: 1, country: 'FR' }, report));
    assert.equal(value(await fresh.page(old)).reports.length, 1);
    assert.equal(await empty.get(reportsIndexedKey('old')), undefined, 'it was not walked');
    assert.ok(await isIndexed(empty, 'old'));
  } finally {
    await empty.close();
    own.remove();
  }
});
