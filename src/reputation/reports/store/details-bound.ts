/**
 * Keeps the details of an address's newest reports, `detailsKept` of them. Older ones become tails (tails.ts): a
 * flood of reports on one address costs the store no more than a row for each account.
 *
 * Each commit names the rows that it read. If a report is withdrawn, expires or arrives meanwhile, the commit has no
 * effect and the rows are read again, so nothing is counted twice.
 */

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Log } from '../../../core/log.ts';
import { dayMs } from '../../../core/time.ts';
import { formatIp, type IpWords } from '../../../ip/address.ts';
import {
  erasedKey,
  type Key,
  readReportTailDueKey,
  reportByAddressPrefix,
  reportTailByAccountKey,
  reportTailDueKey,
  reportTailDuePrefix,
} from '../../../storage/keys.ts';
import { asMaintenance, type Maintenance } from '../../../storage/maintenance.ts';
import {
  type CommitResult,
  pagesUnder,
  type RowCheck,
  type SetRow,
  type Store,
  type StoredRow,
} from '../../../storage/store.ts';
import { reportsExpired } from '../../state/events.ts';
import {
  addressBytes,
  addressOf,
  decodeRow,
  keysOfStored,
  type StoredReport,
} from './report-rows.ts';
import {
  changeTail,
  countSince,
  dayOfMs,
  type Tail,
  type TailRow,
  tailOf,
  tailsOf,
  without,
  withReports,
} from './tails.ts';

/** Details of one address: as many as the API gives out. */
export const detailsKept = 10_000;
/** Details beyond `detailsKept` that an address may have before they are cut. */
export const detailsSlack = 500;

/** Addresses whose number of reports is remembered. One that is forgotten is read once more than needed. */
const pastMax = 65_536;
/** Reports of one commit; each takes three rows with it. */
const rowsPerCommit = 200;
const pageRows = 500;
/** After this many conflicts in a row an address waits for its next turn. */
const attemptsMax = 20;
const nothing = new Uint8Array();

/** An address with the number of reports that count for it. */
interface CrowdedAddress extends IpWords {
  readonly reports: number;
}

interface Detail extends RowCheck {
  readonly key: Key;
  readonly report: StoredReport;
}

interface Bound {
  readonly kept?: number;
  /** Ends it after the commit under way. */
  readonly stop?: AbortSignal | undefined;
}

/**
 * Makes tails of what an address has beyond its newest `kept` details.
 * @returns the number of reports that lost theirs; `isWhole` is false when the store can't be written
 */
export async function pruneDetails(
  store: Store,
  { family, words }: IpWords,
  options: Bound = {},
): Promise<{ readonly folded: number; readonly isWhole: boolean }> {
  const address = addressBytes(family, words);
  const prefix = reportByAddressPrefix(address);
  let after = await lastKept(store, prefix, options.kept ?? detailsKept);
  let folded = 0;
  for (let failures = 0; after !== undefined; ) {
    if (options.stop?.aborted === true) return { folded, isWhole: false };
    const page = await store.scan(prefix, { after, limit: rowsPerCommit });
    const details = page.flatMap(({ key, value, version }): Detail[] => {
      const report = decodeRow(key, value);
      return report === undefined ? [] : [{ key, version, report }];
    });
    // Rows that can't be read stay where they are.
    if (details.length === 0) after = page.at(-1)?.key;
    else {
      const done = await moveToTails(store, address, details);
      if (done.ok) {
        folded += details.length;
        failures = 0;
        await nextTurn();
      } else if (done.error !== 'check_failed' || ++failures === attemptsMax) {
        return { folded, isWhole: false };
      }
    }
  }
  return { folded, isWhole: true };
}

/** Bounds the details of addresses that have many reports, and again when `slack` more have come. */
export function createDetailsKeeper(
  store: Store,
  { kept = detailsKept, slack = detailsSlack }: { kept?: number; slack?: number } = {},
): {
  /**
   * @param crowded addresses with the number of reports that count for them. @returns how many
   * became tails
   */
  run(crowded: readonly CrowdedAddress[], stop?: AbortSignal): Promise<number>;
} {
  /** Reports of an address when it was last bounded, in the order of their last use. */
  const past = new Map<string, number>();

  function note(name: string, reports: number): void {
    past.set(name, reports);
    if (past.size > pastMax) past.delete(past.keys().next().value!);
  }

  return {
    async run(crowded, stop) {
      let folded = 0;
      for (const { family, words, reports } of crowded) {
        if (reports < kept + slack || stop?.aborted === true) continue;
        const name = formatIp(family, words);
        const last = past.get(name) ?? 0;
        past.delete(name);
        if (last > 0 && reports < last + slack) {
          // Fewer when some were taken back: those that come in their place count as more.
          note(name, Math.min(last, reports));
          continue;
        }
        const done = await pruneDetails(store, { family, words }, { kept, stop });
        folded += done.folded;
        if (done.isWhole) note(name, reports);
      }
      return folded;
    },
  };
}

