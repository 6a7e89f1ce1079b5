/**
 * Keeps the latest reports, read at most twice a second for any number of watchers, and the watchers that wait for
 * the next one. Waiting is bounded, in all and for each network. Only the list itself is kept.
 */

import type { BoundedTable } from '../../core/bounded-tables.ts';
import { sha256 } from '../../core/crypto.ts';
import { every, type Loop } from '../../core/every.ts';
import { maskComment } from '../address/mask.page.ts';
import type { NewestReport } from '../reports/store/report-history.ts';

export interface LatestReport extends NewestReport {
  /** Identifies the report to watchers without revealing its id. */
  readonly cursor: string;
}

export type LatestReports = ReturnType<typeof openLatestReports>;

const latestMax = 10;
const pollMs = 500;
/** An answer without news ends after this time, before proxies time out. */
const waitMs = 15_000;
const waitingMax = 100;
const waitingPerNetworkMax = 6;

interface Waiter {
  readonly cursor: string;
  readonly network: string;
  readonly endMs: number;
  readonly resolve: (news: readonly LatestReport[]) => void;
}

export function openLatestReports(options: {
  readonly newest: (limit: number) => Promise<NewestReport[]>;
  /** Grows with each report. */
  readonly appliedSeq: () => bigint;
  readonly nowMs: () => number;
}) {
  const { newest, appliedSeq, nowMs } = options;
  const waiting = new Set<Waiter>();
  let list: readonly LatestReport[] = [];
  let readAt = -1n;
  let readMs = Number.NEGATIVE_INFINITY;
  let reading: Promise<void> | undefined;
  let loop: Loop | undefined;
  let isStopped = false;

  async function readAnew(): Promise<void> {
    const at = appliedSeq();
    const found = await newest(latestMax);
    list = found.map((one) => ({ ...one, cursor: cursorOf(one.report.id) }));
    readAt = at;
    readMs = nowMs();
  }

  /** Returns the latest reports, the newest first. */
  async function read(): Promise<readonly LatestReport[]> {
    if (appliedSeq() !== readAt && nowMs() - readMs >= pollMs) {
      reading ??= readAnew().finally(() => {
        reading = undefined;
      });
    }
    await reading;
    return list;
  }

  function end(waiter: Waiter, news: readonly LatestReport[]): void {
    waiting.delete(waiter);
    waiter.resolve(news);
    if (waiting.size > 0) return;
    void loop?.stop();
    loop = undefined;
  }

  async function poll(): Promise<void> {
    // A store that is away for now has no news.
    await read().catch(() => undefined);
    for (const waiter of [...waiting]) {
      const news = newsIn(list, waiter.cursor);
      if (news.length > 0 || nowMs() >= waiter.endMs) end(waiter, news);
    }
  }

  /**
   * Resolves with the reports newer than `cursor` as soon as there are some, or with none after a while. For an
   * unknown cursor it resolves with all. Undefined: too many wait.
   * @param onGone calls its argument when the client has left
   */
  function next(
    cursor: string,
    network: string,
    onGone: (leave: () => void) => void,
  ): Promise<readonly LatestReport[]> | undefined {
    const near = [...waiting].filter((one) => one.network === network).length;
    if (isStopped || waiting.size >= waitingMax || near >= waitingPerNetworkMax) return undefined;
    return new Promise((resolve) => {
      const waiter = { cursor, network, resolve, endMs: nowMs() + waitMs };
      waiting.add(waiter);
      loop ??= every(pollMs, poll);
      onGone(() => end(waiter, []));
    });
  }

  /** Ends all that wait, and all that come. */
  function stop(): void {
    isStopped = true;
    for (const waiter of [...waiting]) end(waiter, []);
  }

  const table: BoundedTable = {
    name: 'radar_watchers',
    used: () => waiting.size,
    limit: waitingMax,
  };
  return { read, next, table, stop };
}

function newsIn(list: readonly LatestReport[], cursor: string): readonly LatestReport[] {
  const known = list.findIndex((one) => one.cursor === cursor);
  return known < 0 ? list : list.slice(0, known);
}

function cursorOf(id: string): string {
  return Buffer.from(sha256(`radar ${id}`))
    .toString('base64url')
    .slice(0, 16);
}

// A comment for everybody who watches: what identifies somebody is masked as on the page of an address,
// and long numbers and tokens too, since nobody asked for this one address. Masks too much rather than
// too little: a date in digits goes as well.

const shownMax = 160;

/** Seven digits or more, with what people write between them: telephones, cards, accounts. */
const longNumber = /\+?\d(?:[ ./()-]{0,2}\d){6,}/g;
/** Runs without a space that no word is. */
const longRun = /[\w+/=.~-]{20,}/g;
const wordMax = 40;

export function maskPublic(text: string): string {
  const masked = maskComment(text)
    .replace(longRun, (run) => (/\d/.test(run) || run.length > wordMax ? '[token]' : run))
    .replace(longNumber, '[number]');
  return masked.length > shownMax ? `${masked.slice(0, shownMax).trimEnd()}…` : masked;
}
