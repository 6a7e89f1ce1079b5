/**
 * GET /api/v2/reports: the reports of an address, newest first, a page at a time.
 * Order of refusals: 401, 429, 422, 503. Costs one read. A page number costs no more than another:
 * every page reads the same `reportsWalkedMax` reports at most.
 */

import type { Clock } from '../../core/clock.ts';
import { isoSeconds } from '../../core/dates.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import type { Semaphore } from '../../core/scheduling.ts';
import type { Params } from '../../http/request/query.ts';
import type { PlainRoute } from '../../http/router.ts';
import { endpoint } from '../../web/guard/endpoint.ts';
import { type Guard, wantedBy } from '../../web/guard/guard.ts';
import { addressIn } from '../../web/guard/intake/fields.ts';
import { formatFor } from '../../web/layout/format.ts';
import { jsonType, noStore } from '../../web/shape.ts';
import { type Address, readAddress, readSince, readWhole } from '../check/check.route.ts';
import { categoriesOf } from './categories.ts';
import { clearAddressDocs, listReportsDocs } from './reports.openapi.ts';
import { pageBounds, type ReportHistory, readHistory } from './store/report-history.ts';
import type { StoredReport } from './store/report-rows.ts';
import type { ReportStore } from './store/report-store.ts';

const path = '/api/v2/reports';
const perPageDefault = 25;

export interface ReportsRouteOptions {
  readonly guard: Guard;
  readonly clock: Clock;
  readonly reports: Pick<ReportStore, 'pages' | 'tails'>;
  /** Bounds the walks over reports that run at a time. */
  readonly walks: Semaphore;
  /** The beginning of links to other pages. */
  readonly secureUrl: string;
}

interface Asked {
  readonly address: Address;
  readonly since: number;
  readonly page: number;
  readonly perPage: number;
  /** As it came, for the links. */
  readonly maxAgeInDays: string | undefined;
}

export const reportsEndpoint = endpoint({
  method: 'GET',
  path,
  who: 'api-key',
  shape: 'api',
  thread: 'main',
  cost: { quota: 'read' },
  errors: ['overloaded'],
  robots: 'disallow',
  docs: listReportsDocs,
});

export function reportsRoute(options: ReportsRouteOptions): PlainRoute {
  const { guard, clock, reports, walks, secureUrl } = options;
  return guard.keyed(
    reportsEndpoint,
    (params) => readAsked(params, clock.now()),
    async (asked, { headers }, caller) => {
      const { address, since, page, perPage } = asked;
      const window = { since, skip: (page - 1) * perPage, keep: perPage };
      const wanted = wantedBy(caller);
      const history = await walks.run(() => readHistory(reports, address, window, wanted));
      if (!history.ok) return history;
      const body = bodyOf(asked, history.value, secureUrl);
      return { status: 200, headers: [jsonType, noStore, ...headers], body };
    },
  );
}

function readAsked(params: Params, nowMs: number): Result<Asked> {
  const address = readAddress(params.get('ipAddress'));
  if (!address.ok) return address;
  const since = readSince(params, nowMs);
  if (!since.ok) return since;
  const page = readWhole(params, 'page', { min: 1, max: pageBounds.pageMax, byDefault: 1 });
  if (!page.ok) return page;
  const range = { min: 1, max: pageBounds.perPageMax, byDefault: perPageDefault };
  const perPage = readWhole(params, 'perPage', range);
  if (!perPage.ok) return perPage;
  return ok({
    address: address.value,
    since: since.value,
    page: page.value,
    perPage: perPage.value,
    maxAgeInDays: params.get('maxAgeInDays'),
  });
}

function bodyOf(asked: Asked, history: ReportHistory, secureUrl: string): string {
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
function linkTo(asked: Asked, page: number, secureUrl: string): string {
  const params = new URLSearchParams({ ipAddress: asked.address.text });
  if (asked.maxAgeInDays !== undefined) params.set('maxAgeInDays', asked.maxAgeInDays);
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

// DELETE /api/v2/clear-address: an account takes back all it reported of an address. When it is
// answered that is on disk and gone from the score that a check through any thread shows.
// Order of refusals: 401, 429, 422, 503. Costs one write.

const bodyBytesMax = 4 * 1024;

export interface ClearAddressOptions {
  readonly guard: Guard;
  readonly reports: Pick<ReportStore, 'withdraw'>;
  /** Bounds the walks over reports that run at a time. */
  readonly walks: Semaphore;
  /** Account id by slot. */
  readonly accountOf: (slot: number) => string | undefined;
  /** Resolves when the journal event is in memory. */
  readonly catchUpTo: (seq: bigint) => Promise<void>;
}

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
  docs: clearAddressDocs,
});

export function clearAddressRoute(options: ClearAddressOptions): PlainRoute {
  const { guard, reports, walks } = options;
  return guard.keyedFields(clearAddressEndpoint, async (fields, { slot, headers }) => {
    const text = addressIn(fields);
    const address = text.ok ? readAddress(text.value) : text;
    if (!address.ok) return address;
    const account = options.accountOf(slot);
    if (account === undefined) return fail('unauthenticated');
    const { family, words } = address.value;
    // A person's second thought costs no trust.
    const done = await walks.run(() => reports.withdraw(account, family, words, false));
    const withdrawn = done.ok ? done.value : done;
    if (!withdrawn.ok) return withdrawn;
    await options.catchUpTo(withdrawn.value.seq);
    return {
      status: 200,
      headers: [jsonType, noStore, ...headers],
      body: `{"data":{"numReportsDeleted":${withdrawn.value.removed}}}`,
    };
  });
}
