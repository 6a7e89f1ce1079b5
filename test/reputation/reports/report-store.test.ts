/** Reports at rest, on a real store: pages in order, and withdrawals that race with reports. */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createLog } from '../../../src/core/log.ts';
import { systemRandom } from '../../../src/core/random.ts';
import { lastReportedAtOf } from '../../../src/index/records.ts';
import { createReportAdmission } from '../../../src/reputation/reports/store/report-guards.ts';
import {
  newestReports,
  readHistory,
  reportsAfter,
} from '../../../src/reputation/reports/store/report-history.ts';
import {
  addressBytes,
  encodeIdRow,
  encodeRow,
  keysOf,
} from '../../../src/reputation/reports/store/report-rows.ts';
import { createReportStore } from '../../../src/reputation/reports/store/report-store.ts';
import { openLmdbStore } from '../../../src/storage/lmdb/store.ts';
import type { Store, StoredRow } from '../../../src/storage/store.ts';
import { applyEvent, decodeEvent } from '../../support/reputation/events.ts';
import { manualClock } from '../../support/seeded.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';
import { openFold } from '../state/fixture.ts';

/** As docs/API.md promises it. */
const reportGuardMs = 900_000;
let stepMs = 0;
const steady = manualClock(Date.UTC(2026, 10, 21));
/** Its wall clock can be set. */
const clock = { ...steady, now: () => steady.now() + stepMs };
const directory = makeTempDir('reports');
const store = openLmdbStore({ path: directory.path, clock, log: createLog('silent') });
after(async () => {
  await store.close();
  directory.remove();
});

/** As one that other processes write to as well: guards are rows. */
function shared(): Store {
  const { soleOwner: _, ...rest } = store;
  return rest;
}

function open(over: Partial<Store> = {}, of = store) {
  const reports = createReportStore({
    store: { ...of, ...over },
    clock,
    random: systemRandom(),
  });
  return {
    ...reports,
    report: (account: string, address: number, agoMs = 0) =>
      reports.add(
        { account, slot: Number(account.slice(1)), country: 'FR' },
        {
          family: 4,
          words: Uint32Array.of(address, 0, 0, 0),
          ip: '',
          categories: 4,
          comment: `${agoMs}`,
          reportedAt: clock.now() - agoMs,
        },
      ),
  };
}

const at = (address: number) => Uint32Array.of(address, 0, 0, 0);

test('the newest reports are the newest ones, also behind a burst of thousands', async () => {
  const now = Date.UTC(2027, 0, 1);
  const address = addressBytes(4, at(0x01000003));
  const account = 'a1';
  const kept = new Map<string, StoredRow>();
  const keyOf = (key: Uint8Array) => Buffer.from(key).toString('hex');
  function add(reportedAt: number): void {
    const id = systemRandom().bytes(16);
    Buffer.from(id.buffer, id.byteOffset).writeUIntBE(reportedAt, 0, 6);
    const comment = String(reportedAt);
    const [row, byId] = keysOf(address, { account, reportedAt }, id);
    const value = encodeRow({ account, slot: 1, country: 'FR' }, { categories: 4, comment });
    kept.set(keyOf(row), { key: row, value, version: 1 });
    kept.set(keyOf(byId), { key: byId, value: encodeIdRow(account, address), version: 1 });
  }
  const held = {
    get: async (key: Uint8Array) => kept.get(keyOf(key)),
    async scan(prefix: Uint8Array, { after, limit }: { after?: Uint8Array; limit: number }) {
      const isNext = (key: string) =>
        key.startsWith(keyOf(prefix)) && (after === undefined || key > keyOf(after));
      const keys = [...kept.keys()].filter(isNext).sort();
      return keys.slice(0, limit).map((key) => kept.get(key)!);
    },
  };
  const newest = async (limit: number) =>
    (await newestReports(held, now, limit)).map(({ report }) => Number(report.comment));
  const times: number[] = [];
  assert.deepEqual(await newest(5), []);
  for (const [count, agoMs, lastedMs] of [
    [3, 400 * 60_000, 60_000],
    [3_000, 100 * 60_000, 5 * 60_000],
    [7, 60_000, 50_000],
    [3_000, 1_900, 1_000],
    [3, 900, 800],
  ] as const) {
    for (let i = 0; i < count; i++) {
      times.push(now - agoMs + Math.floor((i * lastedMs) / count));
      add(times.at(-1)!);
    }
    for (const limit of [1, 5, 20]) {
      assert.deepEqual(await newest(limit), times.slice(-limit).reverse());
      for (const at of [1, 6, 40, 400].filter((one) => one < times.length)) {
        const id = Buffer.from((await newestReports(held, now, at)).at(-1)!.report.id, 'base64url');
        const ages = (found: Awaited<ReturnType<typeof newestReports>>) =>
          found.map(({ report }) => Number(report.comment));
        const before = ages(await newestReports(held, now, limit, id));
        assert.deepEqual(before, times.slice(0, -at).slice(-limit).reverse(), `${limit} at ${at}`);
        const next = times.slice(times.length - at + 1).slice(0, limit);
        assert.deepEqual(ages(await reportsAfter(held, id, limit)), next.reverse());
      }
    }
  }
});

