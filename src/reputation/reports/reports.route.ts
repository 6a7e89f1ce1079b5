/**
 * GET /api/v2/reports: the reports of an address, newest first, a page at a time.
 * Order of refusals: 401, 429, 422, 503. Costs one read. A page number costs no more than another:
 * every page reads the same `reportsWalkedMax` reports at most.
 */

import * as v from 'valibot';
import type { AccountOf, CatchUpTo } from '../../contracts/reputation.ts';
import type { Clock } from '../../core/clock.ts';
import { isoSeconds } from '../../core/dates.ts';
import { fail } from '../../core/result.ts';
import type { Semaphore } from '../../core/scheduling.ts';
import {
  about,
  between,
  count,
  integer,
  option,
  preset,
  queryReader,
  type ReadQuery,
  uri,
} from '../../core/schema.ts';
import type { PlainRoute } from '../../http/router.ts';
import { endpoint } from '../../web/guard/endpoint.ts';
import { type Guard, watchCaller } from '../../web/guard/guard.ts';
import { addressIn, addressNameIn } from '../../web/guard/intake/form.ts';
import { formatFor } from '../../web/layout/format.ts';
import { dataAnswer, formOrJson } from '../../web/openapi.ts';
import { jsonReply } from '../../web/shape.ts';
import { checkedAddress, days, readAddress, sinceOf } from '../check/check-schema.ts';
import { categoriesOf } from './categories.ts';
import { shownReport } from './report.ts';
import { pageBounds, type ReportHistory, readHistory } from './store/report-history.ts';
import type { StoredReport } from './store/report-rows.ts';
import type { ReportStore } from './store/report-store.ts';

const path = '/api/v2/reports';
const perPageDefault = 25;

interface ReportsRouteOptions {
  readonly guard: Guard;
  readonly clock: Clock;
  readonly reports: Pick<ReportStore, 'pages' | 'tails'>;
  /** Bounds the walks over reports that run at a time. */
  readonly walks: Semaphore;
  /** The beginning of links to other pages. */
  readonly secureUrl: string;
}

const ReportPage = v.strictObject({
  total: count,
  page: integer(1),
  count,
  perPage: integer(1, pageBounds.perPageMax),
  lastPage: integer(1),
  nextPageUrl: v.nullable(uri),
  previousPageUrl: v.nullable(uri),
  results: v.array(shownReport),
});

export const reportsEndpoint = endpoint({
  method: 'GET',
  path,
  who: 'api-key',
  shape: 'api',
  thread: 'main',
  cost: { quota: 'read' },
  errors: ['overloaded'],
  robots: 'disallow',
  docs: {
    id: 'listReports',
    tag: 'IP API',
    summary: 'The reports of an address, newest first. Costs one read a page.',
    query: {
      ipAddress: checkedAddress,
      maxAgeInDays: option(days, 'Count the reports of so many days.'),
      page: preset(about(between('page', 1, pageBounds.pageMax), 'From 1.'), 1),
      perPage: preset(
        about(between('per page', 1, pageBounds.perPageMax), 'Reports on a page.'),
        perPageDefault,
      ),
    },
    answers: { 200: dataAnswer('A page.', ReportPage) },
    schemas: { Report: shownReport, ReportPage },
  },
});

const readQuery = queryReader(reportsEndpoint.docs.query);
type ReportsQuery = ReadQuery<typeof reportsEndpoint.docs.query>;

export function reportsRoute(options: ReportsRouteOptions): PlainRoute {
  const { guard, clock, reports, walks, secureUrl } = options;
  return guard.keyed(reportsEndpoint, readQuery, async (asked, { headers }, caller) => {
    const { ipAddress: address, maxAgeInDays, page, perPage } = asked;
    const since = sinceOf(maxAgeInDays, clock.now());
    const window = { since, skip: (page - 1) * perPage, keep: perPage };
    const wanted = watchCaller(caller);
    const history = await walks.run(() => readHistory(reports, address, window, wanted));
    if (!history.ok) return history;
    const body = bodyOf(asked, history.value, secureUrl);
    return jsonReply(body, headers);
  });
}

