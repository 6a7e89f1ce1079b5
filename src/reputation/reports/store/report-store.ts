/**
 * Reports at rest. One commit holds everything of a report: its row under the address (newest
 * first), its id, the guard against reporting the same address again at once, and the journal
 * event from which the score follows. Comments live here alone, where they can be deleted.
 */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { duplicateReportMs } from '../../../contracts/reputation.ts';
import type { Clock } from '../../../core/clock.ts';
import type { Random } from '../../../core/random.ts';
import { fail, ok, type Result } from '../../../core/result.ts';
import { dayMs } from '../../../core/time.ts';
import type { IpFamily, IpWords } from '../../../ip/address.ts';
import { type Change, retryOnConflict } from '../../../storage/change.ts';
import { createWriter, decode } from '../../../storage/codec.ts';
import { createEventId } from '../../../storage/journal/define-event.ts';
import {
  erasureKey,
  type Key,
  reportByAddressPrefix,
  reportByIdKey,
  reportByIdPrefix,
  reportGuardKey,
} from '../../../storage/keys.ts';
import {
  type Commit,
  type CommitResult,
  pagesUnder,
  type RowCheck,
  type Store,
  type StoredRow,
} from '../../../storage/store.ts';
import { reportAdded, reportsExpired, reportsWithdrawn } from '../../state/events.ts';
import { type Report, reportAgeMaxMs } from '../report.ts';
import { expireTails } from './details-bound.ts';
import { createReportGuards, type ReportAdmission, type ReportGuards } from './report-guards.ts';
import {
  addressBytes,
  addressOf,
  decodeIdRow,
  decodeRow,
  encodeIdRow,
  encodeRow,
  keysOf,
  keysOfStored,
  type Reporter,
  reportedAtIn,
  type StoredReport,
  type TakenReport,
} from './report-rows.ts';
import {
  changeTail,
  countSince,
  type Tail,
  type TailCheck,
  tailOf,
  tailsOf,
  without,
} from './tails.ts';

export type ReportStore = ReturnType<typeof createReportStore>;

const pageOptions = { limit: 500 };
const expirePage = 200;
/** After this many conflicts in a row the rows are left to the process that expires them too. */
const expireAttemptsMax = 20;

