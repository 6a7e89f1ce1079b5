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
} from '../../../store/keys.ts';
import { pagesUnder } from '../../../store/pages.ts';
import type { SetRow, Store } from '../../../store/store.ts';
import type { OwnReport } from './report-rows.ts';
import { addressBytes, reportedAtIn } from './report-rows.ts';

/** Stands for all accounts: since when the index has their reports. */
export const everybody = '';

/** Ms since 1970; 0: it has all. Said by the first who asks. */
export async function indexedSince(
  store: Pick<Store, 'get' | 'scan' | 'commit'>,
  now: number,
): Promise<number> {
  const key = reportsIndexedKey(everybody);
  const row = await store.get(key);
  if (row !== undefined) return timeIn(row.value);
  const first = await store.scan(reportByIdPrefix(), { limit: 1 });
  // Of no report at all there is none that lacks its row, however old its account is.
  const since = first.length === 0 ? 0 : now;
  await store.commit({ check: [{ key, version: null }], set: [{ key, value: timeRow(since) }] });
  return since;
}

/** Whether the index has all reports, by its row for all accounts. */
export function isWholeIndex(row: Uint8Array): boolean {
  return timeIn(row) === 0;
}

/** Whether each report of the account is in the index, as far as the store alone tells. */
export async function isIndexed(
  store: Pick<Store, 'get' | 'scan'>,
  account: string,
): Promise<boolean> {
  if ((await store.get(reportsIndexedKey(account))) !== undefined) return true;
  const row = await store.get(reportsIndexedKey(everybody));
  if (row === undefined) return false;
  // Rows by id begin with the report's time. What is dated back looks older than it is.
  const [oldest] = await store.scan(reportByIdPrefix(), { limit: 1 });
  return oldest === undefined || Buffer.from(oldest.key).readUIntBE(1, 6) >= timeIn(row.value);
}

/** Says that the account was looked through. */
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

/** Where the report of a row lies. */
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
