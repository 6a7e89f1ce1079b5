/** Reports, dates and countries in the form that the API's clients know. */

import { isoSeconds } from '../../core/dates.ts';
import { formatFor } from '../../web/layout/format.ts';
import { categoriesOf } from './categories.ts';
import type { StoredReport } from './store/report-rows.ts';

/** `2026-11-21T09:30:00+00:00`. */
export function isoDate(ms: number): string {
  return isoSeconds(Math.floor(ms / 1_000));
}

/** In English; null when the code has none (`ZZ`: unknown). */
export function countryNameOf(code: string): string | null {
  return formatFor('en').country(code) ?? null;
}

/**
 * One object as JSON. `reporterId` is a number that stands for an account and reveals nothing of
 * it.
 */
export function reportJson(report: StoredReport): string {
  return JSON.stringify({
    reportedAt: isoDate(report.reportedAt),
    comment: report.comment,
    categories: categoriesOf(report.categories),
    reporterId: report.reporter,
    reporterCountryCode: report.country,
    // Always a text: the official Laravel client breaks at null.
    reporterCountryName: countryNameOf(report.country) ?? 'Unknown',
  });
}
