/**
 * Lists an account's reports, newest first, by an index of its own (row: the address). An account that may have
 * reported before the index existed is walked once, in slices, and a row notes that. An index row counts only if its
 * report exists; other rows are removed when they are met. If the store had no report when the server first started,
 * no account is ever walked.
 */

import type { PersonalData } from '../../../contracts/personal-data.ts';
import type { Clock } from '../../../core/clock.ts';
import { dateTextOrNull } from '../../../core/dates.ts';
import { fail, ok, type Result } from '../../../core/result.ts';
import type { Scheduler, Semaphore } from '../../../core/scheduling.ts';
import { dayMs } from '../../../core/time.ts';
import { formatIp } from '../../../ip/address.ts';
import {
  erasureKey,
  type Key,
  reportByAccountKey,
  reportByAccountPrefix,
  reportByAddressKey,
  reportByIdPrefix,
  reportsIndexedKey,
  reportTailByAccountKey,
  storedKey,
} from '../../../storage/keys.ts';
import { pagesUnder, type SetRow, type Store } from '../../../storage/store.ts';
import {
  type AccountReport,
  addressBytes,
  addressOf,
  decodeIdRow,
  decodeRow,
  encodeRow,
  reportedAtIn,
} from './report-rows.ts';
import type { ReportStore } from './report-store.ts';
import { tailAddresses, tailOf } from './tails.ts';

// An account's reports when the account goes: they stay, under an id that names nobody any more,
// since the scores rest on them. Comments were written by the person and may speak of them: they
// are blanked. The index by account leads to them; where it may lack some (see `indexedSince`), all reports
// are walked, in slices, so that others get their turn.

// The index of reports by account: under the account, newest first, the address of each. Since when it has all
// new ones, and which accounts were looked through for older ones, stands in rows of its own. Where there
// was no report when the server first started, it has all.

/** The account id of the row for all accounts. */
export const everybody = '';

/** Returns the time from which the index has all reports, ms since 1970; 0: it has all. The first call writes it. */
async function indexedSince(
  store: Pick<Store, 'get' | 'scan' | 'commit'>,
  now: number,
): Promise<number> {
  const key = reportsIndexedKey(everybody);
  const row = await store.get(key);
  if (row !== undefined) return timeIn(row.value);
  const first = await store.scan(reportByIdPrefix(), { limit: 1 });
  // Without any report none can lack its row, however old its account is.
  const since = first.length === 0 ? 0 : now;
  await store.commit({ check: [{ key, version: null }], set: [{ key, value: timeRow(since) }] });
  return since;
}

/** Returns true when the index has all reports, by its row for all accounts. */
export function isWholeIndex(row: Uint8Array): boolean {
  return timeIn(row) === 0;
}

/** Returns true when each report of the account is in the index, as far as the store alone shows. */
export async function isIndexed(
  store: Pick<Store, 'get' | 'scan'>,
  account: string,
): Promise<boolean> {
  if ((await store.get(reportsIndexedKey(account))) !== undefined) return true;
  const row = await store.get(reportsIndexedKey(everybody));
  if (row === undefined) return false;
  // Rows by id begin with the report's time. A report that is dated back seems older than it is.
  const [oldest] = await store.scan(reportByIdPrefix(), { limit: 1 });
  return oldest === undefined || Buffer.from(oldest.key).readUIntBE(1, 6) >= timeIn(row.value);
}

/** Makes the row that says that the account's older reports are in the index. */
export const indexedRow = (account: string, now: number): SetRow => ({
  key: reportsIndexedKey(account),
  value: timeRow(now),
});

/** The index's row of a report. */
function rowOf(
  account: string,
  report: Pick<AccountReport, 'id' | 'reportedAt' | 'family' | 'words'>,
): SetRow {
  const id = Buffer.from(report.id, 'base64url');
  return {
    key: reportByAccountKey(account, report.reportedAt, id),
    value: addressBytes(report.family, report.words),
  };
}

/** Returns the key of the report that a row stands for. */
function reportKeyIn({ key, value }: { key: Uint8Array; value: Uint8Array }) {
  return reportByAddressKey(value, reportedAtIn(key), key.subarray(key.length - 16));
}

