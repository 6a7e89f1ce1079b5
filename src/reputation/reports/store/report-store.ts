/**
 * Reports at rest. One commit holds everything of a report: its row under the address (newest
 * first), its id, the guard against reporting the same address again at once, and the journal
 * event from which the score follows. Comments live here alone, where they can be deleted.
 */

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../../../core/clock.ts';
import type { Random } from '../../../core/random.ts';
import { fail, ok, type Result } from '../../../core/result.ts';
import { createEventId } from '../../../store/event-id.ts';
import {
  erasureKey,
  type Key,
  reportByAddressPrefix,
  reportByIdKey,
  reportByIdPrefix,
  reportGuardKey,
} from '../../../store/keys.ts';
import { pagesUnder } from '../../../store/pages.ts';
import type { CommitResult, Entry, NewEvent, Store } from '../../../store/store.ts';
import { encodeEvent, type Reported, type ReputationEvent } from '../../state/events.ts';
import { type Report, reportAgeMaxMs } from '../report.ts';
import type { ReportAdmission } from '../report-admission.ts';
import { expireTails } from './details-bound.ts';
import { createReportGuards } from './report-guard.ts';
import {
  addressBytes,
  addressOf,
  decodeIdRow,
  decodeRow,
  encodeIdRow,
  encodeRow,
  keysOf,
  reportedAtIn,
} from './report-rows.ts';
import { withdrawReports } from './report-withdrawal.ts';
import { countSince, type Tail, tailsOf } from './tails.ts';

export interface StoredReport {
  /** base64url text of 16 bytes. */
  readonly id: string;
  /** Account id. */
  readonly account: string;
  /** The public `reporterId`: no two accounts have the same one. */
  readonly reporter: number;
  /** Country of the reporter's client address, `ZZ` when unknown. */
  readonly country: string;
  /** Bit n for category n. */
  readonly categories: number;
  readonly comment: string;
  /** Milliseconds since 1970. */
  readonly reportedAt: number;
}

export interface Reporter {
  readonly account: string;
  readonly slot: number;
  readonly country: string;
  /** Of the client address, see network.ts; absent: unknown. */
  readonly network?: number;
}

export interface ReportStore {
  /**
   * Durable when it resolves. `duplicate_report`: within 15 minutes of the account's last one;
   * `unauthenticated`: the account is being deleted; and what the admission refuses.
   */
  add(reporter: Reporter, report: Report): Promise<Result<{ id: string; seq: bigint }>>;
  /** Reports of an address, newest first, at most `limit`, none older than `since` (ms). */
  list(family: 4 | 6, words: Uint32Array, since: number, limit: number): Promise<StoredReport[]>;
  /** The same without a limit, in pieces; others get their turn in between. */
  pages(family: 4 | 6, words: Uint32Array, since: number): AsyncGenerator<readonly StoredReport[]>;
  /** What is left of an address's reports whose details went, in pieces. */
  tails(family: 4 | 6, words: Uint32Array): AsyncGenerator<readonly Tail[]>;
  /**
   * How many reports of an address are not older than `since` (ms), at most `limit`. Of a tail, days that
   * begin later count.
   * @param goOn asked before each page of 500 rows, so that a long count doesn't hold the event loop;
   * false ends it
   */
  count(
    family: 4 | 6,
    words: Uint32Array,
    since: number,
    limit: number,
    goOn: () => Promise<boolean>,
  ): Promise<number>;
  /** Takes back what an account said of an address `since` (ms). @returns how many reports went */
  withdraw(
    account: string,
    family: 4 | 6,
    words: Uint32Array,
    penalty: boolean,
    since?: number,
  ): Promise<Result<{ removed: number; seq: bigint }>>;
  /** The address and account of a report. */
  find(id: string): Promise<{ account: string; family: 4 | 6; words: Uint32Array } | undefined>;
  /**
   * Removes what is older than a year, batch by batch, others get their turn in between. A call
   * while one is under way waits for that one. @param stop ends it behind the batch under way
   * @returns how many went
   */
  expire(stop?: AbortSignal): Promise<number>;
}

