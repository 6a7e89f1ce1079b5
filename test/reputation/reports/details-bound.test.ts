/**
 * Details of an address beyond the newest ones go, and nothing that is counted does: against a model that
 * keeps every report, with commits that fail and other work between any two of them.
 */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { forget, undoOf } from '../../../src/commands/store/restore.ts';
import { createLog } from '../../../src/core/log.ts';
import type { Random } from '../../../src/core/random.ts';
import { reportAgeMaxMs } from '../../../src/reputation/reports/report.ts';
import {
  removeAccountReportsIndex,
  retractReports,
} from '../../../src/reputation/reports/store/account-reports.ts';
import {
  createDetailsKeeper,
  pruneDetails,
} from '../../../src/reputation/reports/store/details-bound.ts';
import { readHistory } from '../../../src/reputation/reports/store/report-history.ts';
import { addressBytes } from '../../../src/reputation/reports/store/report-rows.ts';
import { createReportStore } from '../../../src/reputation/reports/store/report-store.ts';
import { tailAddresses } from '../../../src/reputation/reports/store/tails.ts';
import { erasedRow } from '../../../src/storage/backup/erased.ts';
import {
  reportByAccountPrefix,
  reportTailDuePrefix,
  reportTailPrefix,
} from '../../../src/storage/keys.ts';
import { openLmdbStore } from '../../../src/storage/lmdb/store.ts';
import type { CommitResult, Store } from '../../../src/storage/store.ts';
import { decodeEvent } from '../../support/reputation/events.ts';
import { manualClock, seededRandom } from '../../support/seeded.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';

const minuteMs = 60_000;
const dayMs = 86_400_000;
const kept = 5;
const start = Date.UTC(2026, 0, 1, 7);
const accounts = ['a0', 'a1', 'a2'];
const scheduler = { shouldYield: () => false, yield: async () => undefined };
const directory = makeTempDir('details');
let clock = manualClock(start);
const shared = { now: () => clock.now(), monotonicMs: () => clock.monotonicMs() };
const store = openLmdbStore({ path: directory.path, clock: shared, log: createLog('silent') });
after(async () => {
  await store.close();
  directory.remove();
});

interface Said {
  readonly account: string;
  readonly at: number;
  isFolded: boolean;
}

const day = (ms: number) => Math.floor(ms / dayMs);
const isIn = ({ at, isFolded }: Said, since: number) =>
  isFolded ? day(at) * dayMs >= since : at >= since;
const isOver = ({ at, isFolded }: Said, cutoff: number) =>
  isFolded ? (day(at) + 1) * dayMs <= cutoff : at < cutoff;

const words = (address: number) => Uint32Array.of(address, 0, 0, 0);
const isWanted = () => true;

function open(over: Partial<Store>, random: Random) {
  // A clock of its own means a process of its own.
  const all = { ...store, soleOwner: clock, ...over };
  const reports = createReportStore({ store: all, clock, random });
  return {
    ...reports,
    store: all,
    report: (account: string, address: number, agoMs = 0) =>
      reports.add(
        { account, slot: Number(account.slice(1)), country: 'FR' },
        {
          family: 4,
          words: words(address),
          ip: '',
          categories: 4,
          comment: 'c',
          reportedAt: clock.now() - agoMs,
        },
      ),
  };
}

/** Reports of each account and address by what the journal says. */
async function inJournal(address: number): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  for (let seq = 0n; ; ) {
    const events = await store.read(seq, 1_000);
    if (events.length === 0) return counts;
    for (const event of events) {
      seq = event.seq;
      const body = decodeEvent(event.kind, event.version, event.body)!;
      if (!('account' in body) || body.words[0] !== address) continue;
      const held = counts.get(body.account) ?? 0;
      const left =
        body.kind === 'report.added'
          ? held + 1
          : body.reports === undefined
            ? 0
            : Math.max(0, held - body.reports);
      counts.set(body.account, left);
    }
  }
}

async function rows(prefix: Parameters<Store['scan']>[0]) {
  return await store.scan(prefix, { limit: 1_000 });
}

