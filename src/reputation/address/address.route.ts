/**
 * Shows without a key what is known of an address (GET /ip/192.0.2.1), of a network (GET /ip/192.0.2.0/24) and of an
 * autonomous system (GET /as/64500), and answers the address box of every page (GET /ip?address=<text>). The answer
 * is a page, or JSON if the client asks for it, so these routes render their failures themselves. The main thread
 * answers.
 */

import * as v from 'valibot';
import type { Verdict } from '../../contracts/reputation.ts';
import type { Clock } from '../../core/clock.ts';
import type { Language } from '../../core/language.ts';
import { fail } from '../../core/result.ts';
import type { SliceScheduler } from '../../core/scheduling.ts';
import { count, dateTime, score } from '../../core/schema.ts';
import { dayMs } from '../../core/time.ts';
import { countryOf, type GeoReader, providerOf, unknownCountry } from '../../geo/reader.ts';
import { providerAttribution } from '../../geo/sources.ts';
import type { Systems } from '../../geo/systems/systems.ts';
import { forwardingHeaders } from '../../http/request/client-ip.ts';
import type { Header, Reply, Request } from '../../http/request/message.ts';
import { type Params, parseQuery } from '../../http/request/query.ts';
import type { Caller, PlainRoute } from '../../http/router.ts';
import type { IpIndex } from '../../index/ip-index.ts';
import { hostMask } from '../../index/prefix.ts';
import {
  ceilingOf,
  firstReportedAtOf,
  lastReportedAtOf,
  listScoreOf,
  metaOf,
  type Records,
  reportersOf,
  reportsOf,
  strengthOf,
} from '../../index/records.ts';
import { formatIp, type IpFamily, parseIp, readIp } from '../../ip/address.ts';
import { readJudgedIp, replaceByEmbedded } from '../../ip/embedded-ipv4.ts';
import {
  contains,
  formatNetwork,
  formatPrefix,
  type IpRange,
  maskWords,
  type Prefix,
  parsePrefix,
  rangeToPrefixes,
  widthOf,
} from '../../ip/prefix.ts';
import { type SpecialUse, specialUse } from '../../ip/special.ts';
import { addressesIn } from '../../ip/typed-address.ts';
import type { Callers } from '../../web/guard/callers.ts';
import {
  type Endpoint,
  endpoint,
  openPage,
  routeFacts,
  sessionPage,
  visitHeaders,
} from '../../web/guard/endpoint.ts';
import type { AnyPageBuilder } from '../../web/guard/page-builder.ts';
import type { AnyRequestContext, SessionLike } from '../../web/guard/request-context.ts';
import type { Html } from '../../web/html.ts';
import { dataOrPage, errorsOrPage } from '../../web/openapi.ts';
import { errorReply, languageOf, type PageTools } from '../../web/page-tools.ts';
import type { ReplyCache } from '../../web/reply-cache.ts';
import { failureBody, jsonReply, noStore } from '../../web/shape.ts';
import { csvText } from '../blocklists/pieces/records.ts';
import { blockBounds } from '../check/block-check.ts';
import type { Check } from '../check/check.ts';
import { checkSummary } from '../check/check-schema.ts';
import { entryScore, halfLivesAt, maliciousScore } from '../check/score.ts';
import type { Hostnames } from '../hostnames.ts';
import { categoriesOf } from '../reports/categories.ts';
import { reportAgeMaxMs } from '../reports/report.ts';
import type { StoredReport } from '../reports/store/report-rows.ts';
import type { ReportStore } from '../reports/store/report-store.ts';
import { ceilings } from '../votes/quorum.ts';
import { translationsFor } from '../words.ts';
import { type IpPageData, ipPage, ipPageIsIndexable, type ScoreReason } from './address.page.tsx';
import { type Evidence, type EvidenceReader, shownEvidence, whyJson } from './evidence.ts';
import {
  type AddressCell,
  type CellKind,
  canBeReported,
  cellOf,
  openKnownNames,
  type Survey,
  surveyOf,
  unseenOf,
} from './known.ts';
import {
  type FoundAddress,
  findPage,
  type NamedNetwork,
  type NetworkPageData,
  networkPage,
  type SystemPageData,
  systemPage,
} from './network.page.tsx';
import { scoreCurve } from './score-curve.ts';

/** Every page here reads these. */
interface PageNeeds {
  readonly tools: PageTools;
  readonly check: Check;
  readonly geo: GeoReader;
  readonly clock: Clock;
}