function bodyOf(asked: ReportsQuery, history: ReportHistory, secureUrl: string): string {
  const { page, perPage } = asked;
  const lastPage = Math.max(1, Math.ceil(history.total / perPage));
  const link = (number: number) => JSON.stringify(linkTo(asked, number, secureUrl));
  return (
    `{"data":{"total":${history.total},"page":${page},"count":${history.reports.length},` +
    `"perPage":${perPage},"lastPage":${lastPage},` +
    `"nextPageUrl":${page < lastPage ? link(page + 1) : null},` +
    `"previousPageUrl":${page > 1 ? link(Math.min(page - 1, lastPage)) : null},` +
    `"results":[${history.reports.map(reportJson).join(',')}]}}`
  );
}

/** Never holds the key, wherever the request carried it. */
function linkTo(asked: ReportsQuery, page: number, secureUrl: string): string {
  const params = new URLSearchParams({ ipAddress: asked.ipAddress.text });
  if (asked.maxAgeInDays !== undefined) params.set('maxAgeInDays', String(asked.maxAgeInDays));
  params.set('perPage', String(asked.perPage));
  params.set('page', String(page));
  return `${secureUrl}${path}?${params}`;
}

/** `2026-11-21T09:30:00+00:00`. */
export function isoDate(ms: number): string {
  return isoSeconds(Math.floor(ms / 1_000));
}

/** In English; null when the code has none (`ZZ`: unknown). */
export function countryNameOf(code: string): string | null {
  return formatFor('en').country(code) ?? null;
}

/** One object as JSON. `reporterId` is a number that stands for an account and reveals nothing of it. */
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

// DELETE /api/v2/clear-address: an account takes back all it reported of an address. When it is
// answered that is on disk and gone from the score that a check through any thread shows.
// Order of refusals: 401, 429, 422, 503. Costs one write.

const bodyBytesMax = 4 * 1024;

interface ClearAddressOptions {
  readonly guard: Guard;
  readonly reports: Pick<ReportStore, 'withdraw'>;
  /** Bounds the walks over reports that run at a time. */
  readonly walks: Semaphore;
  readonly accountOf: AccountOf;
  readonly catchUpTo: CatchUpTo;
}

const Cleared = v.strictObject({ numReportsDeleted: count });

export const clearAddressEndpoint = endpoint({
  method: 'DELETE',
  path: '/api/v2/clear-address',
  who: 'api-key',
  shape: 'api',
  thread: 'main',
  cost: { quota: 'write' },
  body: { types: ['form', 'multipart', 'json'], bytesMax: bodyBytesMax, takesGzip: true },
  errors: ['unsupported_media_type', 'store_unavailable'],
  robots: 'disallow',
  docs: {
    id: 'clearAddress',
    tag: 'IP API',
    summary: 'Retracts what your account reported of an address. Costs one write.',
    description: '`ipAddress` in the query or in the body.',
    requestBody: formOrJson(v.object({ ipAddress: v.optional(v.string()) }), false),
    answers: { 200: dataAnswer('Gone from disk and score.', Cleared) },
    schemas: { Cleared },
  },
});

export function clearAddressRoute(options: ClearAddressOptions): PlainRoute {
  const { guard, reports, walks } = options;
  return guard.keyedFields(clearAddressEndpoint, async (fields, { slot, headers }) => {
    const text = addressIn(fields);
    const address = text.ok ? readAddress(text.value) : text;
    if (!address.ok) return { ...address, parameter: addressNameIn(fields) };
    const account = options.accountOf(slot);
    if (account === undefined) return fail('unauthenticated');
    const { family, words } = address.value;
    // A person's second thought costs no trust.
    const done = await walks.run(() => reports.withdraw(account, family, words, false));
    const withdrawn = done.ok ? done.value : done;
    if (!withdrawn.ok) return withdrawn;
    await options.catchUpTo(withdrawn.value.seq);
    return jsonReply(`{"data":{"numReportsDeleted":${withdrawn.value.removed}}}`, headers);
  });
}