export function createReportStore(options: {
  store: Store;
  clock: Clock;
  random: Random;
  /** Returns a number that no two holders of a slot share; absent: the slot itself. */
  generationOf?: (slot: number) => number;
  /** Absent: all reports are let in, since nothing is applied here, or nobody reports. */
  admission?: ReportAdmission;
  /** Accounts and addresses that are guarded in memory at most. */
  guardsMax?: number;
}) {
  const { store, clock, random, generationOf = (slot) => slot } = options;
  const rows = createGuardRows(clock, random);
  const guards = store.soleOwner && guardsOf(store.soleOwner, options);
  const journalGuards = guards === undefined ? createReportGuards(options) : undefined;
  const { readAhead } = (guards ?? journalGuards)!;

  const eventId = (): string => createEventId(clock, random);

  /** Ids begin with the time of the report: rows by id lie in the order in which they expire. */
  function newId(reportedAt: number): Buffer {
    const id = Buffer.alloc(16);
    id.writeUIntBE(reportedAt, 0, 6);
    id.set(random.bytes(10), 6);
    return id;
  }

  /**
   * Stores a report, which is durable when the promise resolves. `duplicate_report`: within 15 minutes of the
   * account's last one; `unauthenticated`: the account is being deleted; and what the admission refuses.
   */
  async function add(
    reporter: Reporter,
    report: Report,
  ): Promise<Result<{ id: string; seq: bigint }>> {
    const admitted = options.admission?.admit(reporter.slot, report.family, report.words);
    if (admitted?.ok === false) return admitted;
    let seq: bigint | undefined;
    try {
      const { account } = reporter;
      const { family, words } = report;
      if (
        journalGuards !== undefined &&
        (await journalGuards.wasReported({ account, family, words }))
      ) {
        return fail('duplicate_report');
      }
      const written = await (guards === undefined
        ? writeUnlessGuarded(reporter, report, true)
        : writeGuarded(guards, reporter, report));
      if (written.ok) ({ seq } = written.value);
      return written;
    } finally {
      admitted?.value(seq);
    }
  }

  /** As `add`, of an account and address that are guarded in memory. */
  async function writeGuarded(
    guards: ReportGuards,
    reporter: Reporter,
    report: Report,
  ): Promise<Result<{ id: string; seq: bigint }>> {
    const { account } = reporter;
    const { family, words } = report;
    const askedMs = clock.monotonicMs();
    for (;;) {
      const taken = guards.take({ account, family, words }, askedMs);
      if (taken.kind === 'duplicate') return fail('duplicate_report');
      if (taken.kind === 'wait') {
        await taken.until;
        continue;
      }
      const { sequence } = taken;
      if (sequence === undefined) {
        guards.noteRow();
        return writeUnlessGuarded(reporter, report, true);
      }
      let isWritten = false;
      try {
        const written = await (guards.hasRows()
          ? writeUnlessGuarded(reporter, report, false)
          : commitReport(reporter, report, { setsGuardRow: false }));
        isWritten = written.ok;
        return written;
      } finally {
        guards.settle(sequence, isWritten);
      }
    }
  }

  /**
   * Writes a report of an account and address of which no row stands guard.
   * @param setsGuardRow also writes that row
   */
  async function writeUnlessGuarded(
    reporter: Reporter,
    report: Report,
    setsGuardRow: boolean,
  ): Promise<Result<{ id: string; seq: bigint }>> {
    const written = await commitReport(reporter, report, {
      guardVersion: null,
      setsGuardRow,
    });
    if (written.ok || written.error !== 'duplicate_report') return written;
    const guard = reportGuardKey(reporter.account, addressBytes(report.family, report.words));
    const seen = await store.get(guard);
    const isOver = seen !== undefined && rows.isOver(seen.value);
    if (!isOver) return written;
    return commitReport(reporter, report, { guardVersion: seen.version, setsGuardRow });
  }

  /**
   * @param guardVersion the version that the guard's row must have, null if there must be no row; left out where the
   * guard is in memory, so that no row is checked
   * @param setsGuardRow also writes a row that stands guard
   */
  async function commitReport(
    reporter: Reporter,
    report: Report,
    { guardVersion, setsGuardRow }: { guardVersion?: number | null; setsGuardRow: boolean },
  ): Promise<Result<{ id: string; seq: bigint }>> {
    const address = addressBytes(report.family, report.words);
    const id = newId(report.reportedAt);
    const { account } = reporter;
    const { family, words, reportedAt } = report;
    const [byAddress, byId, byAccount] = keysOf(address, { account, reportedAt }, id);
    const event = reportAdded.encode(eventId(), {
      account: reporter.account,
      family,
      words,
      reportedSecond: Math.floor(report.reportedAt / 1_000),
      network: reporter.network ?? 0,
      categories: report.categories,
    });
    // A report under way while its account is deleted would leave its comment behind.
    const check: RowCheck[] = [{ key: erasureKey(account), version: null }];
    if (guardVersion !== undefined) {
      check.push({ key: reportGuardKey(account, address), version: guardVersion });
    }
    const result = await store.commit({
      isFirstTry: true,
      check,
      set: [
        ...(setsGuardRow ? [{ key: reportGuardKey(account, address), ...rows.row() }] : []),
        {
          key: byAddress,
          value: encodeRow({ ...reporter, slot: generationOf(reporter.slot) }, report),
          isNew: true,
        },
        { key: byId, value: encodeIdRow(account, address), isNew: true },
        { key: byAccount, value: address, isNew: true },
      ],
      events: [event],
    });
    if (result.ok) return ok({ id: id.toString('base64url'), seq: result.seq });
    if (result.error === 'store_unavailable') {
      guards?.readAgainFrom(result.seq);
      return fail('store_unavailable');
    }
    return fail(result.failedCheck === 0 ? 'unauthenticated' : 'duplicate_report');
  }

  /** Reads reports of an address, newest first, none older than `since` (ms), a page at a time. */
  async function* pages(
    family: IpFamily,
    words: Uint32Array,
    since: number,
  ): AsyncGenerator<readonly StoredReport[]> {
    const prefix = reportByAddressPrefix(addressBytes(family, words));
    for await (const page of pagesUnder(store, prefix, pageOptions)) {
      const found = page.flatMap(({ key, value }) => decodeRow(key, value) ?? []);
      const reports = found.filter(({ reportedAt }) => reportedAt >= since);
      yield reports;
      if (reports.length < found.length) return;
    }
  }

  /** Reads reports of an address, newest first, at most `limit`, none older than `since` (ms). */
  async function list(family: IpFamily, words: Uint32Array, since: number, limit: number) {
    const found: StoredReport[] = [];
    for await (const page of pages(family, words, since)) {
      found.push(...page.slice(0, limit - found.length));
      if (found.length >= limit) break;
    }
    return found;
  }

  /**
   * Counts reports of an address that are not older than `since` (ms), up to `limit`. In a tail, days
   * that begin later count.
   * @param goOn asked before each page of 500 rows, so that a long count doesn't hold the event loop;
   * false ends it
   */
  async function count(
    family: IpFamily,
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

  /** Reads the tails of an address (tails.ts), a page at a time. */
  async function* tails(family: IpFamily, words: Uint32Array): AsyncGenerator<readonly Tail[]> {
    for await (const page of tailsOf(store, addressBytes(family, words))) {
      yield page.map(({ tail }) => tail);
    }
  }

  /** Withdraws an account's reports of an address since `since` (ms). @returns how many reports went */
  async function withdraw(
    account: string,
    family: IpFamily,
    words: Uint32Array,
    penalty: boolean,
    since = 0,
  ) {
    const asked = { account, family, words, penalty, since };
    if (guards === undefined) return withdrawReports(store, asked, eventId);
    const letGo = await guards.hold(asked);
    try {
      return await withdrawReports(store, asked, eventId);
    } finally {
      letGo();
    }
  }

  /** Looks up the address and account of a report. */
  async function find(id: string) {
    const bytes = Buffer.from(id, 'base64url');
    if (bytes.length !== 16) return undefined;
    const entry = await store.get(reportByIdKey(bytes));
    const row = entry && decodeIdRow(entry.value);
    return row && { account: row.account, ...addressOf(row.address) };
  }

  let expiring: Promise<number> | undefined;

  /**
   * Removes reports older than a year, batch by batch. A second call waits for the one under way. @param stop ends it
   * after the present batch
   * @returns the number of reports removed
   */
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
    return expired + (await expireTails(store, cutoff, eventId, stop));
  }

  /** Checks each row as it was read: one that went meanwhile has had its event, and needs no second. */
  function expireRows(due: readonly StoredRow[]): Promise<CommitResult> {
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
      events.push(reportsExpired.encode(eventId(), { account, ...addressOf(address), reports: 1 }));
    }
    const check = due.map(({ key, version }) => ({ key, version }));
    return store.commit({ check, del, events });
  }

  const tables = guards?.tables ?? [];
  return {
    add,
    list,
    pages,
    tails,
    count,
    withdraw,
    find,
    expire,
    readAhead,
    tables,
  };
}