test('pages come newest first, whole, and end at the age asked for', async () => {
  const reports = open();
  const count = 1_203;
  await Promise.all(
    Array.from({ length: count }, (_, i) => reports.report(`a${i}`, 0x01000001, i * 1_000)),
  );
  await reports.report('a1', 0x01000002);
  const sizes: number[] = [];
  const ages: number[] = [];
  for await (const page of reports.pages(4, at(0x01000001), 0)) {
    sizes.push(page.length);
    ages.push(...page.map((report) => Number(report.comment)));
  }
  assert.deepEqual(sizes, [500, 500, 203]);
  assert.deepEqual(
    ages,
    Array.from({ length: count }, (_, i) => i * 1_000),
  );
  assert.equal((await reports.list(4, at(0x01000001), 0, 700)).length, 700);
  const address = { family: 4, words: at(0x01000001) } as const;
  const since = clock.now() - 99_000;
  const history = await readHistory(reports, address, { since, skip: 98, keep: 25 }, () => true);
  assert.equal(history.total, 100);
  assert.equal(history.reporters, 100);
  assert.equal(history.lastReportedAt, clock.now());
  assert.deepEqual(
    history.reports.map((report) => report.comment),
    ['98000', '99000'],
  );
  let asked = 0;
  const ended = await readHistory(reports, address, { since: 0, skip: 0, keep: 1 }, () => {
    asked++;
    return false;
  });
  assert.equal(asked, 1);
  assert.equal(ended.total, 500, 'nobody waits: the walk ends after a page');
});

for (const hours of [1, 24]) {
  for (const kind of ['memory', 'rows'] as const) {
    test(`a clock that is set back by ${hours} h does not make a guard in ${kind} longer`, async () => {
      const address = 0x07000000 + hours + (kind === 'rows' ? 100 : 0);
      const openOne = () => (kind === 'rows' ? open({}, shared()) : open({ soleOwner: {} }, store));
      const reports = openOne();
      assert.ok((await reports.report('a1', address)).ok);
      steady.advance(reportGuardMs / 3);
      stepMs = -hours * 3_600_000;
      const early = await reports.report('a1', address);
      assert.equal(early.ok ? 'taken' : early.error, 'duplicate_report', 'nor shorter');
      steady.advance((reportGuardMs / 3) * 2);
      assert.ok((await reports.report('a1', address)).ok);
      const again = await reports.report('a1', address);
      assert.equal(again.ok ? 'taken' : again.error, 'duplicate_report');
      stepMs *= 2;
      assert.ok(
        (await openOne().report('a1', address)).ok,
        'another process, no monotonic clock of it',
      );
      stepMs = 0;
    });
  }
}

test('a withdrawal removes the reports of one account and address, and no other', async () => {
  const reports = open();
  await reports.report('a1', 0x02000001);
  await reports.report('a2', 0x02000001);
  await reports.report('a1', 0x02000002);
  steady.advance(reportGuardMs);
  const again = await reports.report('a1', 0x02000001);
  assert.ok(again.ok);
  const withdrawn = await reports.withdraw('a1', 4, at(0x02000001), false);
  assert.ok(withdrawn.ok);
  assert.equal(withdrawn.value.removed, 2);
  const left = await reports.list(4, at(0x02000001), 0, 10);
  assert.deepEqual(
    left.map((report) => report.account),
    ['a2'],
  );
  assert.equal((await reports.list(4, at(0x02000002), 0, 10)).length, 1);
  assert.equal(await reports.find(again.value.id), undefined);
  const none = await reports.withdraw('a1', 4, at(0x02000001), false);
  assert.ok(none.ok);
  assert.equal(none.value.removed, 0);
});

