/**
 * Reads the newest reports of all, by the time at which they happened. Rows by id lie oldest first, and the
 * store reads forward alone: so a short span is read, and ever longer ones until there are enough. Reports
 * that were withdrawn or deleted are not among them.
 */

import { reportByAddressKey, reportByIdKey, reportByIdPrefix } from '../../../storage/keys.ts';
import type { Entry, Store } from '../../../storage/store.ts';
import { reportAgeMaxMs } from '../report.ts';
import { addressOf, decodeIdRow, decodeRow, type StoredReport } from './report-rows.ts';

export interface NewestReport {
  readonly family: 4 | 6;
  readonly words: Uint32Array;
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
 * Pages read of one span. In a burst, which has more, the newest may be missed until the next
 * poll.
 */
const pagesMax = 4;

/** @returns the newest first */
export async function newestReports(
  store: Pick<Store, 'scan' | 'get'>,
  now: number,
  limit: number,
): Promise<NewestReport[]> {
  let rows: Entry[] = [];
  for (const spanMs of spansMs) {
    rows = await rowsSince(store, now - spanMs);
    if (rows.length >= limit) break;
  }
  const newest: NewestReport[] = [];
  for (const { key, value } of rows.slice(-limit).reverse()) {
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

async function rowsSince(store: Pick<Store, 'scan'>, since: number): Promise<Entry[]> {
  const first = Buffer.alloc(16);
  first.writeUIntBE(Math.max(0, since), 0, 6);
  const rows: Entry[] = [];
  let after = reportByIdKey(first);
  for (let page = 0; page < pagesMax; page++) {
    const found = await store.scan(reportByIdPrefix(), { after, limit: scanPage });
    rows.push(...found);
    if (found.length < scanPage) break;
    after = found.at(-1)!.key;
  }
  return rows;
}