interface NetworkNeeds extends PageNeeds {
  readonly index: IpIndex;
  /** Milliseconds since 1970: when the tables of countries and networks were made; 0: unknown. */
  readonly geoMadeAt: number;
  readonly scheduler: SliceScheduler;
  /** Base URL of the API in the command that the page shows. */
  readonly secureUrl: string;
}

/** The pages have these in common. */
interface AddressTools {
  /** Returns a refusal when the client has asked too often. */
  readonly admit: (request: Request, asJson: boolean) => Reply | undefined;
  readonly wantsJson: (request: Request) => boolean;
}

type PageOptions = NetworkNeeds & AddressTools;

/** One path, several answers: a cache must not give one reader's to another. */
const varies: Header = ['Vary', 'Accept, Accept-Language'];
const noIndex: Header = ['X-Robots-Tag', 'noindex'];

function movedTo(location: string): Reply {
  return { status: 303, headers: [['Location', location], noStore] };
}

function withVary(reply: Reply): Reply {
  return { ...reply, headers: [...reply.headers, varies] };
}

function locationOf(geo: GeoReader, family: IpFamily, words: Uint32Array) {
  const ids = geo.find(family, words);
  const provider = providerOf(ids);
  return {
    countryCode: geo.country(countryOf(ids)),
    /** Empty when unknown. */
    provider: provider === 0 ? '' : geo.provider(provider),
  };
}

/** A network is looked up at 2^8 addresses, evenly spaced. */
const sampleBits = 8;

/** Country and provider of a network as a whole: unknown where its addresses have several. */
function locationOfNetwork(geo: GeoReader, { family, words, length }: Prefix) {
  const bits = Math.min(sampleBits, widthOf(family) - length);
  const address = new Uint32Array(4);
  let [country, provider] = [0, 0];
  let hasCountries = false;
  let hasProviders = false;
  // A text has hundreds of networks: ids are compared, not names, and no further than it takes.
  for (let sample = 0; sample < 1 << bits && !(hasCountries && hasProviders); sample++) {
    address.set(words);
    for (let rest = sample, at = length + bits - 1; rest !== 0; rest >>>= 1, at--) {
      if (rest & 1) address[at >>> 5]! |= 0x8000_0000 >>> (at & 31);
    }
    const ids = geo.find(family, address);
    const [itsCountry, itsProvider] = [countryOf(ids), providerOf(ids)];
    hasCountries ||= country !== 0 && itsCountry !== 0 && itsCountry !== country;
    hasProviders ||= provider !== 0 && itsProvider !== 0 && itsProvider !== provider;
    country ||= itsCountry;
    provider ||= itsProvider;
  }
  const first = locationOf(geo, family, words);
  return {
    countryCode: hasCountries ? unknownCountry : first.countryCode,
    provider: hasProviders ? '' : first.provider,
    hasCountries,
    hasProviders,
  };
}

function worstJson(worst: Survey['worst']) {
  return worst.map(({ name, score, reports, listReports }) => ({
    ipAddress: name,
    abuseConfidenceScore: score,
    totalReports: reports + listReports,
  }));
}

// GET /ip/<address>: what is known of an address.

const chartDays = 90;
/** Bound on the reports that one page reads. */
const reportsShownMax = 2_000;
const commentsShownMax = 25;
const neighboursShownMax = 8;
const neighboursLookedMax = 5_000;
/** Length of the network around an address whose other addresses are shown. */
const neighbourLengths = { 4: 24, 6: 48 } as const;

const knownNames = openKnownNames();

interface Reader extends SessionLike {
  readonly accountId: string;
}

export interface AddressNeeds extends NetworkNeeds {
  readonly reports: ReportStore;
  readonly evidence: EvidenceReader;
  readonly hostnames: Pick<Hostnames, 'known'>;
  readonly pageBuilder: AnyPageBuilder<Reader>;
  readonly isOperator: (request: Request) => Promise<boolean>;
  /** Returns the operator's actions on the address; undefined for anybody else. */
  readonly operatorBar: (
    context: AnyRequestContext<Reader>,
    query: Params,
    address: string,
  ) => Promise<Html | undefined>;
}

type AddressOptions = AddressNeeds &
  AddressTools & { readonly cache: ReplyCache; readonly systems: Pick<Systems, 'knownNumberOf'> };

const AddressSummary = v.strictObject({
  ...checkSummary,
  isWhitelisted: v.boolean(),
  firstReportedAt: v.nullable(dateTime),
  lastReportedAt: v.nullable(dateTime),
  hostnames: v.array(v.string()),
  crawler: v.nullable(v.string()),
  why: shownEvidence,
});

