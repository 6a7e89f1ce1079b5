/**
 * Reads the reports of one address in a window of time: their number, the number of accounts, and some of the
 * reports. It reads the newest `reportsWalkedMax` at most. Reports without details (details-bound.ts) are only
 * counted.
 */

import type { IpWords } from '../../../ip/address.ts';
import { reportByAddressKey, reportByIdKey, reportByIdPrefix } from '../../../storage/keys.ts';
import type { Store, StoredRow } from '../../../storage/store.ts';
import { reportAgeMaxMs } from '../report.ts';
import { addressOf, decodeIdRow, decodeRow, type StoredReport } from './report-rows.ts';
import type { ReportStore } from './report-store.ts';
import { countSince } from './tails.ts';

/** Takes a third of a second; one report every ten minutes for a year. */
export const reportsWalkedMax = 50_000;

export interface ReportHistory {
  /** Reports in the window that have details, at most `reportsWalkedMax`; with `withTails` all of them. */
  readonly total: number;
  /** Accounts behind them. */
  readonly reporters: number;
  /** Newest first: those from number `skip` on, at most `keep`. */
  readonly reports: readonly StoredReport[];
  /** Milliseconds since 1970 of the newest one. */
  readonly lastReportedAt: number | undefined;
}

/** @param isWanted asked between pages, with what was counted so far; false ends the walk early */
export async function readHistory(
  store: Pick<ReportStore, 'pages' | 'tails'>,
  address: IpWords,
  window: {
    readonly since: number;
    readonly skip: number;
    readonly keep: number;
    readonly withTails?: boolean;
  },
  isWanted: (soFar: number) => boolean,
): Promise<ReportHistory> {
  const { since, skip, keep } = window;
  const accounts = new Set<number>();
  const reports: StoredReport[] = [];
  let total = 0;
  let lastReportedAt: number | undefined;
  for await (const page of store.pages(address.family, address.words, since)) {
    for (const report of page) {
      if (total === reportsWalkedMax) break;
      lastReportedAt ??= report.reportedAt;
      accounts.add(report.reporter);
      if (total >= skip && reports.length < keep) reports.push(report);
      total++;
    }
    if (total === reportsWalkedMax || !isWanted(total)) break;
  }
  if (window.withTails === true && isWanted(total)) {
    for await (const page of store.tails(address.family, address.words)) {
      for (const tail of page) {
        const count = countSince(tail, since);
        if (count === 0) continue;
        total += count;
        accounts.add(tail.reporter);
        lastReportedAt = Math.max(lastReportedAt ?? 0, tail.newestAt);
      }
      if (!isWanted(total)) break;
    }
  }
  return { total, reporters: accounts.size, reports, lastReportedAt };
}

/** Bounds of a page of the list of an address's reports. */
export const pageBounds = { perPageMax: 100, pageMax: 1_000_000 } as const;

// Reads the newest reports of all by the time at which they happened. Rows by id are stored oldest first, and the
// store reads forward only: so a short span is read, then ever longer ones until there are enough. Withdrawn and
// deleted reports are not among them.

export interface NewestReport extends IpWords {
  readonly report: StoredReport;
}

/** Each span is some times the one before: one that has enough doesn't have many more. */
const spansMs = [
  2_000,
  15_000,
  120_000,
  900_000,
  7_200_000,
  43_200_000,
  259_200_000,
  1_728_000_000,
  reportAgeMaxMs,
] as const;
const scanPage = 500;

/**
 * @param before the id of a report: those that come before it in time
 * @returns the newest first
 */
export async function newestReports(
  store: Pick<Store, 'scan' | 'get'>,
  now: number,
  limit: number,
  before?: Uint8Array,
): Promise<NewestReport[]> {
  return reportsIn(store, (await newestRows(store, now, limit, before)).slice(-limit));
}

/** Reads the reports that come next after that of the id. @returns the newest first */
export async function reportsAfter(
  store: Pick<Store, 'scan' | 'get'>,
  id: Uint8Array,
  limit: number,
): Promise<NewestReport[]> {
  const rows = await store.scan(reportByIdPrefix(), { after: reportByIdKey(id), limit });
  return reportsIn(store, rows);
}

/** @param rows by id, the oldest first */
async function reportsIn(
  store: Pick<Store, 'get'>,
  rows: readonly StoredRow[],
): Promise<NewestReport[]> {
  const newest: NewestReport[] = [];
  for (const { key, value } of rows.toReversed()) {
    const idRow = decodeIdRow(value);
    if (idRow === undefined) continue;
    const id = key.subarray(1);
    const rowKey = reportByAddressKey(idRow.address, Buffer.from(id).readUIntBE(0, 6), id);
    const row = await store.get(rowKey);
    const report = row && decodeRow(rowKey, row.value);
    if (report !== undefined) newest.push({ ...addressOf(idRow.address), report });
  }
  return newest;
}

/** Returns at least `limit` rows, of which the last are the newest; fewer where there are no more. */
async function newestRows(
  store: Pick<Store, 'scan'>,
  now: number,
  limit: number,
  before: Uint8Array | undefined,
): Promise<readonly StoredRow[]> {
  const end = before === undefined ? now : Buffer.from(before).readUIntBE(0, 6);
  let rows: readonly StoredRow[] = [];
  let [since, until] = [end, end];
  for (const spanMs of spansMs) {
    since = Math.max(0, end - spanMs);
    rows = await pageSince(store, since, before);
    if (rows.length >= limit) break;
    until = since;
  }
  // Behind a full page are newer ones. Fewer than `limit` came since `until`.
  while (rows.length === scanPage && until - since > 1) {
    const middle = Math.floor((since + until) / 2);
    const later = await pageSince(store, middle, before);
    if (later.length < limit) until = middle;
    else [since, rows] = [middle, later];
  }
  return rows;
}

async function pageSince(
  store: Pick<Store, 'scan'>,
  since: number,
  before: Uint8Array | undefined,
): Promise<readonly StoredRow[]> {
  const first = Buffer.alloc(16);
  first.writeUIntBE(since, 0, 6);
  const rows = await store.scan(reportByIdPrefix(), {
    after: reportByIdKey(first),
    limit: scanPage,
  });
  const end = before && reportByIdKey(before);
  return end === undefined ? rows : rows.filter(({ key }) => Buffer.compare(key, end) < 0);
}
