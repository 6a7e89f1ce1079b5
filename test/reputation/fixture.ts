/** The fold on an index of its own, without a store: what a test of the reputation domain needs. */

import { type AccountsTable, createAccountsTable } from '../../src/access/accounts-table.ts';
import { type AccessFold, createAccessFold } from '../../src/access/fold.ts';
import { createIpIndex, type IpIndex } from '../../src/index/ip-index.ts';
import { type Check, openCheck } from '../../src/reputation/check.ts';
import { createEntries, type Entries } from '../../src/reputation/entries.ts';
import { createFold, type Fold } from '../../src/reputation/fold.ts';
import { entryPages } from '../../src/reputation/page-lists.ts';
import { createReportFold } from '../../src/reputation/report-fold.ts';
import { createSources, type Sources } from '../../src/reputation/sources.ts';

export interface FoldFixture {
  readonly index: IpIndex;
  readonly entries: Entries;
  readonly sources: Sources;
  readonly fold: Fold;
  readonly check: Check;
  readonly access: AccessFold;
  readonly accounts: AccountsTable;
  /** Pages announced as changing, in order. */
  readonly touched: number[];
}

export function openFold(
  limits: {
    entriesMax?: number;
    contributionsMax?: number;
    sourcesMax?: number;
    reserve?: number;
  } = {},
): FoldFixture {
  const { entriesMax = 10_000, contributionsMax = 30_000, sourcesMax = 250 } = limits;
  const touched: number[] = [];
  const index = createIpIndex({ entriesMax });
  const touchPage = (page: number) => touched.push(page);
  const { reserve } = limits;
  const room = reserve === undefined ? {} : { reserve };
  const entries = createEntries({ index, entriesMax, contributionsMax, touchPage, ...room });
  const sources = createSources(sourcesMax, () => {});
  const accounts = createAccountsTable(64);
  const access = createAccessFold({
    tables: {
      addKey: () => true,
      revokeKey: () => {},
      setAccount: (slot, state) => accounts.set(slot, state),
    },
    accountsMax: 64,
    firstPage: entryPages,
    touchPage,
  });
  const reports = createReportFold({ entries, index, reporters: access.reporters });
  const fold = createFold({ entries, sources, reports });
  const geo = { fragment: () => '"countryCode":"ZZ","isp":"Unknown"' };
  const check = openCheck({ lookup: index, records: index.records, geo });
  return { index, entries, sources, fold, access, accounts, check, touched };
}