const pageOptions = { limit: 500 };
const expirePage = 200;
/** Another process expires the same rows: after so many collisions in a row it may have them. */
const expireAttemptsMax = 20;

export function createReportStore(options: {
  store: Store;
  clock: Clock;
  random: Random;
  /** What tells the holders of a slot apart; absent: the slot itself. */
  generationOf?: (slot: number) => number;
  /** Absent, all are let in: nothing is applied here, or nobody reports. */
  admission?: ReportAdmission;
}): ReportStore {
  const { store, clock, random, generationOf = (slot) => slot } = options;
  const guards = createReportGuards(clock, random);

  function event(body: ReputationEvent): NewEvent {
    return encodeEvent(createEventId(clock, random), body);
  }

  /** Ids begin with the time of the report: rows by id lie in the order in which they expire. */
  function newId(reportedAt: number): Buffer {
    const id = Buffer.alloc(16);
    id.writeUIntBE(reportedAt, 0, 6);
    id.set(random.bytes(10), 6);
    return id;
  }

  async function add(
    reporter: Reporter,
    report: Report,
  ): Promise<Result<{ id: string; seq: bigint }>> {
    const admitted = options.admission?.admit(reporter.slot, report.family, report.words);
    if (admitted?.ok === false) return admitted;
    const written = await writeOnce(reporter, report).catch((error: unknown) => {
      admitted?.value();
      throw error;
    });
    admitted?.value(written.ok ? written.value.seq : undefined);
    return written;
  }

  async function writeOnce(
    reporter: Reporter,
    report: Report,
  ): Promise<Result<{ id: string; seq: bigint }>> {
    const written = await write(reporter, report, null);
    if (written.ok || written.error !== 'duplicate_report') return written;
    const guard = reportGuardKey(reporter.account, addressBytes(report.family, report.words));
    const seen = await store.get(guard);
    const isOver = seen !== undefined && guards.isOver(seen.value);
    return isOver ? write(reporter, report, seen.version) : written;
  }

  /** @param guarded version of a guard whose time is over though it is there */
  async function write(
    reporter: Reporter,
    report: Report,
    guarded: number | null,
  ): Promise<Result<{ id: string; seq: bigint }>> {
    const address = addressBytes(report.family, report.words);
    const guard = reportGuardKey(reporter.account, address);
    const id = newId(report.reportedAt);
    const { account } = reporter;
    const { family, words, reportedAt } = report;
    const [byAddress, byId, byAccount] = keysOf(address, { account, reportedAt }, id);
    const body = {
      kind: 'report.added',
      account: reporter.account,
      family,
      words,
      reportedSecond: Math.floor(report.reportedAt / 1_000),
      network: reporter.network ?? 0,
      categories: report.categories,
    } as const;
    const result = await store.commit({
      check: [
        { key: guard, version: guarded },
        // A report under way while its account is deleted would leave its comment behind.
        { key: erasureKey(reporter.account), version: null },
      ],
      set: [
        { key: guard, ...guards.row() },
        {
          key: byAddress,
          value: encodeRow({ ...reporter, slot: generationOf(reporter.slot) }, report),
        },
        { key: byId, value: encodeIdRow(account, address) },
        { key: byAccount, value: address },
      ],
      events: [event(body)],
    });
    if (result.ok) return ok({ id: id.toString('base64url'), seq: result.seq });
    if (result.error === 'store_unavailable') return fail('store_unavailable');
    return fail(result.failedCheck === 0 ? 'duplicate_report' : 'unauthenticated');
  }

  async function* pages(family: 4 | 6, words: Uint32Array, since: number) {
    const prefix = reportByAddressPrefix(addressBytes(family, words));
    for await (const page of pagesUnder(store, prefix, pageOptions)) {
      const found = page.flatMap(({ key, value }) => decodeRow(key, value) ?? []);
      const reports = found.filter(({ reportedAt }) => reportedAt >= since);
      yield reports;
      if (reports.length < found.length) return;
    }
  }

  async function list(family: 4 | 6, words: Uint32Array, since: number, limit: number) {
    const found: StoredReport[] = [];
    for await (const page of pages(family, words, since)) {
      found.push(...page.slice(0, limit - found.length));
      if (found.length >= limit) break;
    }
    return found;
  }

  async function count(
    family: 4 | 6,
    words: Uint32Array,
    since: number,
    limit: number,
    goOn: () => Promise<boolean>,
  ): Promise<number> {
    const address = addressBytes(family, words);
    let counted = 0;
    if (!(await goOn())) return counted;
    for await (const page of pagesUnder(store, reportByAddressPrefix(address), pageOptions)) {
      const inTime = page.filter(({ key }) => reportedAtIn(key) >= since).length;
      counted += inTime;
      if (counted >= limit || inTime < page.length) break;
      if (!(await goOn())) return counted;
    }
    for await (const page of tailsOf(store, address)) {
      if (counted >= limit) break;
      for (const { tail } of page) counted += countSince(tail, since);
      if (!(await goOn())) break;
    }
    return Math.min(counted, limit);
  }

  async function* tails(family: 4 | 6, words: Uint32Array) {
    for await (const page of tailsOf(store, addressBytes(family, words))) {
      yield page.map(({ tail }) => tail);
    }
  }

  function withdraw(
    account: string,
    family: 4 | 6,
    words: Uint32Array,
    penalty: boolean,
    since = 0,
  ) {
    return withdrawReports(store, { account, family, words, penalty, since }, event);
  }

  async function find(id: string) {
    const bytes = Buffer.from(id, 'base64url');
    if (bytes.length !== 16) return undefined;
    const entry = await store.get(reportByIdKey(bytes));
    const row = entry && decodeIdRow(entry.value);
    return row && { account: row.account, ...addressOf(row.address) };
  }

  let expiring: Promise<number> | undefined;

  function expire(stop?: AbortSignal): Promise<number> {
    expiring ??= expireAll(stop).finally(() => {
      expiring = undefined;
    });
    return expiring;
  }

  async function expireAll(stop?: AbortSignal): Promise<number> {
    // Fixed for the run: it ends however many come of age meanwhile.
    const cutoff = clock.now() - reportAgeMaxMs;
    let expired = 0;
    for (let failures = 0; failures < expireAttemptsMax && stop?.aborted !== true; ) {
      const page = await store.scan(reportByIdPrefix(), { limit: expirePage });
      const due = page.filter(({ key }) => Buffer.from(key).readUIntBE(1, 6) < cutoff);
      if (due.length === 0) break;
      const result = await expireRows(due);
      if (result.ok) {
        expired += due.length;
        failures = 0;
        await nextTurn();
      } else if (result.error === 'check_failed') failures++;
      else break;
    }
    return expired + (await expireTails(store, cutoff, expiredEvent, stop));
  }

  function expiredEvent(expired: Reported & { reports: number }): NewEvent {
    return event({ kind: 'reports.expired', ...expired });
  }

  /** Each row as it was read: one that went meanwhile has had its event, and needs no second. */
  function expireRows(due: readonly Entry[]): Promise<CommitResult> {
    const del: Key[] = [];
    const events = [];
    for (const { key, value } of due) {
      const row = decodeIdRow(value);
      if (row === undefined) {
        del.push(key);
        continue;
      }
      const { account, address } = row;
      const id = key.subarray(1);
      const reportedAt = Buffer.from(id).readUIntBE(0, 6);
      del.push(...keysOf(address, { account, reportedAt }, id));
      events.push(expiredEvent({ account, ...addressOf(address), reports: 1 }));
    }
    const check = due.map(({ key, version }) => ({ key, version }));
    return store.commit({ check, del, events });
  }

  return { add, list, pages, tails, count, withdraw, find, expire };
}
