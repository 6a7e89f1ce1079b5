/**
 * An account's reports when the account goes: they stay, under an id that names nobody any more,
 * since the scores rest on them. Comments were written by the person and may speak of them: they
 * are blanked. There is no index by account; the walk over all reports is bounded page by page.
 */

import { type Key, reportByAddressKey, reportByIdPrefix } from '../store/keys.ts';
import type { Store } from '../store/store.ts';
import { addressOf, decodeIdRow, decodeRow, encodeRow, type StoredReport } from './report-store.ts';

const pageRows = 500;
const attemptsMax = 5;

export interface OwnReport extends StoredReport {
  readonly family: 4 | 6;
  readonly words: Uint32Array;
}

interface Found {
  readonly key: Key;
  readonly version: number;
  readonly report: OwnReport;
}

/** Oldest first. */
export async function* reportsOfAccount(store: Store, account: string): AsyncGenerator<OwnReport> {
  for await (const { report } of walk(store, account)) yield report;
}

/** Safe to run again. @returns how many comments went. @throws when the store can't be written */
export async function blankComments(store: Store, account: string): Promise<number> {
  let blanked = 0;
  for await (const found of walk(store, account)) {
    if (found.report.comment !== '' && (await blank(store, found))) blanked++;
  }
  return blanked;
}

async function blank(store: Store, { key, version, report }: Found): Promise<boolean> {
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const reporter = { account: report.account, slot: report.reporter, country: report.country };
    const value = encodeRow(reporter, { ...report, comment: '' });
    const done = await store.commit({ check: [{ key, version }], set: [{ key, value }] });
    if (done.ok) return true;
    if (done.error === 'store_unavailable') break;
    const row = await store.get(key);
    if (row === undefined) return false;
    version = row.version;
  }
  throw new Error('a comment could not be removed');
}

async function* walk(store: Store, account: string): AsyncGenerator<Found> {
  let after: Key | undefined;
  for (;;) {
    const page = await store.scan(
      reportByIdPrefix(),
      after === undefined ? { limit: pageRows } : { after, limit: pageRows },
    );
    if (page.length === 0) return;
    for (const { key: idKey, value } of page) {
      const owner = decodeIdRow(value);
      if (owner?.account !== account) continue;
      const id = Buffer.from(idKey.subarray(1));
      const key = reportByAddressKey(owner.address, id.readUIntBE(0, 6), id);
      const row = await store.get(key);
      const report = row && decodeRow(key, row.value);
      if (!row || !report) continue;
      yield { key, version: row.version, report: { ...report, ...addressOf(owner.address) } };
    }
    after = page.at(-1)!.key;
  }
}
