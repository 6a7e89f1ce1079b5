/**
 * GET /api/v2/reports: the reports of an address, newest first, a page at a time.
 * Order of refusals: 401, 429, 422, 503. Costs one read. A page number costs no more than
 * another: every page looks at the same `reportsWalkedMax` reports at most.
 */

import type { Gate } from '../access/gate.ts';
import type { Clock } from '../core/clock.ts';
import { ok, type Result } from '../core/result.ts';
import type { Turnstile } from '../core/turnstile.ts';
import type { Reply, Request } from '../http/message.ts';
import type { Params } from '../http/query.ts';
import type { Caller, PlainRoute } from '../http/router.ts';
import { type ReportHistory, readHistory } from '../reputation/report-history.ts';
import type { ReportStore } from '../reputation/report-store.ts';
import { readKeyed, wantedBy } from './keyed.ts';
import { type Address, readAddress, readSince, readWhole } from './parameters.ts';
import { apiProblem, jsonType, noStore } from './problem.ts';
import { reportJson } from './report-json.ts';

const path = '/api/v2/reports';
export const pageBounds = { perPageMax: 100, pageMax: 1_000_000 } as const;
const perPageDefault = 25;

export interface ReportsRouteOptions {
  readonly gate: Gate;
  readonly clock: Clock;
  readonly reports: Pick<ReportStore, 'pages'>;
  /** Bounds the walks over reports that run at a time. */
  readonly walks: Turnstile;
  /** What the links to other pages begin with. */
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

export function reportsRoute(options: ReportsRouteOptions): PlainRoute {
  const { gate, clock, reports, walks, secureUrl } = options;

  async function handle(request: Request, caller: Caller): Promise<Reply> {
    const read = readKeyed(gate, request, (params) => readAsked(params, clock.now()));
    if (!read.ok) return read.refusal;
    const { asked, headers } = read;
    const { address, since, page, perPage } = asked;
    const window = { since, skip: (page - 1) * perPage, keep: perPage };
    const history = await walks.run(() => readHistory(reports, address, window, wantedBy(caller)));
    if (!history.ok) return apiProblem(history, headers);
    const body = bodyOf(asked, history.value, secureUrl);
    return { status: 200, headers: [jsonType, noStore, ...headers], body };
  }

  return { kind: 'plain', method: 'GET', path, headers: ['key'], handle };
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
