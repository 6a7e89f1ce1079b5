/**
 * GET /ip/<address>: what is known of an address. A page for people, JSON for who asks for it.
 * Needs no key, so it is limited per client; the main thread answers it.
 */

import type { Clock } from '../core/clock.ts';
import { fail } from '../core/result.ts';
import type { GeoReader } from '../geo/reader.ts';
import { countryOf, providerOf } from '../geo/reader.ts';
import { firstHeader, type Header, type Reply, type Request } from '../http/message.ts';
import { parseQuery } from '../http/query.ts';
import type { PlainRoute } from '../http/router.ts';
import type { IpIndex } from '../index/ip-index.ts';
import { firstReportedAtOf, lastReportedAtOf, metaOf, reportersOf } from '../index/records.ts';
import { formatIp, parseIp } from '../ip/address.ts';
import { formatPrefix } from '../ip/prefix.ts';
import { type IpPageData, ipPage, ipPageIsIndexable } from '../pages/ip.ts';
import { catalogueFor, type Language } from '../pages/language.ts';
import { categoriesOf } from '../reputation/categories.ts';
import type { Check } from '../reputation/check.ts';
import { reportAgeMaxMs } from '../reputation/report.ts';
import type { ReportStore, StoredReport } from '../reputation/report-store.ts';
import { maliciousScore } from '../reputation/score.ts';
import type { Callers } from './callers.ts';
import { errorReply, languageOf, type PageTools, providerAttribution } from './pages.ts';
import { apiProblem, jsonType, noStore } from './problem.ts';
import { createReplyCache } from './reply-cache.ts';

const dayMs = 86_400_000;
const chartDays = 90;
/** Bound on the reports that one page looks at. */
const reportsShownMax = 2_000;
const commentsShownMax = 25;

export interface IpPageOptions {
  readonly tools: PageTools;
  readonly index: IpIndex;
  readonly check: Check;
  readonly geo: GeoReader;
  readonly clock: Clock;
  readonly reports: ReportStore;
  readonly callers: Callers;
  /** Where reports are sent: for the command that the page shows. */
  readonly secureUrl: string;
}

/** One path, several answers: a cache must not give one reader's to another. */
const varies: Header = ['Vary', 'Accept, Accept-Language'];

/** A flood on one page costs one look at the store a second. Some pages of the largest kind. */
const cacheOptions = { keepMs: 1_000, entriesMax: 500, bytesMax: 8 << 20 } as const;

export function ipPageRoutes(options: IpPageOptions): PlainRoute[] {
  const { tools, callers, clock } = options;
  const words = new Uint32Array(4);
  const cache = createReplyCache({ clock, ...cacheOptions });

  async function show(request: Request): Promise<Reply> {
    const reply = await answer(request);
    return { ...reply, headers: [...reply.headers, varies] };
  }

  async function answer(request: Request): Promise<Reply> {
    const language = languageOf(request);
    const asJson = wantsJson(request);
    const waitSeconds = callers.take('ipPage', request);
    if (waitSeconds > 0) {
      const retry: Header[] = [['Retry-After', String(waitSeconds)]];
      if (asJson) return apiProblem(fail('client_limit_exceeded'), retry);
      const reply = errorReply(tools, language, 429);
      return { ...reply, headers: [...reply.headers, ...retry] };
    }
    const address = new Uint32Array(4);
    const family = parseIp(request.param, address);
    if (family === 0) {
      if (asJson)
        return apiProblem(
          fail('invalid_parameter', 'This is not a valid IPv4 or IPv6 address.', 'ipAddress'),
        );
      return errorReply(tools, language, 400, undefined);
    }
    // With what the index says: a report shows at once, not a second later.
    const { score, reports } = options.check.judge(family, address, clock.now());
    const form = asJson ? 'json' : language;
    const key = `${formatIp(family, address)} ${form} ${score} ${reports}`;
    return cache.get(key, () => make(family, address, asJson, language));
  }

  async function make(
    family: 4 | 6,
    address: Uint32Array,
    asJson: boolean,
    language: Language,
  ): Promise<Reply> {
    const data = await dataOf(family, address, language, options);
    const robots: Header[] = ipPageIsIndexable(data) ? [] : [['X-Robots-Tag', 'noindex']];
    if (asJson) return { status: 200, headers: [jsonType, noStore, ...robots], body: jsonOf(data) };
    return {
      status: 200,
      headers: [...tools.headers(language), ['Cache-Control', 'private, max-age=5'], ...robots],
      body: ipPage(tools.frame(language), data),
    };
  }

  /** The address box of every page sends here: a form can't put its field into a path. */
  function find(request: Request): Reply {
    const query = parseQuery(request.query);
    const address = query.ok ? (query.value.get('address') ?? '').trim() : '';
    const family = parseIp(address, words);
    if (family === 0) return errorReply(tools, languageOf(request), 400);
    return { status: 303, headers: [['Location', `/ip/${formatIp(family, words)}`], noStore] };
  }

  return [
    { kind: 'plain', method: 'GET', path: '/ip', headers: ['accept-language'], handle: find },
    {
      kind: 'plain',
      method: 'GET',
      path: '/ip/:address',
      headers: ['accept', 'accept-language'],
      handle: show,
    },
  ];
}