const addressEndpoint = endpoint({
  method: 'GET',
  path: '/ip/:address',
  who: 'anyone',
  shape: 'page',
  thread: 'main',
  headers: ['accept', ...visitHeaders, ...forwardingHeaders],
  handlerLimits: ['ipPage'],
  errors: ['invalid_parameter', 'client_limit_exceeded'],
  docs: {
    id: 'showAddress',
    tag: 'IP API',
    summary: 'An address without a key: a page, or JSON with `Accept: application/json`.',
    path: { address: v.string() },
    answers: { 200: dataOrPage('What is known.', AddressSummary) },
    refusals: errorsOrPage,
    schemas: { AddressSummary },
  },
});

/** The same page for one operator. */
const operatorsEndpoint = sessionPage('/ip/:address', 'anyone');

export function addressRoute(options: AddressOptions) {
  const { tools, clock, cache, admit, wantsJson, pageBuilder } = options;

  /** Answers the forms of the bar, too, where a change was refused. */
  async function showOperator(context: AnyRequestContext<Reader>, query: Params): Promise<Reply> {
    const { family, words: address } = readJudgedIp(context.request.param)!;
    const bar = await options.operatorBar(context, query, formatIp(family, address));
    const data = await pageData(family, address, context.language);
    return pageBuilder.show(context, (frame) => ipPage(frame, data, bar), { headers: [noIndex] });
  }
  const forOperator = pageBuilder.page(operatorsEndpoint, showOperator);

  async function answer(request: Request, caller: Caller): Promise<Reply> {
    const language = languageOf(request);
    const asJson = wantsJson(request);
    const refusal = admit(request, asJson);
    if (refusal !== undefined) return refusal;
    const address = new Uint32Array(4);
    const family = replaceByEmbedded(parseIp(request.param, address), address);
    if (family === 0) {
      // With its slash percent-encoded.
      const network = parsePrefix(request.param, 'mask');
      if (network.ok && request.param.includes('/')) {
        return movedTo(`/ip/${formatNetwork(network.value)}`);
      }
      const why = 'This is not a valid IPv4 or IPv6 address.';
      if (asJson) return failureBody('api', fail('invalid_parameter', why, 'ipAddress'));
      return errorReply(tools, language, 400, undefined, { typed: request.param });
    }
    if (!asJson && (await options.isOperator(request))) return forOperator.handle(request, caller);
    // With what the index says: a report shows at once, not a second later.
    const said = options.check.judge(family, address, clock.now());
    const form = asJson ? 'json' : language;
    const counts = `${said.score} ${said.reports} ${said.listReports} ${said.listedAt}`;
    const named = options.hostnames.known(family, address).names.join(' ');
    const key = `${formatIp(family, address)} ${form} ${counts} ${named}`;
    return cache.get(key, () => make(family, address, asJson, language));
  }

  async function pageData(
    family: IpFamily,
    address: Uint32Array,
    language: Language,
  ): Promise<IpPageData> {
    const around = await aroundOf(family, address, options);
    return { ...(await addressData(family, address, language, options)), around };
  }

  async function make(
    family: IpFamily,
    address: Uint32Array,
    asJson: boolean,
    language: Language,
  ): Promise<Reply> {
    const data = await pageData(family, address, language);
    const robots = ipPageIsIndexable(data) ? [] : [noIndex];
    if (asJson) return jsonReply(jsonOf(data), robots);
    return {
      status: 200,
      headers: [...tools.headers(language), ['Cache-Control', 'private, max-age=5'], ...robots],
      body: ipPage(tools.frame(language), data),
    };
  }

  const route: PlainRoute = {
    kind: 'plain',
    ...routeFacts(addressEndpoint),
    handle: async (request, caller) => withVary(await answer(request, caller)),
  };
  return { route, showOperator };
}