/**
 * Restores reports that were withdrawn a moment ago, with their ids, times and the network of the vote. They weigh
 * what their accounts weigh now.
 */
export async function restoreReports(
  parts: { readonly store: Store; readonly clock: Clock; readonly random: Random },
  { family, words }: Pick<Report, 'family' | 'words'>,
  reports: readonly TakenReport[],
): Promise<Result<void>> {
  const address = addressBytes(family, words);
  const accounts = [...new Set(reports.map(({ account }) => account))];
  const oldestFirst = reports.toSorted((a, b) => a.reportedAt - b.reportedAt);
  const done = await parts.store.commit({
    check: accounts.map((account) => ({ key: erasureKey(account), version: null })),
    set: oldestFirst.flatMap((report) => {
      const { account, reporter, country } = report;
      const id = Buffer.from(report.id, 'base64url');
      const [byAddress, byId, byAccount] = keysOf(address, report, id);
      return [
        { key: byAddress, value: encodeRow({ account, slot: reporter, country }, report) },
        { key: byId, value: encodeIdRow(account, address) },
        { key: byAccount, value: address },
      ];
    }),
    events: oldestFirst.map(({ account, reportedAt, categories, network = 0 }) =>
      reportAdded.encode(createEventId(parts.clock, parts.random), {
        account,
        family,
        words,
        reportedSecond: Math.floor(reportedAt / 1_000),
        network,
        categories,
      }),
    ),
  });
  if (done.ok) return ok(undefined);
  return fail(done.error === 'store_unavailable' ? 'store_unavailable' : 'conflict');
}

