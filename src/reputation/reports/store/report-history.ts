/**
 * The reports of one address over a window of time: how many, of how many accounts, and some of
 * them. Whatever is asked, no more than the newest `reportsWalkedMax` are looked at. Of those whose details
 * went (details-bound.ts) only the counts are left.
 */

import type { StoredReport } from './report-rows.ts';
import type { ReportStore } from './report-store.ts';
import { countSince } from './tails.ts';

/** A third of a second of work; a report each ten minutes of a year. */
export const reportsWalkedMax = 50_000;

export interface ReportHistory {
  /** Reports in the window that have details, at most `reportsWalkedMax`; with `withTails` all of them. */
  readonly total: number;
  /** Accounts behind them. */
  readonly reporters: number;
  /** Newest first: those from number `skip` on, at most `keep`. */
  readonly reports: readonly StoredReport[];
  /** Milliseconds since 1970 of the newest one. */
  readonly lastReportedAt: number | undefined;
}

/** @param isWanted asked between pages, with what was counted so far; false ends the walk early */
export async function readHistory(
  store: Pick<ReportStore, 'pages' | 'tails'>,
  address: { readonly family: 4 | 6; readonly words: Uint32Array },
  window: {
    readonly since: number;
    readonly skip: number;
    readonly keep: number;
    readonly withTails?: boolean;
  },
  isWanted: (soFar: number) => boolean,
): Promise<ReportHistory> {
  const { since, skip, keep } = window;
  const accounts = new Set<number>();
  const reports: StoredReport[] = [];
  let total = 0;
  let lastReportedAt: number | undefined;
  for await (const page of store.pages(address.family, address.words, since)) {
    for (const report of page) {
      if (total === reportsWalkedMax) break;
      lastReportedAt ??= report.reportedAt;
      accounts.add(report.reporter);
      if (total >= skip && reports.length < keep) reports.push(report);
      total++;
    }
    if (total === reportsWalkedMax || !isWanted(total)) break;
  }
  if (window.withTails === true && isWanted(total)) {
    for await (const page of store.tails(address.family, address.words)) {
      for (const tail of page) {
        const count = countSince(tail, since);
        if (count === 0) continue;
        total += count;
        accounts.add(tail.reporter);
        lastReportedAt = Math.max(lastReportedAt ?? 0, tail.newestAt);
      }
      if (!isWanted(total)) break;
    }
  }
  return { total, reporters: accounts.size, reports, lastReportedAt };
}

/** Bounds of a page of the list of an address's reports. */
export const pageBounds = { perPageMax: 100, pageMax: 1_000_000 } as const;
