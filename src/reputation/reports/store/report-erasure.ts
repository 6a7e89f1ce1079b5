/**
 * An account's reports when the account goes: they stay, under an id that names nobody any more,
 * since the scores rest on them. Comments were written by the person and may speak of them: they
 * are blanked. The index by account leads to them; where it may lack some (account-index.ts), all reports
 * are walked, in slices, so that others get their turn.
 */

import type { Pace } from '../../../core/scheduling.ts';
import { type Key, reportByAddressKey, reportByIdPrefix } from '../../../storage/keys.ts';
import { pagesUnder } from '../../../storage/pages.ts';
import type { SetRow, Store } from '../../../storage/store.ts';
import { indexPages, isIndexed, reportKeyIn } from './account-index.ts';
import { addressOf, decodeIdRow, decodeRow, encodeRow, type OwnReport } from './report-rows.ts';

/** Comments blanked in one commit: half a millisecond of the event loop. */
const blankRows = 50;
const attemptsMax = 5;

interface Found {
  readonly key: Key;
  readonly version: number;
  readonly report: OwnReport;
}

/** Yields an account's reports in the order of their times, forward or backward. */
export async function* reportsOfAccount(
  store: Store,
  account: string,
  pace: Pace,
): AsyncGenerator<OwnReport> {
  for await (const { report } of find(store, account, pace)) yield report;
}

/** Does the same without the index. */
export async function* allReportsOf(
  store: Store,
  account: string,
  pace: Pace,
): AsyncGenerator<OwnReport> {
  for await (const { report } of walk(store, account, pace)) yield report;
}

/**
 * Blanks an account's comments; safe to run again. @returns their number. @throws when the store
 * can't be written
 */
export async function blankComments(store: Store, account: string, pace: Pace): Promise<number> {
  let blanked = 0;
  let batch: Found[] = [];
  async function blankBatch(): Promise<void> {
    if (batch.length > 0) blanked += await blankAll(store, batch);
    batch = [];
  }
  for await (const found of find(store, account, pace)) {
    if (found.report.comment === '') continue;
    batch.push(found);
    if (batch.length >= blankRows) await blankBatch();
  }
  await blankBatch();
  return blanked;
}

async function blankAll(store: Store, batch: readonly Found[]): Promise<number> {
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

function blankRow({ key, report }: Found): SetRow {
  const reporter = { account: report.account, slot: report.reporter, country: report.country };
  return { key, value: encodeRow(reporter, { ...report, comment: '' }) };
}

async function blank(store: Store, found: Found): Promise<boolean> {
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

async function* find(store: Store, account: string, pace: Pace): AsyncGenerator<Found> {
  if (!(await isIndexed(store, account))) yield* walk(store, account, pace);
  else {
    for await (const page of indexPages(store, account)) {
      for (const row of page) {
        if (pace.isOver()) await pace.next();
        const found = await read(store, reportKeyIn(row), row.value);
        if (found?.report.account === account) yield found;
      }
    }
  }
}

async function* walk(store: Store, account: string, pace: Pace): AsyncGenerator<Found> {
  for await (const page of pagesUnder(store, reportByIdPrefix())) {
    for (const { key: idKey, value } of page) {
      if (pace.isOver()) await pace.next();
      const owner = decodeIdRow(value);
      if (owner?.account !== account) continue;
      const id = Buffer.from(idKey.subarray(1));
      const key = reportByAddressKey(owner.address, id.readUIntBE(0, 6), id);
      const found = await read(store, key, owner.address);
      if (found !== undefined) yield found;
    }
  }
}

async function read(store: Store, key: Key, address: Uint8Array): Promise<Found | undefined> {
  const row = await store.get(key);
  const report = row && decodeRow(key, row.value);
  if (row === undefined || report === undefined) return undefined;
  return { key, version: row.version, report: { ...report, ...addressOf(address) } };
}