/** Rows of the index, a page at a time, newest first. */
const indexPages = (store: Pick<Store, 'scan'>, account: string) =>
  pagesUnder(store, reportByAccountPrefix(account));

function timeRow(ms: number): Uint8Array {
  const value = Buffer.alloc(8);
  value.writeDoubleBE(ms);
  return value;
}

function timeIn(value: Uint8Array): number {
  return Buffer.from(value).readDoubleBE(0);
}

/** Comments blanked in one commit: half a millisecond of the event loop. */
const blankRows = 50;
const attemptsMax = 5;

interface FoundReport {
  readonly key: Key;
  readonly version: number;
  readonly report: AccountReport;
}

/** Yields an account's reports in the order of their times, forward or backward. */
export async function* reportsOfAccount(
  store: Store,
  account: string,
  scheduler: Scheduler,
): AsyncGenerator<AccountReport> {
  for await (const { report } of find(store, account, scheduler)) yield report;
}

/** Does the same without the index. */
async function* allReportsOf(
  store: Store,
  account: string,
  scheduler: Scheduler,
): AsyncGenerator<AccountReport> {
  for await (const { report } of walk(store, account, scheduler)) yield report;
}

/** Blanks an account's comments; safe to run again. @returns their number. @throws when the store can't be written */
export async function blankComments(
  store: Store,
  account: string,
  scheduler: Scheduler,
): Promise<number> {
  let blanked = 0;
  let batch: FoundReport[] = [];
  async function blankBatch(): Promise<void> {
    if (batch.length > 0) blanked += await blankAll(store, batch);
    batch = [];
  }
  for await (const found of find(store, account, scheduler)) {
    if (found.report.comment === '') continue;
    batch.push(found);
    if (batch.length >= blankRows) await blankBatch();
  }
  await blankBatch();
  return blanked;
}

async function blankAll(store: Store, batch: readonly FoundReport[]): Promise<number> {
  const done = await store.commit({
    check: batch.map(({ key, version }) => ({ key, version })),
    set: batch.map(blankRow),
  });
  if (done.ok) return batch.length;
  // One of them went or changed meanwhile: each by itself.
  let blanked = 0;
  for (const found of batch) if (await blank(store, found)) blanked++;
  return blanked;
}

function blankRow({ key, report }: FoundReport): SetRow {
  const reporter = { account: report.account, slot: report.reporter, country: report.country };
  return { key, value: encodeRow(reporter, { ...report, comment: '' }) };
}

async function blank(store: Store, found: FoundReport): Promise<boolean> {
  const { key } = found;
  let version = found.version;
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const done = await store.commit({ check: [{ key, version }], set: [blankRow(found)] });
    if (done.ok) return true;
    if (done.error === 'store_unavailable') break;
    const row = await store.get(key);
    if (row === undefined) return false;
    version = row.version;
  }
  throw new Error('a comment could not be removed');
}

async function* find(
  store: Store,
  account: string,
  scheduler: Scheduler,
): AsyncGenerator<FoundReport> {
  if (!(await isIndexed(store, account))) yield* walk(store, account, scheduler);
  else {
    for await (const page of indexPages(store, account)) {
      for (const row of page) {
        if (scheduler.shouldYield()) await scheduler.yield();
        const found = await read(store, reportKeyIn(row), row.value);
        if (found?.report.account === account) yield found;
      }
    }
  }
}

async function* walk(
  store: Store,
  account: string,
  scheduler: Scheduler,
): AsyncGenerator<FoundReport> {
  for await (const page of pagesUnder(store, reportByIdPrefix())) {
    for (const { key: idKey, value } of page) {
      if (scheduler.shouldYield()) await scheduler.yield();
      const owner = decodeIdRow(value);
      if (owner?.account !== account) continue;
      const id = Buffer.from(idKey.subarray(1));
      const key = reportByAddressKey(owner.address, id.readUIntBE(0, 6), id);
      const found = await read(store, key, owner.address);
      if (found !== undefined) yield found;
    }
  }
}

