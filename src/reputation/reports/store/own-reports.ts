/**
 * An account's reports, page by page, newest first, by an index of its own (row: the address). An account
 * that may have reported before there was an index is walked once, in slices; a row that says so is left.
 * What the index says counts only where the report is there: rows behind which none is go when they are met.
 * Where there was no report at all when the server first started, no account is ever walked.
 */

import type { Clock } from '../../../core/clock.ts';
import { fail, ok, type Result } from '../../../core/result.ts';
import type { Pace, Semaphore } from '../../../core/scheduling.ts';
import {
  erasureKey,
  type Key,
  reportByAccountPrefix,
  reportsIndexedKey,
  reportTailByAccountKey,
  storedKey,
} from '../../../storage/keys.ts';
import type { Store } from '../../../storage/store.ts';
import { indexedRow, indexedSince, isIndexed, reportKeyIn, rowOf } from './account-index.ts';
import { allReportsOf } from './report-erasure.ts';
import { addressOf, decodeRow, type OwnReport } from './report-rows.ts';
import { tailAddresses } from './tails.ts';

export interface OwnReportsPage {
  readonly reports: readonly OwnReport[];
  /** Cursor of the next page; undefined after the last report. */
  readonly next: string | undefined;
}

export interface OwnReports {
  /**
   * Called at the start: from then on each report has its row in the index. The first page does
   * the same.
   */
  begin(): Promise<void>;
  /**
   * `invalid_parameter` for a cursor that no page gave; `overloaded`, `store_unavailable`.
   * @param after `next` of the page before
   */
  page(
    account: { readonly id: string; readonly createdAt: number },
    after?: string,
  ): Promise<Result<OwnReportsPage>>;
}

export const ownReportsPerPage = 25;

/** The end of a key: time and id. */
const tailBytes = 22;
/** Rows of one commit: nothing else runs meanwhile. */
const rowsMax = 200;
export function createOwnReports(options: {
  store: Store;
  clock: Clock;
  /** Bounds the walks that run at a time. */
  walks: Pick<Semaphore, 'run'>;
  pace: () => Pace;
}): OwnReports {
  const { store, clock, walks } = options;

  async function index(id: string): Promise<boolean> {
    // Nothing is written for an account that is deleted meanwhile.
    const check = [{ key: erasureKey(id), version: null }];
    let rows: OwnReport[] = [];
    async function write(): Promise<boolean> {
      const set = rows.map((report) => rowOf(id, report));
      rows = [];
      return set.length === 0 || (await store.commit({ check, set })).ok;
    }
    for await (const report of allReportsOf(store, id, options.pace())) {
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

  async function page(account: { id: string; createdAt: number }, after?: string) {
    const start = after === undefined ? undefined : Buffer.from(after, 'base64url');
    if (start !== undefined && start.length !== tailBytes) return fail('invalid_parameter');
    const ready = await ensure(account);
    if (!ready.ok) return ready;
    const prefix = reportByAccountPrefix(account.id);
    const reports: OwnReport[] = [];
    const gone: Key[] = [];
    let at = start === undefined ? undefined : storedKey(Buffer.concat([prefix, start]));
    let isMore = true;
    while (isMore && reports.length < ownReportsPerPage) {
      const limit = ownReportsPerPage - reports.length;
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
    async begin() {
      await indexedSince(store, clock.now());
    },
  };
}

/** Removes a deleted account from the index. @throws when the store can't be written */
export async function removeOwnReportsIndex(store: Store, account: string): Promise<void> {
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
