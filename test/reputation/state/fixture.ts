/** The fold on an index of its own, without a store: what a test of the reputation domain needs. */

import {
  type AccountsTable,
  createAccountsTable,
} from '../../../src/access/accounts/accounts-table.ts';
import { type AccessReducer, createAccessReducer } from '../../../src/access/accounts/reducer.ts';
import { createIpIndex, type IpIndex } from '../../../src/index/ip-index.ts';
import { type Check, openCheck } from '../../../src/reputation/check/check.ts';
import { createSources, type Sources } from '../../../src/reputation/lists/sources.ts';
import { createRefusals, type Refusals } from '../../../src/reputation/reports/refusals.ts';
import { createEntries, type Entries } from '../../../src/reputation/state/entries.ts';
import { entryPages } from '../../../src/reputation/state/entry-pages.ts';
import {
  createPolicyKeeper,
  createReducer,
  type PolicyKeeper,
  type Reducer,
} from '../../../src/reputation/state/reducer.ts';
import { createReportReducer } from '../../../src/reputation/state/report-reducer.ts';
import { nowhere } from '../../support/reputation/geo.ts';

export interface FoldFixture {
  readonly index: IpIndex;
  readonly entries: Entries;
  readonly sources: Sources;
  readonly fold: Reducer;
  readonly check: Check;
  readonly policy: PolicyKeeper;
  readonly refusals: Refusals;
  readonly access: AccessReducer;
  readonly accounts: AccountsTable;
  /** Pages announced as changing, in order. */
  readonly touched: number[];
}

export function openFold(
  limits: {
    entriesMax?: number;
    contributionsMax?: number;
    sourcesMax?: number;
    accountsMax?: number;
    reserve?: number;
  } = {},
): FoldFixture {
  const { entriesMax = 10_000, contributionsMax = 30_000 } = limits;
  const { sourcesMax = 250, accountsMax = 64 } = limits;
  const touched: number[] = [];
  const index = createIpIndex({ entriesMax });
  const touchPage = (page: number) => touched.push(page);
  const { reserve } = limits;
  const room = reserve === undefined ? {} : { reserve };
  const policy = createPolicyKeeper(() => {});
  const entries = createEntries({
    index,
    entriesMax,
    contributionsMax,
    touchPage,
    policy: policy.get,
    ...room,
  });
  const sources = createSources(sourcesMax, () => {}, index);
  const accounts = createAccountsTable(accountsMax);
  const access = createAccessReducer({
    tables: {
      addKey: () => true,
      revokeKey: () => {},
      setAccount: (slot, state) => accounts.set(slot, state),
      clearAccount: accounts.clear,
    },
    accountsMax,
    firstPage: entryPages,
    touchPage,
    touchHeader: () => {},
    heldBy: entries.contributions.heldBy,
  });
  const refusals = createRefusals(() => {});
  const reports = createReportReducer({
    entries,
    index,
    reporters: access.reporters,
    policy: policy.get,
    refusals,
  });
  const fold = createReducer({ entries, sources, reports, policy, refusals });
  const check = openCheck({ index, geo: nowhere });
  return { index, entries, sources, fold, refusals, access, accounts, check, policy, touched };
}
