/**
 * GET /ip/<address>: what is known of an address. A page for people, JSON for who asks for it; the main thread
 * answers it.
 */

import type { Verdict } from '../../contracts/reputation.ts';
import type { Clock } from '../../core/clock.ts';
import { fail } from '../../core/result.ts';
import type { Turns } from '../../core/scheduling.ts';
import { dayMs } from '../../core/time.ts';
import { countryOf, type GeoReader, providerOf } from '../../geo/reader.ts';
import { providerAttribution } from '../../geo/sources.ts';
import type { Header, Reply, Request } from '../../http/request/message.ts';
import type { PlainRoute } from '../../http/router.ts';
import type { IpIndex } from '../../index/ip-index.ts';
import {
  ceilingOf,
  firstReportedAtOf,
  lastReportedAtOf,
  metaOf,
  type Records,
  reportersOf,
  seedScoreOf,
  strengthOf,
} from '../../index/records.ts';
import { formatIp, parseIp } from '../../ip/address.ts';
import { lookBehind } from '../../ip/behind.ts';
import { formatNetwork, formatPrefix, maskWords, parsePrefix } from '../../ip/prefix.ts';
import { specialUse } from '../../ip/special.ts';
import { endpoint, routeFacts } from '../../web/guard/endpoint.ts';
import type { Language } from '../../web/language.ts';
import { errorReply, languageOf, type PageTools } from '../../web/page-tools.ts';
import type { ReplyCache } from '../../web/reply-cache.ts';
import { failureBody, jsonType, noStore } from '../../web/shape.ts';
import { addressPageDocs } from '../check/check.openapi.ts';
import type { Check } from '../check/check.ts';
import { entryScore, halfLivesAt, maliciousScore } from '../check/score.ts';
import { categoriesOf } from '../reports/categories.ts';
import { reportAgeMaxMs } from '../reports/report.ts';
import type { StoredReport } from '../reports/store/report-rows.ts';
import type { ReportStore } from '../reports/store/report-store.ts';
import { ceilings } from '../votes/quorum.ts';
import { catalogueFor } from '../words.ts';
import { type IpPageData, ipPage, ipPageIsIndexable, type ScoreReason } from './address.page.tsx';
import { type Evidence, type EvidenceReader, whyJson } from './evidence.ts';
import { isMet, isObserved, openKnownNames, surveyOf } from './known.ts';
import { cellsOf } from './network.route.ts';
import { scoreCurve } from './score-curve.ts';

const chartDays = 90;
/** Bound on the reports that one page reads. */
const reportsShownMax = 2_000;
const commentsShownMax = 25;
const neighboursShownMax = 5;
/** Length of the network around an address whose other addresses are shown. */
const neighbourLengths = { 4: 24, 6: 48 } as const;

const knownNames = openKnownNames();

interface AddressOptions {
  readonly tools: PageTools;
  readonly index: IpIndex;
  readonly check: Check;
  readonly geo: GeoReader;
  readonly clock: Clock;
  readonly reports: ReportStore;
  readonly evidence: EvidenceReader;
  readonly turns: Turns;
  readonly cache: ReplyCache;
  /** A refusal when the client has asked too often. */
  readonly admit: (request: Request, asJson: boolean) => Reply | undefined;
  readonly wantsJson: (request: Request) => boolean;
  /** Base URL of the API in the command that the page shows. */
  readonly secureUrl: string;
}

/** One path, several answers: a cache must not give one reader's to another. */
const varies: Header = ['Vary', 'Accept, Accept-Language'];

/** A page for people, JSON for who asks for it; so it renders its failures itself. */
export const addressEndpoint = endpoint({
  method: 'GET',
  path: '/ip/:address',
  who: 'anyone',
  shape: 'page',
  thread: 'main',
  headers: ['accept', 'accept-language'],
  handlerLimits: ['ipPage'],
  errors: ['invalid_parameter', 'client_limit_exceeded'],
  docs: addressPageDocs,
});

export function addressRoute(options: AddressOptions): PlainRoute {
  const { tools, clock, cache, admit, wantsJson } = options;

  async function show(request: Request): Promise<Reply> {
    const reply = await answer(request);
    return { ...reply, headers: [...reply.headers, varies] };
  }

  async function answer(request: Request): Promise<Reply> {
    const language = languageOf(request);
    const asJson = wantsJson(request);
    const refusal = admit(request, asJson);
    if (refusal !== undefined) return refusal;
    const address = new Uint32Array(4);
    const family = lookBehind(parseIp(request.param, address), address);
    if (family === 0) {
      // With its slash percent-encoded.
      const network = parsePrefix(request.param, 'mask');
      if (network.ok && request.param.includes('/')) {
        return {
          status: 303,
          headers: [['Location', `/ip/${formatNetwork(network.value)}`], noStore],
        };
      }
      if (asJson)
        return failureBody(
          'api',
          fail('invalid_parameter', 'This is not a valid IPv4 or IPv6 address.', 'ipAddress'),
        );
      return errorReply(tools, language, 400, undefined);
    }
    // With what the index says: a report shows at once, not a second later.
    const said = options.check.judge(family, address, clock.now());
    const form = asJson ? 'json' : language;
    const counts = `${said.score} ${said.reports} ${said.listReports} ${said.listedAt}`;
    const key = `${formatIp(family, address)} ${form} ${counts}`;
    return cache.get(key, () => make(family, address, asJson, language));
  }

  async function make(
    family: 4 | 6,
    address: Uint32Array,
    asJson: boolean,
    language: Language,
  ): Promise<Reply> {
    const around = await aroundOf(family, address, options);
    const data = { ...(await dataOf(family, address, language, options)), around };
    const robots: Header[] = ipPageIsIndexable(data) ? [] : [['X-Robots-Tag', 'noindex']];
    if (asJson) return { status: 200, headers: [jsonType, noStore, ...robots], body: jsonOf(data) };
    return {
      status: 200,
      headers: [...tools.headers(language), ['Cache-Control', 'private, max-age=5'], ...robots],
      body: ipPage(tools.frame(language), data),
    };
  }

  return { kind: 'plain', ...routeFacts(addressEndpoint), handle: show };
}