const guardsByOwner = new WeakMap<object, ReportGuards>();

/** Returns the guards of a store, which all share who report and withdraw. */
function guardsOf(owner: object, options: Parameters<typeof createReportStore>[0]): ReportGuards {
  const guards = guardsByOwner.get(owner) ?? createReportGuards(options);
  guardsByOwner.set(owner, guards);
  return guards;
}

/**
 * Where several processes share a store, a row that expires guards against a second report at once. Rows expire
 * by the wall clock, and one that was set back would keep them as much longer. So a guard also says when it was
 * made by a clock that never goes back; it holds for the process that wrote it.
 *
 * Value, bytes: wall clock 8, tag of the process 8, its monotonic clock in milliseconds 8. Guards of
 * older versions are empty.
 */
function createGuardRows(clock: Clock, random: Random) {
  const ownTag = Buffer.from(random.bytes(8)).readBigUInt64BE();
  const monotonicMs = () => BigInt(Math.floor(clock.monotonicMs()));
  return {
    /** Returns value and expiry of a row that is written now. */
    row(): { readonly value: Uint8Array; readonly expiresAt: number } {
      const now = clock.now();
      const value = createWriter(24)
        .u64(BigInt(Math.floor(now)))
        .u64(ownTag)
        .u64(monotonicMs());
      return { value: value.finish(), expiresAt: now + duplicateReportMs };
    },
    /** Returns true for a row that is still there though its time is over. */
    isOver(value: Uint8Array): boolean {
      const made = decode(value, (r) => ({ at: r.u64(), tag: r.u64(), monotonicMs: r.u64() }));
      if (made === undefined) return false;
      if (made.tag === ownTag) return monotonicMs() - made.monotonicMs >= BigInt(duplicateReportMs);
      // Another process wrote it, in the future: when its time is over is unknown, so nobody waits
      // for it.
      return made.at > BigInt(Math.floor(clock.now()));
    },
  };
}

interface Withdrawal extends IpWords {
  readonly account: string;
  /** True for a report that was false: it costs trust. */
  readonly penalty: boolean;
  /** Reports dated earlier stay, ms since 1970. */
  readonly since: number;
}

interface ReportRow extends RowCheck {
  readonly id: string;
  readonly reportedAt: number;
}

/** The reports that are withdrawn, with the rows that a commit checks. */
interface Withdrawable {
  readonly address: Uint8Array;
  /** Renewed by each report of the account and address. */
  readonly guard: RowCheck;
  readonly tail: TailCheck;
  readonly inTail: number;
  /** Oldest first. */
  readonly reports: readonly ReportRow[];
  /** True when nothing of the account and address stays. */
  readonly isAll: boolean;
}