async function addressData(
  family: IpFamily,
  address: Uint32Array,
  language: Language,
  options: AddressOptions,
): Promise<IpPageData> {
  const { index, check, geo, clock, secureUrl, geoMadeAt: madeAt } = options;
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
  const location = locationOf(geo, family, address);
  const decider = decidedBy === 0 ? undefined : index.prefixOf(decidedBy);
  const isNetwork = decider !== undefined && decider.length < widthOf(family);
  const special = specialUse(family, address);
  const seconds = (at: number) => (at === 0 ? undefined : at * 1_000);
  const text = formatIp(family, address);
  const prefixWords = Uint32Array.from(address);
  maskWords(family, prefixWords, neighbourLengths[family]);
  const prefix = { family, words: prefixWords, length: neighbourLengths[family] };
  const evidence = options.evidence.of(family, address, nowMs);
  const isCut = found.length === reportsShownMax;
  const host = options.hostnames.known(family, address);
  return {
    address: text,
    score: verdict.score,
    ...location,
    system: options.systems.knownNumberOf(family, address) || undefined,
    prefix: formatPrefix(prefix),
    anonymousExit: verdict.anonymousExit,
    allowlisted: verdict.allowlisted,
    special,
    unseen: unseenOf(verdict, special),
    hostnames: host.names,
    crawler: host.crawler,
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
    reportHref: canBeReported(special) ? `/report?address=${text}` : undefined,
    removalHref:
      canBeReported(special) &&
      (verdict.score > 0 || (verdict.reports > 0 && !verdict.knownGood) || verdict.anonymousExit)
        ? `/removal?address=${text}`
        : undefined,
    checkUrl: `${secureUrl}/api/v2/check`,
    reportUrl: canBeReported(special) ? `${secureUrl}/api/v2/report` : undefined,
    attribution: location.provider === '' ? undefined : { ...providerAttribution, madeAt },
    now: nowMs,
  };
}

/** Surveys the network around an address; undefined when nothing is known there. */
async function aroundOf(
  family: IpFamily,
  address: Uint32Array,
  options: AddressOptions,
): Promise<IpPageData['around']> {
  const length = neighbourLengths[family];
  const words = Uint32Array.from(address);
  maskWords(family, words, length);
  const network = { family, words, length };
  // More than are shown: the address itself and what covers it stand among the worst.
  const bounds = { entriesMax: neighboursLookedMax, worstMax: 2 * neighboursShownMax };
  const survey = await surveyOf([network], bounds, options);
  const name = formatPrefix(network);
  const worst = survey.worst
    .filter((one) => {
      const prefix = parsePrefix(one.name);
      return prefix.ok && !contains(prefix.value, family, address);
    })
    .slice(0, neighboursShownMax);
  if (worst.length === 0) return undefined;
  return { network: name, worst, cells: cellsOf(network, options) };
}