test('of withdrawals at once only one counts what went', async () => {
  const reports = open();
  await reports.report('a1', 0x03000001);
  const all = await Promise.all(
    Array.from({ length: 8 }, () => reports.withdraw('a1', 4, at(0x03000001), false)),
  );
  const counts = all.map((result) => (result.ok ? result.value.removed : -1));
  assert.deepEqual(counts.sort(), [0, 0, 0, 0, 0, 0, 0, 1]);
});

for (const kind of ['memory', 'rows'] as const)
  test(`a report beside a withdrawal either goes with it or stands with its effect, guards in ${kind}`, async () => {
    const reports = kind === 'rows' ? open({}, shared()) : open();
    for (let round = 0; round < 40; round++) {
      const address = 0x04000000 + round + (kind === 'rows' ? 100 : 0);
      await reports.report('a1', address);
      steady.advance(reportGuardMs);
      const before = await store.lastSeq();
      const [withdrawn, added] = await Promise.all([
        reports.withdraw('a1', 4, at(address), false),
        (async () => {
          for (let turn = 0; turn < round % 8; turn++) await new Promise(setImmediate);
          return reports.report('a1', address);
        })(),
      ]);
      assert.ok(withdrawn.ok && added.ok);
      // What the journal says last decides the score; the rows must say the same.
      const events = await store.read(before, 10);
      const kinds = events.map((e) => decodeEvent(e.kind, e.version, e.body)!.kind);
      const rows = await reports.list(4, at(address), 0, 10);
      const stands = kinds.indexOf('report.added') > kinds.indexOf('reports.withdrawn');
      assert.equal(rows.length, stands ? 1 : 0, `round ${round}: ${kinds}`);
      assert.equal(withdrawn.value.removed, stands ? 1 : 2);
    }
  });

const yearMs = 365 * 86_400_000;

async function eventKinds(after: bigint): Promise<string[]> {
  const kinds: string[] = [];
  for (let seq = after; ; ) {
    const page = await store.read(seq, 1_000);
    if (page.length === 0) return kinds;
    kinds.push(...page.map(({ kind }) => kind));
    seq = page.at(-1)!.seq;
  }
}

test('all that is older than a year goes in one run, once, whoever else expires it', async () => {
  await open().expire();
  const count = 450;
  await Promise.all(
    Array.from({ length: count }, (_, i) => open().report(`a${i}`, 0x05000001, yearMs - 1_000)),
  );
  await open().report('a1', 0x05000002);
  steady.advance(2_000);
  const before = await store.lastSeq();
  // Two processes and, in one of them, two calls at once.
  const [one, other] = [open(), open()];
  const first = one.expire();
  const [a, same, b] = await Promise.all([first, one.expire(), other.expire()]);
  assert.equal(a, same, 'the second call waits for the first run');
  assert.equal(a + b, count);
  assert.deepEqual(await eventKinds(before), new Array(count).fill('reports.expired'));
  assert.deepEqual(await one.list(4, at(0x05000001), 0, 10), []);
  assert.equal((await one.list(4, at(0x05000002), 0, 10)).length, 1);
});

test('a stop during a mass expiry waits for the page under way alone; the next run goes on', async () => {
  await open().expire();
  const count = 450;
  await Promise.all(
    Array.from({ length: count }, (_, i) => open().report(`b${i}`, 0x05000003, yearMs - 1_000)),
  );
  steady.advance(2_000);
  const stop = new AbortController();
  const commits: number[] = [];
  const slow = open({
    async commit(commit) {
      commits.push(commit.events?.length ?? 0);
      stop.abort();
      return store.commit(commit);
    },
  });
  const first = await slow.expire(stop.signal);
  assert.deepEqual(commits, [first]);
  assert.ok(first > 0 && first < count, `${first} of ${count}`);
  assert.equal(await slow.expire(stop.signal), 0, 'none begins after a stop');
  assert.equal(await open().expire(), count - first);
});

test('a withdrawal that is cut short says so, and goes on when asked again', async () => {
  const rows = 1_001;
  for (let i = 0; i < rows; i++) {
    steady.advance(reportGuardMs);
    await open().report('a1', 0x06000001);
  }
  let commits = 0;
  const failing = open({
    commit: async (commit) =>
      ++commits === 2
        ? { ok: false, error: 'store_unavailable', seq: 0n, detail: 'full' }
        : store.commit(commit),
  });
  const result = await failing.withdraw('a1', 4, at(0x06000001), false);
  assert.equal(!result.ok && result.error, 'store_unavailable');
  const again = await failing.withdraw('a1', 4, at(0x06000001), false);
  assert.ok(again.ok);
  assert.equal(again.value.removed, rows - 500);
  assert.deepEqual(await failing.list(4, at(0x06000001), 0, 10), []);
});