/**
 * A withdrawal is tried this many times if other reports or withdrawals of the same account and address
 * interfere.
 */
const triesMax = 20;
/** Reports of one commit; each takes three rows with it. */
const reportsPerCommit = 500;
const pageRows = 500;

/**
 * Withdraws an account's reports of an address, the oldest first. Each commit removes rows together with the event
 * that counts them, so a withdrawal that was interrupted continues where it ended.
 * @param eventId makes the id of an event
 */
async function withdrawReports(
  store: Store,
  asked: Withdrawal,
  eventId: () => string,
): Promise<Result<{ removed: number; seq: bigint }>> {
  let removed = 0;
  let { penalty } = asked;

  async function attempt(): Promise<Change<{ removed: number; seq: bigint }>> {
    const found = await findWithdrawable(store, asked);
    let left = found.inTail + found.reports.length;
    let seq = left === 0 ? await store.lastSeq() : 0n;
    for (let at = 0; left > 0; at += reportsPerCommit) {
      const reports = found.reports.slice(at, at + reportsPerCommit);
      const count = reports.length + (at === 0 ? found.inTail : 0);
      left -= count;
      const reportsTaken = found.isAll && left === 0 ? undefined : count;
      const { account, family, words } = asked;
      const rows = at === 0 ? withTail(found, asked.since) : { check: [found.guard] };
      const done = await store.commit({
        check: [...rows.check, ...reports.map(({ key, version }) => ({ key, version }))],
        set: rows.set ?? [],
        del: [
          ...(rows.del ?? []),
          ...reports.flatMap((report) => keysOfStored(found.address, { account, ...report })),
        ],
        events: [
          reportsWithdrawn.encode(eventId(), {
            account,
            family,
            words,
            penalty,
            reports: reportsTaken,
          }),
        ],
      });
      if (!done.ok) return done.error === 'check_failed' ? 'conflict' : fail('store_unavailable');
      removed += count;
      penalty = false;
      ({ seq } = done);
    }
    return ok({ removed, seq });
  }

  return await retryOnConflict(attempt, triesMax);
}

async function findWithdrawable(
  store: Store,
  { account, family, words, since }: Withdrawal,
): Promise<Withdrawable> {
  const address = addressBytes(family, words);
  // A report that comes after this renews the guard, so that it can't be lost with the others.
  const guardKey = reportGuardKey(account, address);
  const guard = { key: guardKey, version: (await store.get(guardKey))?.version ?? null };
  const reports: ReportRow[] = [];
  const prefix = reportByAddressPrefix(address);
  for await (const page of pagesUnder(store, prefix, { limit: pageRows })) {
    for (const { key, value, version } of page) {
      const report = decodeRow(key, value);
      if (report?.account !== account) continue;
      reports.push({ key, version, id: report.id, reportedAt: report.reportedAt });
    }
  }
  // The tail is read last: a report that became part of it meanwhile makes its row's check fail.
  const tail = await tailOf(store, account, address);
  const inTail = tail.tail === undefined ? 0 : countSince(tail.tail, since);
  const own = reports.filter(({ reportedAt }) => reportedAt >= since).reverse();
  const isAll =
    own.length === reports.length &&
    (tail.tail === undefined || inTail === countSince(tail.tail, 0));
  return { address, guard, tail, inTail, reports: own, isAll };
}

function withTail(
  { guard, tail }: Withdrawable,
  since: number,
): Required<Pick<Commit, 'check'>> & Commit {
  const { key, version } = tail;
  const check = [guard, { key, version }];
  if (tail.tail === undefined) return { check };
  const left = without(tail.tail, (day) => day * dayMs >= since);
  if (left.days.size === tail.tail.days.size) return { check };
  return { check, ...changeTail(tail, left) };
}