function wantsJson(request: Request): boolean {
  return /^application\/json\b/i.test(firstHeader(request, 'accept')?.trim() ?? '');
}

async function dataOf(
  family: 4 | 6,
  address: Uint32Array,
  language: Language,
  options: IpPageOptions,
): Promise<IpPageData> {
  const { index, check, geo, clock, secureUrl } = options;
  const nowMs = clock.now();
  const found = await options.reports.list(
    family,
    address,
    nowMs - reportAgeMaxMs,
    reportsShownMax,
  );
  // After the await: the verdict is one object for all calls.
  const verdict = check.judge(family, address, nowMs);
  const { entry, decidedBy } = verdict;
  const ids = geo.find(family, address);
  const decider = decidedBy === 0 ? undefined : index.prefixOf(decidedBy);
  const isNetwork = decider !== undefined && decider.length < (family === 4 ? 32 : 128);
  const provider = providerOf(ids);
  const seconds = (at: number) => (at === 0 ? undefined : at * 1_000);
  return {
    address: formatIp(family, address),
    score: verdict.score,
    countryCode: geo.country(countryOf(ids)),
    provider: provider === 0 ? '' : geo.provider(provider),
    anonymousExit: verdict.anonymousExit,
    allowlisted: verdict.allowlisted,
    scorePrefix: isNetwork ? formatPrefix(decider) : undefined,
    totalReports: verdict.reports,
    distinctReporters: entry === 0 ? 0 : reportersOf(metaOf(index.records, entry)),
    firstReportedAt: entry === 0 ? undefined : seconds(firstReportedAtOf(index.records, entry)),
    lastReportedAt: entry === 0 ? undefined : seconds(lastReportedAtOf(index.records, entry)),
    ...summaryOf(found, nowMs, language),
    latestReports: found.length === reportsShownMax ? reportsShownMax : undefined,
    reportUrl: `${secureUrl}/api/v2/report`,
    attribution: provider === 0 ? undefined : providerAttribution,
    now: nowMs,
  };
}

/** Chart, categories and comments out of an address's reports, newest first. */
function summaryOf(
  reports: readonly StoredReport[],
  nowMs: number,
  language: Language,
): Pick<IpPageData, 'reportsPerDay' | 'categories' | 'comments'> {
  const names = catalogueFor(language).categories;
  const nameOf = (number: number) => names[number - 1] ?? String(number);
  const today = Math.floor(nowMs / dayMs);
  const perDay = new Array<number>(chartDays).fill(0);
  const byCategory = new Map<number, number>();
  for (const { reportedAt, categories } of reports) {
    const place = chartDays - 1 - (today - Math.floor(reportedAt / dayMs));
    if (place >= 0 && place < chartDays) perDay[place]! += 1;
    for (const number of categoriesOf(categories)) {
      byCategory.set(number, (byCategory.get(number) ?? 0) + 1);
    }
  }
  return {
    reportsPerDay: perDay.map((count, i) => ({ day: (today - chartDays + 1 + i) * dayMs, count })),
    categories: [...byCategory]
      .sort((a, b) => b[1] - a[1])
      .map(([number, count]) => ({ name: nameOf(number), count })),
    comments: reports
      .filter(({ comment }) => comment !== '')
      .slice(0, commentsShownMax)
      .map(({ comment, reportedAt, categories }) => ({
        text: comment,
        at: reportedAt,
        categories: categoriesOf(categories).map(nameOf),
      })),
  };
}

function jsonOf(data: IpPageData): string {
  const date = (ms: number | undefined) =>
    ms === undefined ? null : new Date(ms).toISOString().replace(/\.\d{3}Z$/, '+00:00');
  return JSON.stringify({
    data: {
      ipAddress: data.address,
      abuseConfidenceScore: data.score,
      countryCode: data.countryCode,
      isp: data.provider || 'Unknown',
      isAnon: data.anonymousExit,
      isWhitelisted: data.allowlisted,
      totalReports: data.totalReports,
      malicious: data.score >= maliciousScore,
      firstReportedAt: date(data.firstReportedAt),
      lastReportedAt: date(data.lastReportedAt),
    },
  });
}