async function read(store: Store, key: Key, address: Uint8Array): Promise<FoundReport | undefined> {
  const row = await store.get(key);
  const report = row && decodeRow(key, row.value);
  if (row === undefined || report === undefined) return undefined;
  return { key, version: row.version, report: { ...report, ...addressOf(address) } };
}

export const accountReportsPerPage = 25;

/** The end of a key: time and id. */
const tailBytes = 22;
/** Rows of one commit: nothing else runs meanwhile. */
const rowsMax = 200;
export function createAccountReports(options: {
  store: Store;
  clock: Clock;
  /** Bounds the walks that run at a time. */
  walks: Pick<Semaphore, 'run'>;
  scheduler: () => Scheduler;
}) {
  const { store, clock, walks } = options;

  async function index(id: string): Promise<boolean> {
    // Nothing is written for an account that is deleted meanwhile.
    const check = [{ key: erasureKey(id), version: null }];
    let rows: AccountReport[] = [];
    async function write(): Promise<boolean> {
      const set = rows.map((report) => rowOf(id, report));
      rows = [];
      return set.length === 0 || (await store.commit({ check, set })).ok;
    }
    for await (const report of allReportsOf(store, id, options.scheduler())) {
      rows.push(report);
      if (rows.length >= rowsMax && !(await write())) return false;
    }
    if (!(await write())) return false;
    return (await store.commit({ check, set: [indexedRow(id, clock.now())] })).ok;
  }

  async function ensure(account: { id: string; createdAt: number }): Promise<Result<void>> {
    if (account.createdAt >= (await indexedSince(store, clock.now()))) return ok(undefined);
    if (await isIndexed(store, account.id)) return ok(undefined);
    const done = await walks.run(() => index(account.id));
    if (!done.ok) return done;
    return done.value ? ok(undefined) : fail('store_unavailable');
  }

  /**
   * `invalid_parameter` for a cursor that no page gave; `overloaded`, `store_unavailable`.
   * @param after `next` of the page before
   */
  async function page(account: { id: string; createdAt: number }, after?: string) {
    const start = after === undefined ? undefined : Buffer.from(after, 'base64url');
    if (start !== undefined && start.length !== tailBytes) return fail('invalid_parameter');
    const ready = await ensure(account);
    if (!ready.ok) return ready;
    const prefix = reportByAccountPrefix(account.id);
    const reports: AccountReport[] = [];
    const gone: Key[] = [];
    let at = start === undefined ? undefined : storedKey(Buffer.concat([prefix, start]));
    let isMore = true;
    while (isMore && reports.length < accountReportsPerPage) {
      const limit = accountReportsPerPage - reports.length;
      const rows = await store.scan(prefix, at === undefined ? { limit } : { after: at, limit });
      isMore = rows.length > 0;
      at = rows.at(-1)?.key ?? at;
      for (const { key, value } of rows) {
        const reportKey = reportKeyIn({ key, value });
        const row = await store.get(reportKey);
        const report = row && decodeRow(reportKey, row.value);
        if (report?.account === account.id) reports.push({ ...report, ...addressOf(value) });
        else if (gone.length < rowsMax) gone.push(key);
      }
    }
    if (gone.length > 0) await store.commit({ del: gone });
    const follows =
      at !== undefined && isMore && (await store.scan(prefix, { after: at, limit: 1 }));
    const hasMore = follows !== false && follows.length > 0;
    const next = hasMore ? Buffer.from(at!.subarray(at!.length - tailBytes)) : undefined;
    return ok({ reports, next: next?.toString('base64url') });
  }

  return {
    page,
    /** Called at the start: from then on each report has its row in the index. The first page does the same. */
    async begin(): Promise<void> {
      await indexedSince(store, clock.now());
    },
  };
}

export type AccountReports = ReturnType<typeof createAccountReports>;

/** Removes a deleted account from the index. @throws when the store can't be written */
export async function removeAccountReportsIndex(store: Store, account: string): Promise<void> {
  const prefix = reportByAccountPrefix(account);
  for (;;) {
    const rows = await store.scan(prefix, { limit: rowsMax });
    const del = [...rows.map(({ key }) => key), reportsIndexedKey(account)];
    const done = await store.commit({ del });
    if (!done.ok) throw new Error('the index of reports could not be removed');
    if (rows.length === 0) break;
  }
  for await (const addresses of tailAddresses(store, account)) {
    const del = addresses.map((address) => reportTailByAccountKey(account, address));
    const done = await store.commit({ del });
    if (!done.ok) throw new Error('the index of reports could not be removed');
  }
}