for (const seed of [1, 2, 3, 4]) {
  test(`whatever happens, counts are those of a model that keeps all (seed ${seed})`, async () => {
    clock = manualClock(start + seed * 400 * dayMs);
    const random = seededRandom(seed);
    const below = (n: number) => Math.floor(random.next() * n);
    const reports = open({}, random);
    const address = 0x0a00_0000 + seed;
    let said: Said[] = [];
    for (let step = 0; step < 200; step++) {
      clock.advance(minuteMs * (1 + below(step % 3 === 0 ? 900 : 20)));
      const account = accounts[below(accounts.length)]!;
      const since = below(2) === 0 ? 0 : clock.now() - below(6 * dayMs);
      const dice = below(24);
      if (dice < 15) {
        const agoMs = below(3) === 0 ? below(3 * dayMs) : 0;
        const done = await reports.report(account, address, agoMs);
        if (done.ok) said.push({ account, at: clock.now() - agoMs, isFolded: false });
      } else if (dice < 19) {
        await pruneDetails(store, { family: 4, words: words(address) }, { kept });
        const details = said.filter(({ isFolded }) => !isFolded).sort((a, b) => b.at - a.at);
        for (const one of details.slice(kept)) one.isFolded = true;
      } else if (dice < 22) {
        const gone = said.filter((one) => one.account === account && isIn(one, since));
        const done = await reports.withdraw(account, 4, words(address), false, since);
        assert.ok(done.ok);
        assert.equal(done.value.removed, gone.length, `step ${step}`);
        said = said.filter((one) => !gone.includes(one));
      } else if (dice === 22) {
        if (below(4) === 0) clock.advance(reportAgeMaxMs - below(4) * dayMs);
        const cutoff = clock.now() - reportAgeMaxMs;
        const due = said.filter((one) => isOver(one, cutoff));
        assert.equal(await reports.expire(), due.length, `step ${step}`);
        said = said.filter((one) => !due.includes(one));
      } else {
        const inTime = said.filter((one) => isIn(one, since));
        const counted = await reports.count(4, words(address), since, 1e6, async () => true);
        assert.equal(counted, inTime.length, `step ${step}`);
        const window = { since, skip: 0, keep: 3, withTails: true };
        const about = { family: 4, words: words(address) } as const;
        const history = await readHistory(reports, about, window, isWanted);
        assert.equal(history.total, inTime.length);
        assert.equal(history.reporters, new Set(inTime.map((one) => one.account)).size);
      }
      const details = said.filter(({ isFolded }) => !isFolded);
      const listed = await reports.list(4, words(address), 0, 1_000);
      assert.deepEqual(
        listed.map(({ reportedAt }) => reportedAt),
        details.map(({ at }) => at).sort((a, b) => b - a),
        `step ${step}`,
      );
      if (step % 10 > 0) continue;
      const told = await inJournal(address);
      for (const one of accounts) {
        const count = said.filter(({ account }) => account === one).length;
        assert.equal(told.get(one) ?? 0, count, `step ${step}: ${one}`);
      }
    }
    clock.advance(2 * reportAgeMaxMs);
    await reports.expire();
    assert.deepEqual(await rows(reportTailPrefix(addressBytes(4, words(address)))), []);
    assert.deepEqual(await rows(reportTailDuePrefix()), [], 'nothing is left behind');
  });
}

/** Accounts that reported the address so many times each, a day between two rounds. */
async function flooded(address: number, rounds: number, by = accounts) {
  const reports = open({}, seededRandom(address));
  const made: Promise<{ ok: boolean }>[] = [];
  for (let round = 0; round < rounds; round++) {
    for (const account of by) {
      made.push(reports.report(account, address));
      clock.advance(minuteMs);
    }
    clock.advance(dayMs);
  }
  for (const done of await Promise.all(made)) assert.ok(done.ok);
  return reports;
}

/** Reports of one account that go by two commits, of 500 at most, also when 200 of them are in a tail by then. */
const overOneCommit = 720;

const about = (address: number) => ({ family: 4, words: words(address) }) as const;

/** Does something else before the commits that it is told. */
function interrupted(commits: readonly number[], act: () => Promise<unknown>): Partial<Store> {
  let made = 0;
  return {
    async commit(change): Promise<CommitResult> {
      if (commits.includes(made++)) await act();
      return await store.commit(change);
    },
  };
}