/** Returns the key of the oldest report that is kept; undefined when there are no more than `kept`. */
async function lastKept(store: Store, prefix: Key, kept: number): Promise<Key | undefined> {
  let seen = 0;
  for await (const page of pagesUnder(store, prefix, { limit: pageRows })) {
    if (seen + page.length >= kept) return page[kept - seen - 1]!.key;
    seen += page.length;
  }
  return undefined;
}

async function moveToTails(
  store: Store,
  address: Uint8Array,
  details: readonly Detail[],
): Promise<CommitResult> {
  const check: RowCheck[] = details.map(({ key, version }) => ({ key, version }));
  const set: SetRow[] = [];
  const del: Key[] = [];
  const byAccount = new Map<string, StoredReport[]>();
  const days = new Set<number>();
  for (const { report } of details) {
    del.push(...keysOfStored(address, report));
    const own = byAccount.get(report.account);
    if (own === undefined) byAccount.set(report.account, [report]);
    else own.push(report);
    days.add(dayOfMs(report.reportedAt));
  }
  const accounts = [...byAccount].map(async ([account, reports]) => ({
    account,
    reports,
    row: await tailOf(store, account, address),
    erased: await store.get(erasedKey(account)),
  }));
  for (const { account, reports, row, erased } of await Promise.all(accounts)) {
    check.push({ key: row.key, version: row.version });
    set.push(...changeTail(row, withReports(row.tail, reports)).set);
    if (erased !== undefined) continue;
    // A deletion that begins meanwhile finds the row, or this commit finds the deletion.
    check.push({ key: erasedKey(account), version: null });
    set.push({ key: reportTailByAccountKey(account, address), value: nothing });
  }
  for (const day of days) set.push({ key: reportTailDueKey(day, address), value: nothing });
  return store.commit({ check, set, del });
}

/**
 * Removes the days of tails that ended before `cutoff` (ms), an address at a time.
 * @param eventId makes the id of an event
 * @returns how many reports went
 */
export async function expireTails(
  store: Store,
  cutoff: number,
  eventId: () => string,
  stop?: AbortSignal,
): Promise<number> {
  let expired = 0;
  for (let failures = 0; failures < attemptsMax && stop?.aborted !== true; ) {
    const [due] = await store.scan(reportTailDuePrefix(), { limit: 1 });
    if (due === undefined) break;
    const { day, address } = readReportTailDueKey(due.key);
    if ((day + 1) * dayMs > cutoff) break;
    const rows = await rowsWith(store, address, day);
    const done = await expireRows(store, { due, day, address, rows }, eventId);
    if (done.ok) {
      for (const { tail } of rows) expired += reportsUntil(tail, day);
      failures = 0;
      await nextTurn();
    } else if (done.error === 'check_failed') failures++;
    else break;
  }
  return expired;
}

const reportsUntil = (tail: Tail, day: number): number =>
  countSince(tail, 0) - countSince(tail, (day + 1) * dayMs);

/** Tails of an address that have reports on that day or before, as many as one commit takes. */
async function rowsWith(store: Store, address: Uint8Array, day: number): Promise<TailRow[]> {
  const rows: TailRow[] = [];
  for await (const page of tailsOf(store, address)) {
    rows.push(...page.filter(({ tail }) => reportsUntil(tail, day) > 0));
    if (rows.length >= rowsPerCommit) break;
  }
  return rows.slice(0, rowsPerCommit);
}

function expireRows(
  store: Store,
  day: {
    readonly due: StoredRow;
    readonly day: number;
    readonly address: Uint8Array;
    rows: TailRow[];
  },
  eventId: () => string,
): Promise<CommitResult> {
  const { due, rows } = day;
  const changes = rows.map((row) =>
    changeTail(
      row,
      without(row.tail, (one) => one <= day.day),
    ),
  );
  const address = addressOf(day.address);
  return store.commit({
    // A tail to which the day is added meanwhile renews the day's row.
    check: [due, ...rows].map(({ key, version }) => ({ key, version })),
    set: changes.flatMap(({ set }) => set),
    del: [...(rows.length < rowsPerCommit ? [due.key] : []), ...changes.flatMap(({ del }) => del)],
    events: rows.map(({ tail }) => {
      const reports = reportsUntil(tail, day.day);
      return reportsExpired.encode(eventId(), { account: tail.account, ...address, reports });
    }),
  });
}

/** Deletes the details of older reports on addresses with very many, whenever a survey has found some. */
export function startDetailsBound(
  onSurvey: (callback: (crowded: readonly CrowdedAddress[]) => void) => void,
  maintenance: Maintenance,
  log: Log,
): () => Promise<void> {
  const stop = new AbortController();
  const keeper = createDetailsKeeper(maintenance.store);
  let running: Promise<void> | undefined;
  async function bound(crowded: readonly CrowdedAddress[]): Promise<void> {
    const folded = await keeper.run(crowded, stop.signal);
    if (folded > 0) log.info({ reports: folded }, 'reports: details of the oldest are folded');
  }
  onSurvey((crowded) => {
    if (!maintenance.store.writeState().available) return;
    running ??= asMaintenance(maintenance, () => bound(crowded))
      .catch((error) => log.warn({ err: error }, 'reports: details not folded, will retry'))
      .finally(() => {
        running = undefined;
      });
  });
  return async () => {
    stop.abort();
    await running;
  };
}