async function dataOf(
  family: 4 | 6,
  address: Uint32Array,
  language: Language,
  options: AddressOptions,
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
  const { reportedEntry: entry, decidedBy } = verdict;
  const ids = geo.find(family, address);
  const decider = decidedBy === 0 ? undefined : index.prefixOf(decidedBy);
  const isNetwork = decider !== undefined && decider.length < (family === 4 ? 32 : 128);
  const provider = providerOf(ids);
  const special = specialUse(family, address);
  const seconds = (at: number) => (at === 0 ? undefined : at * 1_000);
  const text = formatIp(family, address);
  const evidence = options.evidence.of(family, address, nowMs);
  const isCut = found.length === reportsShownMax;
  return {
    address: text,
    score: verdict.score,
    countryCode: geo.country(countryOf(ids)),
    provider: provider === 0 ? '' : geo.provider(provider),
    anonymousExit: verdict.anonymousExit,
    allowlisted: verdict.allowlisted,
    special: special && { name: special.name, rfc: special.rfc },
    observed: isObserved(verdict),
    knownAs: knownNames.of(family, address),
    evidence,
    why: reasonOf(verdict, index.records, evidence, nowMs),
    scorePrefix: isNetwork ? formatPrefix(decider) : undefined,
    reports: verdict.reports,
    listReports: verdict.listReports,
    listedAt: seconds(verdict.listedAt),
    distinctReporters: entry === 0 ? 0 : reportersOf(index.records, entry),
    firstReportedAt: entry === 0 ? undefined : seconds(firstReportedAtOf(index.records, entry)),
    lastReportedAt: entry === 0 ? undefined : seconds(lastReportedAtOf(index.records, entry)),
    scorePerDay: verdict.allowlisted
      ? undefined
      : scoreCurve({
          evidence,
          hasReports: !verdict.knownGood,
          address: text,
          reports: found,
          isCut,
          nowMs,
          days: chartDays,
        }),
    ...summaryOf(found, nowMs, language),
    latestReports: isCut ? reportsShownMax : undefined,
    reportHref: isMet(special) ? `/report?address=${text}` : undefined,
    removalHref:
      isMet(special) && (verdict.score > 0 || verdict.reports > 0 || verdict.anonymousExit)
        ? `/removal?address=${text}`
        : undefined,
    reportUrl: isMet(special) ? `${secureUrl}/api/v2/report` : undefined,
    attribution: provider === 0 ? undefined : providerAttribution,
    now: nowMs,
  };
}

/** Surveys the network around an address; undefined when nothing is known there. */
async function aroundOf(
  family: 4 | 6,
  address: Uint32Array,
  options: AddressOptions,
): Promise<IpPageData['around']> {
  const length = neighbourLengths[family];
  const words = Uint32Array.from(address);
  maskWords(family, words, length);
  const network = { family, words, length };
  const own = formatIp(family, address);
  const survey = await surveyOf([network], neighboursShownMax + 1, options);
  const worst = survey.worst.filter(({ name }) => name !== own).slice(0, neighboursShownMax);
  if (worst.length === 0) return undefined;
  return { network: formatPrefix(network), worst, cells: cellsOf(network, options) };
}

/** In plain words on the page: what decided how far the reports of the deciding entry may go. */
function reasonOf(
  { knownGood, allowlisted, decidedBy, reports }: Verdict,
  records: Records,
  { lists }: Evidence,
  nowMs: number,
): ScoreReason | undefined {
  if (allowlisted) return undefined;
  if (knownGood) return { by: 'knownGood' };
  if (decidedBy === 0 || reports === 0) return undefined;
  const meta = metaOf(records, decidedBy);
  const ceiling = ceilingOf(meta);
  const strength = strengthOf(records, decidedBy);
  const reported = entryScore(0, ceiling, strength, halfLivesAt(nowMs));
  if (reported < seedScoreOf(meta) || ceiling === 0) {
    return { by: lists[0]?.kind === 'own' ? 'own' : 'list' };
  }
  switch (ceiling) {
    case ceilings.none:
      return { by: 'newcomers', ceiling };
    case ceilings.some:
      return { by: 'some', ceiling };
    case ceilings.earned:
      return { by: 'earned', ceiling };
    case ceilings.full:
      return { by: 'full' };
    default:
      return { by: 'held', ceiling };
  }
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

/** Returns the later of two times, each of which may be absent. */
function newest(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || (other !== undefined && other > one) ? other : one;
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
      isWhitelisted: data.allowlisted || data.why?.by === 'knownGood',
      totalReports: data.reports + data.listReports,
      malicious: data.score >= maliciousScore,
      firstReportedAt: date(data.firstReportedAt),
      lastReportedAt: date(newest(data.lastReportedAt, data.listedAt)),
      why: whyJson(data.evidence),
    },
  });
}