for (const nth of [0, 1]) {
  test(`what is taken back, or said, while details go is counted once (commit ${nth})`, async () => {
    const address = 0x0b00_0000 + nth;
    const reports = await flooded(address, 200);
    let gone = 0;
    const between = interrupted([nth], async () => {
      const done = await reports.withdraw('a1', 4, words(address), false);
      assert.ok(done.ok);
      gone = done.value.removed;
      assert.ok((await reports.report('a1', address, dayMs * 300)).ok);
    });
    const done = await pruneDetails({ ...store, ...between }, about(address), { kept });
    assert.equal(gone, 200);
    assert.ok(done.isWhole);
    assert.ok((await reports.list(4, words(address), 0, 1_000)).length <= kept);
    assert.deepEqual(
      await inJournal(address),
      new Map(Object.entries({ a0: 200, a1: 1, a2: 200 })),
    );
    assert.equal(await reports.count(4, words(address), 0, 1e6, async () => true), 401);
  });
}

for (const work of ['fold', 'withdraw'] as const) {
  test(`days that are over go while tails change otherwise (${work})`, async () => {
    const address = work === 'fold' ? 0x0b00_0010 : 0x0b00_0011;
    const reports = await flooded(address, 10);
    await pruneDetails(store, about(address), { kept });
    clock.advance(reportAgeMaxMs - 8 * dayMs);
    await flooded(address, 3);
    let isExpired = false;
    const between = interrupted([0], async () => {
      isExpired = (await reports.expire()) > 0;
    });
    if (work === 'fold') await pruneDetails({ ...store, ...between }, about(address), { kept });
    else {
      const other = open(between, seededRandom(1));
      const done = await other.withdraw('a1', 4, words(address), false);
      assert.ok(
        done.ok && done.value.removed > 0 && done.value.removed < 13,
        'no day counts twice',
      );
    }
    assert.ok(isExpired);
    const told = [...(await inJournal(address)).values()].reduce((sum, one) => sum + one);
    assert.ok(told > 0 && told < 39);
    assert.equal(await reports.count(4, words(address), 0, 1e6, async () => true), told);
  });
}

test('details that go while an account takes its reports back are taken back, too', async () => {
  const address = 0x0c00_0000;
  await flooded(address, 50, ['a0', 'a2']);
  await flooded(address, overOneCommit, ['a1']);
  const between = interrupted([1], () => pruneDetails(store, about(address), { kept: 100 }));
  const done = await open(between, seededRandom(1)).withdraw('a1', 4, words(address), true);
  assert.ok(done.ok);
  assert.equal(done.value.removed, overOneCommit);
  assert.equal((await inJournal(address)).get('a1'), 0);
  const left = await open({}, seededRandom(2)).count(4, words(address), 0, 1e6, async () => true);
  assert.equal(left, 100);
});

test('a run that ends between two commits is gone on with, in both directions', async () => {
  const address = 0x0d00_0000;
  await flooded(address, 50, ['a1', 'a2']);
  const reports = await flooded(address, overOneCommit, ['a0']);
  let left = 1;
  const breaking: Partial<Store> = {
    async commit(change) {
      if (left-- > 0) return await store.commit(change);
      return { ok: false, error: 'store_unavailable', seq: 0n, detail: 'no more room' };
    },
  };
  const cut = await pruneDetails({ ...store, ...breaking }, about(address), { kept });
  assert.deepEqual(cut, { folded: 200, isWhole: false });
  const counted = () => reports.count(4, words(address), 0, 1e6, async () => true);
  assert.equal(await counted(), overOneCommit + 100);
  left = 1;
  const first = await open(breaking, seededRandom(3)).withdraw('a0', 4, words(address), true);
  assert.equal(first.ok, false);
  const told = (await inJournal(address)).get('a0')!;
  assert.ok(told > 0 && told < overOneCommit);
  assert.equal(await counted(), 100 + told);
  const second = await reports.withdraw('a0', 4, words(address), false);
  assert.equal(second.ok && second.value.removed, told);
  const rest = await pruneDetails(store, about(address), { kept });
  assert.ok(rest.isWhole);
  assert.equal((await reports.list(4, words(address), 0, 1_000)).length, kept);
  assert.equal(await counted(), 100);
});