/** In plain words on the page: what decided how far the reports of the deciding entry may go. */
function reasonOf(
  { knownGood, allowlisted, decidedBy, reports }: Verdict,
  records: Records,
  { lists }: Evidence,
  nowMs: number,
): ScoreReason | undefined {
  if (knownGood) return { by: 'knownGood' };
  if (allowlisted) return undefined;
  if (decidedBy === 0) return undefined;
  const meta = metaOf(records, decidedBy);
  const ceiling = ceilingOf(meta);
  // Nobody reports a network: its hosts made that of it.
  const isRisen = ceiling > 0 && reportsOf(records, decidedBy) === 0;
  if (isRisen && listScoreOf(meta) === 0) return { by: 'network', ceiling };
  if (reports === 0) return undefined;
  const strength = strengthOf(records, decidedBy);
  const reported = entryScore(0, ceiling, strength, halfLivesAt(nowMs));
  if (reported < listScoreOf(meta) || ceiling === 0) {
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
  const names = translationsFor(language).categories;
  const nameOf = (number: number) => names[number - 1] ?? String(number);
  const today = Math.floor(nowMs / dayMs);
  const perDay = new Array<number>(chartDays).fill(0);
  const byCategory = new Map<number, number>();
  for (const { reportedAt, categories } of reports) {
    const day = chartDays - 1 - (today - Math.floor(reportedAt / dayMs));
    if (day >= 0 && day < chartDays) perDay[day]! += 1;
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
  const summary: v.InferOutput<typeof AddressSummary> = {
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
    hostnames: [...data.hostnames],
    crawler: data.crawler ?? null,
    why: whyJson(data.evidence),
  };
  return JSON.stringify({ data: summary });
}

// GET /ip/<network>: what is known of the addresses in it. GET /as/<number>: what is known of those of an autonomous
// system, and GET /as/192.0.2.1 leads to the system that holds the address. The index is walked in slices and up to a
// bound, so nothing is too large to ask about; ranges of a system come from a thread of its own.

/** Rows of one page; the JSON has more. */
const rowsOfPage = { besideMap: 12, else: 15 } as const;
const worstInJson = 50;
const pagesMax = 300;
/** Entries looked at for one answer. */
const surveyedMax = 50_000;
/** The limit counts each started group of this many entries as one page. */
const entriesPerPage = 5_000;
/** The pieces by which a wider network is counted. */
const pieceLengths = { 4: [8, 16, 24], 6: [16, 32, 48, 64] } as const;

const networkEndpoint = endpoint({
  method: 'GET',
  path: '/ip/*',
  who: 'anyone',
  shape: 'page',
  thread: 'main',
  headers: ['accept', 'accept-language'],
  handlerLimits: ['ipPage'],
  errors: ['invalid_parameter', 'client_limit_exceeded'],
  // OpenAPI has no word for a parameter with a slash in it: docs/API.md has the JSON.
  docs: 'page',
});

type NetworkOptions = PageOptions & {
  readonly callers: Pick<Callers, 'charge'>;
  readonly systems: Pick<Systems, 'knownNumberOf'>;
};

export function networkRoute(options: NetworkOptions): PlainRoute {
  const { tools, admit, wantsJson } = options;

  async function show(request: Request): Promise<Reply> {
    const asJson = wantsJson(request);
    const language = languageOf(request);
    const refusal = admit(request, asJson);
    if (refusal !== undefined) return refusal;
    const parsed = parsePrefix(request.param, 'mask');
    if (!parsed.ok || !request.param.includes('/')) {
      const why = 'This is not a valid IPv4 or IPv6 network, such as 192.0.2.0/24.';
      if (asJson) return failureBody('api', fail('invalid_parameter', why, 'network'));
      // Behind an address a wrong length is a slip; other paths lead nowhere.
      const [address = ''] = request.param.split('/');
      return errorReply(tools, language, parsePrefix(address).ok ? 400 : 404);
    }
    const canonical = formatNetwork(parsed.value);
    if (canonical !== request.param) return movedTo(`/ip/${canonical}`);
    const data = await networkData(parsed.value, request, asJson, options);
    if (asJson) return jsonReply(networkJson(data));
    return {
      status: 200,
      headers: [...tools.headers(language), noStore, noIndex],
      body: networkPage(tools.frame(language), data),
    };
  }
  return { kind: 'plain', ...routeFacts(networkEndpoint), handle: show };
}

/** Returns the page of the list that is asked for; the first for what is no number. */
function pageOf({ query }: Request): number {
  const parsed = parseQuery(query);
  const text = parsed.ok ? parsed.value.get('page') : undefined;
  return text !== undefined && /^[1-9]\d{0,2}$/.test(text) ? Math.min(pagesMax, Number(text)) : 1;
}

/** Surveys with one page of the worst, or with those of the JSON. */
async function pageOfSurvey(
  networks: Iterable<Prefix>,
  request: Request,
  rows: number | undefined,
  options: NetworkOptions,
  pieceLength?: number,
) {
  const page = rows === undefined ? 1 : pageOf(request);
  const perPage = rows ?? worstInJson;
  const bounds = { entriesMax: surveyedMax, worstMax: page * perPage, pieceLength };
  const survey = await surveyOf(networks, bounds, options);
  options.callers.charge('ipPage', request, Math.floor(survey.entries / entriesPerPage));
  const pages = Math.max(1, Math.min(pagesMax, Math.ceil(survey.entries / perPage)));
  return { ...survey, page, pages, worst: survey.worst.slice((page - 1) * perPage) };
}

/** Names the first of the networks, with their countries. */
function namedNetworks(networks: Survey['networks'], geo: GeoReader): NamedNetwork[] {
  return networks.map(({ prefix, entries, malicious }) => ({
    ...nameOf(prefix, geo),
    entries,
    malicious,
  }));
}

function nameOf(prefix: Prefix, geo: GeoReader) {
  const { countryCode } = locationOf(geo, prefix.family, prefix.words);
  return { name: formatNetwork(prefix), countryCode };
}

async function networkData(
  network: Prefix,
  request: Request,
  asJson: boolean,
  options: NetworkOptions,
): Promise<NetworkPageData> {
  const location = locationOfNetwork(options.geo, network);
  const cells = cellsOf(network, options);
  const rows = cells === undefined ? rowsOfPage.else : rowsOfPage.besideMap;
  const pieceLength = pieceLengths[network.family].find((length) => length > network.length);
  const survey = await pageOfSurvey(
    [network],
    request,
    asJson ? undefined : rows,
    options,
    pieceLength,
  );
  // An entry of the network itself is no part of it.
  const own = formatNetwork(network);
  const pieces = survey.networks.filter(({ prefix }) => prefix.length > network.length);
  return {
    network: formatPrefix(network),
    ...location,
    system:
      location.provider === ''
        ? undefined
        : options.systems.knownNumberOf(network.family, network.words) || undefined,
    whole: wholeOf(network, options),
    ...survey,
    worst: survey.worst.length > 1 ? survey.worst.filter(({ name }) => name !== own) : survey.worst,
    pieces: pieceLength === undefined ? [] : namedNetworks(pieces, options.geo),
    piecesInAll: survey.networksInAll - (survey.networks.length - pieces.length),
    cells,
    special: specialOf(network),
    blockUrl:
      network.length >= blockBounds.shortest[network.family]
        ? `${options.secureUrl}/api/v2/check-block`
        : undefined,
  };
}

/** The entry that decides for its first address, when it holds the whole network. */
function wholeOf(network: Prefix, { index, check, clock }: PageOptions) {
  const { decidedBy, score } = check.judge(network.family, network.words, clock.now());
  const decider = decidedBy === 0 ? undefined : index.prefixOf(decidedBy);
  if (decider === undefined || decider.length > network.length) return undefined;
  return { name: formatPrefix(decider), score };
}

/** Judges each address of an IPv4 /24, which takes a fraction of a millisecond; undefined for another network. */
function cellsOf(
  network: Prefix,
  { check, clock }: Pick<PageOptions, 'check' | 'clock'>,
): AddressCell[] | undefined {
  if (network.family !== 4 || network.length !== 24) return undefined;
  const words = Uint32Array.from(network.words);
  return Array.from({ length: 256 }, (_, host) => {
    words[0] = (network.words[0]! | host) >>> 0;
    return cellOf(4, words, check.judge(4, words, clock.now()));
  });
}

/** Returns the special use of the whole network: that of its two ends, if it is the same. */
function specialOf({ family, words, length }: Prefix): SpecialUse | undefined {
  const last = Uint32Array.from(words);
  for (let word = 0; word < widthOf(family) / 32; word++) {
    last[word] = (last[word]! | hostMask(length - 32 * word)) >>> 0;
  }
  const special = specialUse(family, words);
  return special === specialUse(family, last) ? special : undefined;
}

function networksJson(networks: readonly NamedNetwork[]) {
  return networks.map(({ name, entries, malicious }) => ({
    networkAddress: name,
    entries,
    maliciousEntries: malicious,
  }));
}

function networkJson({ network, countryCode, provider, ...data }: NetworkPageData): string {
  const { entries, malicious, isPart, whole, worst } = data;
  return JSON.stringify({
    data: {
      networkAddress: network,
      countryCode,
      isp: provider || 'Unknown',
      entries,
      maliciousEntries: malicious,
      isPart,
      coveredBy: whole?.name ?? null,
      abuseConfidenceScore: whole?.score ?? 0,
      worst: worstJson(worst),
      networks: networksJson(data.pieces),
    },
  });
}

/** The index is made in less. */
const indexSeconds = '5';
const numberMax = 2 ** 32 - 1;

const SystemSummary = v.strictObject({
  asn: count,
  isp: v.string(),
  ranges: count,
  entries: count,
  maliciousEntries: count,
  isPart: v.boolean(),
  worst: v.array(
    v.strictObject({ ipAddress: v.string(), abuseConfidenceScore: score, totalReports: count }),
  ),
  networks: v.array(
    v.strictObject({ networkAddress: v.string(), entries: count, maliciousEntries: count }),
  ),
});

const systemEndpoint = endpoint({
  method: 'GET',
  path: '/as/:number',
  who: 'anyone',
  shape: 'page',
  thread: 'main',
  headers: ['accept', 'accept-language'],
  handlerLimits: ['ipPage', 'systemNear'],
  errors: ['invalid_parameter', 'not_found', 'client_limit_exceeded'],
  docs: {
    id: 'showSystem',
    tag: 'IP API',
    summary:
      'The networks of an autonomous system: a page, or JSON with `Accept: application/json`.',
    path: { number: v.string() },
    answers: {
      200: dataOrPage('What is known of its addresses.', SystemSummary),
      303: { description: 'An address, or another spelling: leads to the number.' },
    },
    refusals: errorsOrPage,
    schemas: { SystemSummary },
  },
});

export function systemRoute(options: NetworkOptions & { readonly systems: Systems }): PlainRoute {
  const { tools, systems, admit, wantsJson } = options;

  function refuse(
    request: Request,
    error: 'invalid_parameter' | 'not_found' | 'overloaded',
  ): Reply {
    const why = 'This is not the number of a network, such as 64500.';
    if (wantsJson(request)) {
      const isInput = error === 'invalid_parameter';
      return failureBody('api', isInput ? fail(error, why, 'number') : fail(error));
    }
    const statuses = { invalid_parameter: 400, not_found: 404, overloaded: 503 };
    const reply = errorReply(tools, languageOf(request), statuses[error]);
    if (error !== 'overloaded') return reply;
    return { ...reply, headers: [...reply.headers, ['Retry-After', indexSeconds]] };
  }

  async function answer(request: Request): Promise<Reply> {
    const asJson = wantsJson(request);
    const refusal = admit(request, asJson);
    if (refusal !== undefined) return refusal;
    const ip = readIp(request.param);
    if (ip !== undefined) {
      const number = await systems.numberOf(ip.family, ip.words);
      if (number === undefined) return refuse(request, 'overloaded');
      return number === 0 ? refuse(request, 'not_found') : movedTo(`/as/${number}`);
    }
    const [, digits] = /^(?:AS)?(\d{1,10})$/i.exec(request.param) ?? [];
    const number = Number(digits);
    if (digits === undefined || number === 0 || number > numberMax) {
      return refuse(request, 'invalid_parameter');
    }
    if (String(number) !== request.param) return movedTo(`/as/${number}`);
    const found = await systems.rangesOf(number);
    if (found === undefined) return refuse(request, 'overloaded');
    const rows = asJson ? undefined : rowsOfPage.else;
    const totals = { 4: 0, 6: 0, countries: new Map<string, number>() };
    const prefixes = countedPrefixes(found.ranges, options.geo, totals);
    const survey = await pageOfSurvey(prefixes, request, rows, options);
    const countries = [...totals.countries].sort(([, a], [, b]) => b - a);
    const data = {
      number,
      name: found.name,
      ranges: found.ranges.length,
      ...survey,
      countryCode: countries[0]?.[0] ?? '',
      countries: countries.length,
      totals,
      networks: namedNetworks(survey.networks, options.geo),
      networksInAll: survey.networksInAll,
      quiet: survey.quiet.map((prefix) => nameOf(prefix, options.geo)),
      isPart: survey.isPart || found.isPart,
      attribution: { ...providerAttribution, madeAt: options.geoMadeAt },
    };
    if (asJson) return jsonReply(systemJson(data));
    const language = languageOf(request);
    return {
      status: 200,
      headers: [...tools.headers(language), noStore, noIndex],
      body: systemPage(tools.frame(language), data),
    };
  }

  return {
    kind: 'plain',
    ...routeFacts(systemEndpoint),
    handle: async (request) => withVary(await answer(request)),
  };
}

/**
 * Yields the networks that make up the ranges, and counts them by family and by the country of their first
 * address.
 */
function* countedPrefixes(
  ranges: readonly IpRange[],
  geo: GeoReader,
  totals: { 4: number; 6: number; readonly countries: Map<string, number> },
): Generator<Prefix> {
  for (const { family, first, last } of ranges) {
    for (const prefix of rangeToPrefixes(family, first, last)) {
      totals[family]++;
      const code = geo.country(countryOf(geo.find(family, prefix.words)));
      if (code !== 'ZZ') totals.countries.set(code, (totals.countries.get(code) ?? 0) + 1);
      yield prefix;
    }
  }
}

function systemJson({ number, name, ranges, ...data }: SystemPageData): string {
  const { entries, malicious, isPart, worst } = data;
  return JSON.stringify({
    data: {
      asn: number,
      isp: name || 'Unknown',
      ranges,
      entries,
      maliciousEntries: malicious,
      isPart,
      worst: worstJson(worst),
      networks: networksJson(data.networks),
    },
  });
}

// GET /ip?address=<text>: one address or network leads to its page, a system as `AS64500` to its own; of a text that
// has several a table is made, as a page or as CSV. A miss keeps the text.

/** A text of one line that was typed by hand. */
const typedCharsMax = 100;
/** Rows of one answer. */
const foundMax = 250;
/** The limit counts each started group of this many rows as one page. */
const rowsPerPage = 10;
const textCharsMax = 12_000;
/** The page says of a number that is too large that it is none. */
const systemText = /^\s*(?:AS[\s:]?)?(\d{1,10})\s*$/i;
/** A longer head is refused by the transport. */
const queryCharsMax = 14_000;

const findAddressEndpoint = openPage('/ip', {
  headers: ['accept-language'],
  handlerLimits: ['ipPage'],
  errors: ['invalid_parameter', 'client_limit_exceeded'],
  queryCharsMax,
});

interface FindOptions extends PageNeeds, Pick<AddressTools, 'admit'> {
  readonly callers: Pick<Callers, 'charge'>;
}

export function findAddressRoute(options: FindOptions): PlainRoute {
  const { tools, callers } = options;

  function find(request: Request): Reply {
    const query = parseQuery(request.query, { charsMax: queryCharsMax });
    const text = query.ok ? (query.value.get('address') ?? '').slice(0, textCharsMax) : '';
    const { found, more, others } = addressesIn(text, foundMax);
    const bad = others.examples.map((other) => other.text);
    const [first] = found;
    if (first !== undefined && found.length === 1 && others.count === 0) {
      return movedTo(`/ip/${formatNetwork(first)}`);
    }
    const system = found.length === 0 && systemText.exec(text)?.[1];
    if (system) return movedTo(`/as/${Number(system)}`);
    const language = languageOf(request);
    const refusal = options.admit(request, false);
    if (refusal !== undefined) return refusal;
    callers.charge('ipPage', request, Math.floor(found.length / rowsPerPage));
    const rows = found.map((prefix) => rowOf(prefix, options));
    rows.sort((a, b) => (b.known?.cell.score ?? -1) - (a.known?.cell.score ?? -1));
    if (found.length > 0 && query.ok && query.value.get('format') === 'csv') {
      return csvOf(rows, bad);
    }
    const isMiss = !query.ok || (found.length === 0 && query.value.get('address') !== undefined);
    // One line is corrected where it was typed; of a longer text nobody can say what was meant.
    if (isMiss && text !== '' && text.length <= typedCharsMax && !text.includes('\n')) {
      return errorReply(tools, language, 400, undefined, { typed: text });
    }
    return {
      status: isMiss ? 400 : 200,
      headers: [...tools.headers(language), noStore, noIndex],
      body: findPage(tools.frame(language), {
        text,
        foundMax,
        found: rows,
        more,
        others,
        isMiss,
        csvHref: `/ip?format=csv&address=${[rows.map(({ name }) => name).join('+'), ...bad.map(encodeURIComponent)].join('%0A')}`,
      }),
    };
  }
  return { kind: 'plain', ...routeFacts(findAddressEndpoint), handle: find };
}

function rowOf(prefix: Prefix, { check, geo, clock }: FindOptions): FoundAddress {
  const name = formatNetwork(prefix);
  const href = `/ip/${name}`;
  const { family, words } = prefix;
  if (name.includes('/')) return { name, href, ...locationOfNetwork(geo, prefix) };
  const verdict = check.judge(family, words, clock.now());
  return {
    name,
    href,
    ...locationOf(geo, family, words),
    known: {
      cell: cellOf(family, words, verdict),
      reports: verdict.reports,
      listReports: verdict.listReports,
    },
  };
}

/** States of an address in the CSV: a score of 0 has several reasons. */
const stateNames: Readonly<Record<CellKind, string>> = {
  unseen: 'not observed',
  seen: 'observed',
  good: 'known good',
  allowed: 'allowlisted',
  special: 'private or reserved',
};

/** Whatever others wrote is quoted where a spreadsheet would read more in it. */
function csvOf(rows: readonly FoundAddress[], others: readonly string[]): Reply {
  const looked = rows.map(({ name, known, countryCode, provider }) =>
    [
      name,
      known?.cell.score ?? '',
      csvText(countryCode),
      csvText(provider),
      ...(known === undefined
        ? ['', 'network', '', '']
        : [
            known.reports + known.listReports,
            stateNames[known.cell.kind],
            known.reports,
            known.listReports,
          ]),
    ].join(','),
  );
  const lines = [...looked, ...others.map((text) => `${csvText(text)},,,,,not an address,,`)];
  const head = 'ipAddress,abuseConfidenceScore,countryCode,isp,totalReports,state,reports,listed';
  return {
    status: 200,
    headers: [
      ['Content-Type', 'text/csv; charset=utf-8; header=present'],
      ['Content-Disposition', 'attachment; filename="addresses.csv"'],
      noStore,
    ],
    body: `${[head, ...lines].join('\r\n')}\r\n`,
  };
}

export const addressEndpoints: readonly Endpoint[] = [
  findAddressEndpoint,
  addressEndpoint,
  networkEndpoint,
  systemEndpoint,
];
