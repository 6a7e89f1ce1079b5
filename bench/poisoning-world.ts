/**
 * The fold of reports with accounts, lists and a clock of its own, for simulations: the code that
 * runs in the server, without store and HTTP. Addresses are numbers, IPv4.
 */

import { createAccountsTable } from '../src/access/accounts/accounts-table.ts';
import { createAccessReducer } from '../src/access/accounts/reducer.ts';
import type { Vouched } from '../src/access/quota/points.ts';
import { createIpIndex } from '../src/index/ip-index.ts';
import { ceilingOf, metaOf, seedScoreOf, strengthOf } from '../src/index/records.ts';
import { communityEvidence, entryScore, halfLivesAt } from '../src/reputation/check/score.ts';
import { createSources } from '../src/reputation/lists/sources.ts';
import { createRefusals } from '../src/reputation/reports/refusals.ts';
import { createEntries } from '../src/reputation/state/entries.ts';
import { entryPages } from '../src/reputation/state/entry-pages.ts';
import type { ListRef } from '../src/reputation/state/events.ts';
import { createPolicyKeeper, createReducer } from '../src/reputation/state/reducer.ts';
import { createReportReducer } from '../src/reputation/state/report-reducer.ts';
import type { Policy } from '../src/reputation/votes/quorum.ts';
import { applyEvent } from '../test/support/reputation/events.ts';

export const hourMs = 3_600_000;
export const dayMs = 24 * hourMs;
const entriesMax = 200_000;
const bruteForce = 1 << 18;

export interface PoisoningWorld {
  /** Milliseconds since 1970; turned by hand. */
  readonly at: { now: number };
  account(id: string, vouched?: Vouched): void;
  /** @param network of the account, see reputation/votes/client-network.ts */
  report(id: string, address: number, network: number): void;
  /** Puts addresses on a list; those on it before stay. */
  list(rows: ReadonlyMap<number, number>): Promise<void>;
  score(address: number): number;
  /** The same evidence by the rule of before: without ceiling, and added to the list's. */
  formerScore(address: number): number;
}

export function openPoisoningWorld(policy?: Policy): PoisoningWorld {
  const index = createIpIndex({ entriesMax });
  const keeper = createPolicyKeeper(() => {});
  if (policy !== undefined) keeper.set(policy);
  const entries = createEntries({
    index,
    entriesMax,
    contributionsMax: 4 * entriesMax,
    touchPage: () => {},
    policy: keeper.get,
  });
  const accountsMax = 2_048;
  const table = createAccountsTable(accountsMax);
  const access = createAccessReducer({
    tables: {
      addKey: () => true,
      revokeKey: () => {},
      setAccount: table.set,
      clearAccount: table.clear,
    },
    accountsMax,
    firstPage: entryPages,
    touchPage: () => {},
    touchHeader: () => {},
    heldBy: entries.contributions.heldBy,
  });
  const refusals = createRefusals(() => {});
  const { reporters } = access;
  const reports = createReportReducer({ entries, index, reporters, policy: keeper.get, refusals });
  const sources = createSources(250, () => {}, index);
  const fold = createReducer({ entries, sources, reports, policy: keeper, refusals });
  const at = { now: Date.UTC(2026, 0, 1) };
  const words = new Uint32Array(4);
  const ref: ListRef = { list: 'seed', source: 'list', run: 'only' };
  void applyEvent(fold, { kind: 'list.begun', ref, holdDays: 3_650 }, at.now);

  function entryOf(address: number): number {
    words[0] = address;
    return index.get({ family: 4, words, length: 32 });
  }

  return {
    at,
    account(id, vouched = 'none') {
      const made = { kind: 'account.created', account: id, verified: true, slot: 'now' } as const;
      applyEvent(access, made, at.now);
      if (vouched !== 'none')
        applyEvent(access, { kind: 'account.vouched', account: id, vouched }, at.now);
    },
    report(id, address, network) {
      const reportedSecond = Math.floor(at.now / 1_000);
      const said = { account: id, reportedSecond, network, categories: bruteForce };
      const place = { family: 4, words: Uint32Array.of(address, 0, 0, 0) } as const;
      void applyEvent(fold, { kind: 'report.added', ...place, ...said }, at.now);
    },
    async list(rows) {
      const all = [...rows];
      const batch = {
        count: all.length,
        families: new Uint8Array(all.length).fill(4),
        words: new Uint32Array(4 * all.length),
        lengths: new Uint8Array(all.length).fill(32),
        scores: Uint8Array.from(all, ([, score]) => score),
      };
      for (const [i, [address]] of all.entries()) batch.words[4 * i] = address;
      await applyEvent(fold, { kind: 'list.rows', ref, rows: batch }, at.now);
    },
    score(address) {
      const entry = entryOf(address);
      if (entry === 0) return 0;
      const meta = metaOf(index.records, entry);
      const strength = strengthOf(index.records, entry);
      return entryScore(seedScoreOf(meta), ceilingOf(meta), strength, halfLivesAt(at.now));
    },
    formerScore(address) {
      const entry = entryOf(address);
      if (entry === 0) return 0;
      const strength = strengthOf(index.records, entry);
      const evidence = communityEvidence(strength, halfLivesAt(at.now));
      const seed = seedScoreOf(metaOf(index.records, entry)) / 100;
      return Math.round(100 * (1 - (1 - Math.min(seed, 0.9999)) * Math.exp(-evidence / 2.5)));
    },
  };
}