test('an account takes back what it said of an address where no detail is left', async () => {
  const address = 0x0e00_0000;
  const reports = await flooded(address, 4, ['b0', 'b1', 'b2']);
  await pruneDetails(store, about(address), { kept: 1 });
  const list = await reports.list(4, words(address), 0, 10);
  assert.deepEqual(
    list.map(({ account }) => account),
    ['b2'],
  );
  const taken = await retractReports({
    store,
    reports,
    account: 'b1',
    since: clock.now() - 3 * dayMs,
    penalty: true,
    scheduler,
  });
  assert.deepEqual(taken.ok && taken.value, { reports: 2, addresses: 1 }, 'whole days alone');
  const all = { store, reports, account: 'b1', since: 0, penalty: true, scheduler };
  const rest = await retractReports(all);
  assert.deepEqual(rest.ok && rest.value, { reports: 2, addresses: 1 });
});

test('of a deleted account no row leads to its addresses, and its reports go on to count', async () => {
  const address = 0x0f00_0000;
  const reports = await flooded(address, 3);
  const addressesOf = async (account: string) => {
    const found: number[] = [];
    for await (const page of tailAddresses(store, account)) {
      found.push(...page.map((bytes) => Buffer.from(bytes).readUInt32BE(13)));
    }
    return found.filter((one) => one === address).length;
  };
  const deletion = interrupted([0], async () => {
    await store.commit({ set: [erasedRow('a0', clock.now())] });
    await removeAccountReportsIndex(store, 'a0');
  });
  await pruneDetails({ ...store, ...deletion }, about(address), { kept: 1 });
  assert.equal(await addressesOf('a0'), 0, 'deleted meanwhile');
  assert.equal(await addressesOf('a1'), 1);
  await removeAccountReportsIndex(store, 'a1');
  assert.equal(await addressesOf('a1'), 0, 'deleted later');
  assert.equal(await reports.count(4, words(address), 0, 100, async () => true), 9);
  await store.commit({ del: [erasedRow('a0', 0).key] });
});

test('a restore to an earlier position takes a report out of a tail, too', async () => {
  const address = 0x1100_0000;
  const before = await store.lastSeq();
  const reports = await flooded(address, 2);
  const events = (await store.read(before, 100)).map(undoOf);
  await pruneDetails(store, about(address), { kept: 1 });
  const counted = () => reports.count(4, words(address), 0, 100, async () => true);
  await forget(store, events.slice(-4));
  assert.equal(await counted(), 2);
  await forget(store, events.slice(0, 2));
  assert.equal(await counted(), 0);
  assert.deepEqual(await rows(reportTailPrefix(addressBytes(4, words(address)))), []);
});

test('a restore to an earlier position leaves nothing of a report in the index of its account', async () => {
  clock = manualClock(start);
  const before = await store.lastSeq();
  await open({}, seededRandom(34)).report('a9', 0x1200_0000);
  const indexed = () => rows(reportByAccountPrefix('a9'));
  assert.equal((await indexed()).length, 1);
  const [added] = await store.read(before, 1);
  await forget(store, [undoOf(added!)]);
  assert.deepEqual(await indexed(), []);
});

test('an address is looked at again when more have come than the slack', async () => {
  const address = 0x1000_0000;
  const reports = await flooded(address, 4);
  const keeper = createDetailsKeeper(store, { kept, slack: 3 });
  const run = (counted: number) => keeper.run([{ ...about(address), reports: counted }]);
  assert.equal(await run(7), 0, 'not so many');
  assert.equal(await run(12), 7);
  for (const account of accounts) await reports.report(account, address);
  assert.equal(await run(14), 0);
  assert.equal(await run(15), 3);
  await reports.withdraw('a0', 4, words(address), false);
  assert.equal(await run(10), 0);
  clock.advance(dayMs);
  for (const account of accounts) await reports.report(account, address);
  assert.equal(await run(13), 2, 'three more than there were');
});

test('an address that was looked at is known to be while others come up in its place', async () => {
  clock = manualClock(start);
  const reports = open({}, seededRandom(33));
  for (const address of [71, 72]) {
    for (let n = 0; n < 3; n++) {
      for (const account of accounts) await reports.report(account, address);
      clock.advance(16 * minuteMs);
    }
  }
  const keeper = createDetailsKeeper(store, { kept, slack: 3 });
  const run = (address: number, counted: number) =>
    keeper.run([{ ...about(address), reports: counted }]);
  assert.deepEqual([await run(71, 9), await run(72, 9)], [4, 4]);
  for (const account of ['a0', 'a1']) await reports.report(account, 71);
  assert.equal(await run(71, 11), 0, 'not three more');
});
