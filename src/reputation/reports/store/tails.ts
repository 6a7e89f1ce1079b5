/**
 * Tails: the number of reports by day for each account and address whose details were removed (details-bound.ts).
 * Scores and counts still use them, and the account can still withdraw them.
 *
 * Rows: the tail under its address; a row by its account, unless that is deleted; and for each day with reports in
 * tails of an address, a row that says when they expire.
 */

import { dayMs } from '../../../core/time.ts';
import { createWriter, decode } from '../../../storage/codec.ts';
import {
  type Key,
  reportTailByAccountKey,
  reportTailByAccountPrefix,
  reportTailKey,
  reportTailPrefix,
  storedKey,
} from '../../../storage/keys.ts';
import { pagesUnder, type RowCheck, type SetRow, type Store } from '../../../storage/store.ts';
import type { StoredReport } from './report-rows.ts';

export interface Tail {
  readonly account: string;
  readonly reporter: number;
  /** Time of the newest report, ms since 1970. */
  readonly newestAt: number;
  /** Reports by day (of UTC, since 1970). */
  readonly days: ReadonlyMap<number, number>;
}

export interface TailRow extends RowCheck {
  readonly tail: Tail;
}

/** A row that a commit checks; it may hold no tail. */
export interface TailCheck extends RowCheck {
  readonly tail: Tail | undefined;
}

const layout = 1;
export const dayOfMs = (ms: number): number => Math.floor(ms / dayMs);

function encodeTail({ reporter, newestAt, days }: Tail): Uint8Array {
  const out = createWriter(32).u8(layout).varint(reporter).varint(newestAt);
  let before = 0;
  for (const [day, count] of [...days].sort(([a], [b]) => a - b)) {
    out.varint(day - before).varint(count);
    before = day;
  }
  return out.finish();
}

/** Undefined for a row that is damaged. */
export function decodeTail(key: Uint8Array, value: Uint8Array): Tail | undefined {
  return decode(value, (input) => {
    if (input.u8() !== layout) input.reject();
    const reporter = input.varint();
    const newestAt = input.varint();
    const days = new Map<number, number>();
    for (let day = 0; input.remaining() > 0; ) {
      day += input.varint();
      days.set(day, input.varint());
    }
    return { account: accountIn(key), reporter, newestAt, days };
  });
}

/** An account's id, which has no zero byte, ends the key. */
function accountIn(key: Uint8Array): string {
  return Buffer.from(key.subarray(18, -1)).toString('utf8');
}

export async function tailOf(
  store: Pick<Store, 'get'>,
  account: string,
  address: Uint8Array,
): Promise<TailCheck> {
  const key = reportTailKey(address, account);
  const row = await store.get(key);
  return { key, version: row?.version ?? null, tail: row && decodeTail(key, row.value) };
}

/** Yields all tails of an address, a page at a time. */
export async function* tailsOf(
  store: Pick<Store, 'scan'>,
  address: Uint8Array,
): AsyncGenerator<readonly TailRow[]> {
  for await (const page of pagesUnder(store, reportTailPrefix(address))) {
    const rows: TailRow[] = [];
    for (const { key, value, version } of page) {
      const tail = decodeTail(key, value);
      if (tail !== undefined) rows.push({ key, version, tail });
    }
    yield rows;
  }
}

/** Yields the addresses of which an account has a tail, a page at a time. */
export async function* tailAddresses(
  store: Pick<Store, 'scan'>,
  account: string,
): AsyncGenerator<readonly Uint8Array[]> {
  for await (const page of pagesUnder(store, reportTailByAccountPrefix(account))) {
    yield page.map(({ key }) => key.slice(-17));
  }
}

/** Counts the reports of the days that begin at `since` (ms) or later. */
export function countSince({ days }: Tail, since: number): number {
  let reports = 0;
  for (const [day, count] of days) if (day * dayMs >= since) reports += count;
  return reports;
}

/** Returns the tail without the days that `isGone` names. */
export function without(tail: Tail, isGone: (day: number) => boolean): Tail {
  return { ...tail, days: new Map([...tail.days].filter(([day]) => !isGone(day))) };
}

/** Returns the tail without one report of that time (ms). */
export function withoutReport(tail: Tail, reportedAt: number): Tail {
  const day = dayOfMs(reportedAt);
  const left = (tail.days.get(day) ?? 0) - 1;
  return left > 0
    ? { ...tail, days: new Map(tail.days).set(day, left) }
    : without(tail, (one) => one === day);
}

/** Returns the tail with reports whose details go. */
export function withReports(
  tail: Tail | undefined,
  reports: readonly Pick<StoredReport, 'account' | 'reporter' | 'reportedAt'>[],
): Tail {
  const days = new Map(tail?.days);
  let newest = { reporter: tail?.reporter ?? 0, newestAt: tail?.newestAt ?? -1 };
  for (const { reporter, reportedAt } of reports) {
    const day = dayOfMs(reportedAt);
    days.set(day, (days.get(day) ?? 0) + 1);
    if (reportedAt >= newest.newestAt) newest = { reporter, newestAt: reportedAt };
  }
  return { account: reports[0]!.account, ...newest, days };
}

/** Returns the rows that a commit writes and removes so that `tail` stands in place of the row. */
export function changeTail({ key }: RowCheck, tail: Tail): { set: SetRow[]; del: Key[] } {
  if (tail.days.size > 0) return { set: [{ key, value: encodeTail(tail) }], del: [] };
  const byAccount = reportTailByAccountKey(tail.account, key.subarray(1, 18));
  return { set: [], del: [storedKey(key), byAccount] };
}