const created = { kind: 'account.created', account: 'a1', verified: true, slot: 'now' } as const;

test('the index dates a report by the second of its row, however the clock ticks', async () => {
  const { fold, access, index } = openFold();
  applyEvent(access, created, clock.now());
  const start = Math.ceil(clock.now() / 1_000) * 1_000;
  for (const [i, [now, reported]] of [
    [600, -59_000],
    [400, -59_000],
    [0, -1],
    [999, 999],
    [250, -60_501],
  ].entries()) {
    const reports = createReportStore({
      store,
      clock: { ...clock, now: () => start + now! },
      random: systemRandom(),
    });
    const before = await store.lastSeq();
    const words = at(0x07000000 + i);
    const report = { family: 4, words, ip: '', categories: 4, comment: '' } as const;
    const reporter = { account: 'a1', slot: 1, country: 'FR' };
    assert.ok((await reports.add(reporter, { ...report, reportedAt: start + reported! })).ok);
    for (const event of await store.read(before, 10)) {
      // Committed a moment later.
      const body = decodeEvent(event.kind, event.version, event.body)!;
      await applyEvent(fold, body, start + now! + 7);
    }
    const [row] = await reports.list(4, words, 0, 1);
    const shown = lastReportedAtOf(index.records, index.find(4, words));
    assert.equal(shown, Math.floor(row!.reportedAt / 1_000), `case ${i}`);
  }
});

test('a report for which the index has no room is refused, and leaves nothing', async () => {
  const { entries, fold, access } = openFold({ entriesMax: 3, contributionsMax: 9, reserve: 2 });
  applyEvent(access, created, clock.now());
  const reports = createReportStore({
    store,
    clock,
    random: systemRandom(),
    admission: createReportAdmission({
      entries,
      clock,
      newAddresses: () => ({ limit: 100, used: 0 }),
      secondsLeftOfDay: () => 1,
      catchUpTo: async () => undefined,
    }),
  });
  const results: string[] = [];
  for (const [account, address] of [
    ['a1', 0x08000001],
    ['a1', 0x08000002],
    ['a1', 0x08000003],
    ['a2', 0x08000001],
  ] as const) {
    const before = await store.lastSeq();
    const report = { family: 4, words: at(address), ip: '', categories: 4, comment: '' } as const;
    const reporter = { account, slot: 1, country: 'FR' };
    const saved = await reports.add(reporter, { ...report, reportedAt: clock.now() });
    results.push(saved.ok ? 'saved' : saved.error);
    for (const event of await store.read(before, 10)) {
      await applyEvent(fold, decodeEvent(event.kind, event.version, event.body)!, clock.now());
    }
  }
  // One that is there already takes no entry.
  assert.deepEqual(results, ['saved', 'saved', 'capacity_exceeded', 'saved']);
  assert.deepEqual(await reports.list(4, at(0x08000003), 0, 10), []);
});

test('reports that begin together do not go beyond the limit, and what is not written is given back', async () => {
  const { entries, access } = openFold({ entriesMax: 99, contributionsMax: 99, reserve: 2 });
  applyEvent(access, created, clock.now());
  const never = new Promise<void>(() => undefined);
  const admission = createReportAdmission({
    entries,
    clock,
    newAddresses: () => ({ limit: 3, used: 0 }),
    secondsLeftOfDay: () => 1,
    catchUpTo: () => never,
  });
  let isBroken = true;
  const commit: Store['commit'] = async (change) => {
    if (isBroken) throw new RangeError('a bug');
    return store.commit(change);
  };
  const reports = createReportStore({
    store: { ...store, commit },
    clock,
    random: systemRandom(),
    admission,
  });
  const add = (address: number) => {
    const report = { family: 4, words: at(address), ip: '', categories: 4, comment: '' } as const;
    const reporter = { account: 'a1', slot: 1, country: 'FR' };
    return reports.add(reporter, { ...report, reportedAt: clock.now() });
  };
  const all = () => Promise.allSettled([1, 2, 3, 4, 5].map((i) => add(0x09000000 + i)));
  assert.deepEqual(
    (await all()).map(({ status }) => status),
    ['rejected', 'rejected', 'rejected', 'fulfilled', 'fulfilled'],
  );
  isBroken = false;
  const saved = (await all()).map((one) => one.status === 'fulfilled' && one.value.ok);
  assert.deepEqual(saved, [true, true, true, false, false]);
});