/** Gives reports for the export of an account, and erases what names its person. */
export function reportPersonalData(store: Store): PersonalData {
  return {
    name: 'reports',
    async exportOf(accountId, _email, scheduler) {
      const reports: unknown[] = [];
      for await (const report of reportsOfAccount(store, accountId, scheduler)) {
        const { id, reportedAt, categories, comment, family, words } = report;
        const address = formatIp(family, words);
        const numbers = Array.from({ length: 32 }, (_, n) => n).filter(
          (n) => (categories >>> n) & 1,
        );
        reports.push({ id, address, at: dateTextOrNull(reportedAt), categories: numbers, comment });
      }
      for await (const page of tailAddresses(store, accountId)) {
        for (const bytes of page) {
          const { tail } = await tailOf(store, accountId, bytes);
          if (tail === undefined) continue;
          const { family, words } = addressOf(bytes);
          const days = [...tail.days].map(([day, count]) => [dateTextOrNull(day * dayMs), count]);
          // Older reports are kept as counts by day only.
          reports.push({
            address: formatIp(family, words),
            reportsByDay: Object.fromEntries(days),
          });
        }
        if (scheduler.shouldYield()) await scheduler.yield();
      }
      return reports;
    },
    async erase(accountId, _email, scheduler) {
      await blankComments(store, accountId, scheduler);
      await removeAccountReportsIndex(store, accountId);
    },
  };
}

// Withdraws everything that an account reported: the evidence, the account's votes, and the confirmations that nobody
// else supports leave the scores, and the rows are removed. Each address is one commit; an interrupted run continues
// where it ended when it is started again.

export interface RetractedReports {
  readonly reports: number;
  readonly addresses: number;
}

/** A report that was under way while its account was disabled is found by another round. */
const roundsMax = 3;

export async function retractReports(options: {
  store: Store;
  reports: Pick<ReportStore, 'withdraw'>;
  account: string;
  /** Reports dated earlier stay, ms since 1970. */
  since: number;
  /** True when each address costs trust. */
  penalty: boolean;
  scheduler: Scheduler;
}): Promise<Result<RetractedReports>> {
  const { store, reports, account, since, penalty, scheduler } = options;
  let removedReports = 0;
  let addresses = 0;
  for (let round = 0; round < roundsMax; round++) {
    const before = addresses;
    for await (const { family, words } of addressesOf(store, account, since, scheduler)) {
      const gone = await reports.withdraw(account, family, words, penalty, since);
      if (!gone.ok) return fail(gone.error, gone.detail);
      // The row was read before its report was withdrawn with an earlier one of the same address.
      if (gone.value.removed === 0) continue;
      removedReports += gone.value.removed;
      addresses++;
    }
    if (addresses === before) break;
  }
  return ok({ reports: removedReports, addresses });
}

/** Yields the addresses that the account may have reported since then, some of them more than once. */
async function* addressesOf(store: Store, account: string, since: number, scheduler: Scheduler) {
  for await (const report of reportsOfAccount(store, account, scheduler)) {
    if (report.reportedAt >= since) yield report;
  }
  for await (const page of tailAddresses(store, account)) {
    for (const address of page) yield addressOf(address);
    if (scheduler.shouldYield()) await scheduler.yield();
  }
}

/** Withdraws all reports of a report's address by its account, which loses trust. Fails with `not_found`. */
export async function retractReport(
  reports: Pick<ReportStore, 'find' | 'withdraw'>,
  id: string,
): Promise<Result<{ account: string; address: string; removed: number }>> {
  const found = await reports.find(id);
  if (found === undefined) return fail('not_found', 'there is no such report');
  const { account, family, words } = found;
  const gone = await reports.withdraw(account, family, words, true);
  if (!gone.ok) return gone;
  return ok({ account, address: formatIp(family, words), removed: gone.value.removed });
}
