/**
 * The index of reports by account: under the account, newest first, the address of each. Since when it has all
 * new ones, and which accounts were looked through for older ones, stands in rows of its own. Where there
 * was no report when the server first started, it has all.
 */

import {
  reportByAccountKey,
  reportByAccountPrefix,
  reportByAddressKey,
  reportByIdPrefix,
  reportsIndexedKey,
} from '../../../storage/keys.ts';
import { pagesUnder } from '../../../storage/pages.ts';
import type { SetRow, Store } from '../../../storage/store.ts';
import { addressBytes, type OwnReport, reportedAtIn } from './report-rows.ts';

/** The account id of the row for all accounts. */
export const everybody = '';

/**
 * Returns the time from which the index has all reports, ms since 1970; 0: it has all. The first
 * call writes it.
 */
export async function indexedSince(
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

/**
 * Returns true when each report of the account is in the index, as far as the store alone shows.
 */
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
export function rowOf(
  account: string,
  report: Pick<OwnReport, 'id' | 'reportedAt' | 'family' | 'words'>,
): SetRow {
  const id = Buffer.from(report.id, 'base64url');
  return {
    key: reportByAccountKey(account, report.reportedAt, id),
    value: addressBytes(report.family, report.words),
  };
}

/** Returns the key of the report that a row stands for. */
export function reportKeyIn({ key, value }: { key: Uint8Array; value: Uint8Array }) {
  return reportByAddressKey(value, reportedAtIn(key), key.subarray(key.length - 16));
}

/** Rows of the index, a page at a time, newest first. */
export const indexPages = (store: Pick<Store, 'scan'>, account: string) =>
  pagesUnder(store, reportByAccountPrefix(account));

function timeRow(ms: number): Uint8Array {
  const value = Buffer.alloc(8);
  value.writeDoubleBE(ms);
  return value;
}

function timeIn(value: Uint8Array): number {
  return Buffer.from(value).readDoubleBE(0);
}
