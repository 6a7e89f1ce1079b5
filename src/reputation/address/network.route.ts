/**
 * GET /ip/<network>, such as /ip/192.0.2.0/24: what is known of the addresses in it. GET /as/64500: what is known
 * of those of an autonomous system, and GET /as/192.0.2.1 leads to the system that holds the address. The index
 * is walked in slices and up to a bound, so nothing is too large to ask about; ranges of a system come from a
 * thread of its own.
 */

import { fail } from '../../core/result.ts';
import type { Turns } from '../../core/scheduling.ts';
import { countryOf, type GeoReader, providerOf } from '../../geo/reader.ts';
import { providerAttribution } from '../../geo/sources.ts';
import type { Systems } from '../../geo/systems/systems.ts';
import type { Header, Reply, Request } from '../../http/request/message.ts';
import type { PlainRoute } from '../../http/router.ts';
import type { IpIndex } from '../../index/ip-index.ts';
import { bitsOf, hostMask } from '../../index/prefix.ts';
import { parseIp } from '../../ip/address.ts';
import {
  formatNetwork,
  formatPrefix,
  type IpRange,
  type Prefix,
  parsePrefix,
  rangeToPrefixes,
} from '../../ip/prefix.ts';
import { type SpecialUse, specialUse } from '../../ip/special.ts';
import { endpoint, routeFacts } from '../../web/guard/endpoint.ts';
import { errorReply, languageOf, type PageTools } from '../../web/page-tools.ts';
import { failureBody, jsonType, noStore } from '../../web/shape.ts';
import { systemDocs } from '../check/check.openapi.ts';
import type { Check } from '../check/check.ts';
import type { AddressCell } from './grid.page.tsx';
import { cellOf, type SurveyOptions, surveyOf } from './known.ts';
import {
  type NetworkPageData,
  networkPage,
  type SystemPageData,
  systemPage,
} from './network.page.tsx';

const worstShownMax = 50;

export const networkEndpoint = endpoint({
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

export interface NetworkOptions {
  readonly tools: PageTools;
  readonly index: IpIndex;
  readonly check: Check;
  readonly geo: GeoReader;
  readonly clock: { now(): number };
  readonly turns: Turns;
  /** A refusal when the client has asked too often. */
  readonly admit: (request: Request, asJson: boolean) => Reply | undefined;
  readonly wantsJson: (request: Request) => boolean;
}

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
    const place = formatNetwork(parsed.value);
    if (place !== request.param) {
      return { status: 303, headers: [['Location', `/ip/${place}`], noStore] };
    }
    const data = await dataOf(parsed.value, options);
    if (asJson) return { status: 200, headers: [jsonType, noStore], body: networkJson(data) };
    return {
      status: 200,
      headers: [...tools.headers(language), noStore, ['X-Robots-Tag', 'noindex']],
      body: networkPage(tools.frame(language), data),
    };
  }
  return { kind: 'plain', ...routeFacts(networkEndpoint), handle: show };
}

async function dataOf(network: Prefix, options: NetworkOptions): Promise<NetworkPageData> {
  const { geo } = options;
  const survey = await surveyOf([network], worstShownMax, options);
  const ids = geo.find(network.family, network.words);
  const provider = providerOf(ids);
  return {
    network: formatPrefix(network),
    countryCode: geo.country(countryOf(ids)),
    provider: provider === 0 ? '' : geo.provider(provider),
    whole: wholeOf(network, options),
    ...survey,
    cells: cellsOf(network, options),
    special: specialOf(network),
  };
}

/** The entry that decides for its first address, when it holds the whole network. */
function wholeOf(network: Prefix, { index, check, clock }: NetworkOptions) {
  const { decidedBy, score } = check.judge(network.family, network.words, clock.now());
  const decider = decidedBy === 0 ? undefined : index.prefixOf(decidedBy);
  if (decider === undefined || decider.length > network.length) return undefined;
  return { name: formatPrefix(decider), score };
}

/**
 * Judges each address of an IPv4 /24, which takes a fraction of a millisecond; undefined for
 * another network.
 */
export function cellsOf(
  network: Prefix,
  { check, clock }: Pick<NetworkOptions, 'check' | 'clock'>,
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
  for (let word = 0; word < bitsOf(family) / 32; word++) {
    last[word] = (last[word]! | hostMask(length - 32 * word)) >>> 0;
  }
  const special = specialUse(family, words);
  return special === specialUse(family, last) ? special : undefined;
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
      worst: worst.map(({ name, score, reports }) => ({
        ipAddress: name,
        abuseConfidenceScore: score,
        totalReports: reports,
      })),
    },
  });
}

/** The index is made in less. */
const indexSeconds = '5';
const numberMax = 2 ** 32 - 1;

export const systemEndpoint = endpoint({
  method: 'GET',
  path: '/as/:number',
  who: 'anyone',
  shape: 'page',
  thread: 'main',
  headers: ['accept', 'accept-language'],
  handlerLimits: ['ipPage', 'systemNear'],
  errors: ['invalid_parameter', 'not_found', 'client_limit_exceeded'],
  docs: systemDocs,
});

interface SystemOptions extends SurveyOptions {
  readonly tools: PageTools;
  readonly systems: Systems;
  /** A refusal when the client has asked too often. */
  readonly admit: (request: Request, asJson: boolean) => Reply | undefined;
  readonly wantsJson: (request: Request) => boolean;
}

const varies: Header = ['Vary', 'Accept, Accept-Language'];

export function systemRoute(options: SystemOptions): PlainRoute {
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

  function moved(number: number): Reply {
    return { status: 303, headers: [['Location', `/as/${number}`], noStore] };
  }

  async function answer(request: Request): Promise<Reply> {
    const asJson = wantsJson(request);
    const refusal = admit(request, asJson);
    if (refusal !== undefined) return refusal;
    const words = new Uint32Array(4);
    const family = parseIp(request.param, words);
    if (family !== 0) {
      const number = await systems.numberOf(family, words);
      if (number === undefined) return refuse(request, 'overloaded');
      return number === 0 ? refuse(request, 'not_found') : moved(number);
    }
    const [, digits] = /^(?:AS)?(\d{1,10})$/i.exec(request.param) ?? [];
    const number = Number(digits);
    if (digits === undefined || number === 0 || number > numberMax) {
      return refuse(request, 'invalid_parameter');
    }
    if (String(number) !== request.param) return moved(number);
    const found = await systems.rangesOf(number);
    if (found === undefined) return refuse(request, 'overloaded');
    const survey = await surveyOf(prefixesOf(found.ranges), worstShownMax, options);
    const data = {
      number,
      name: found.name,
      ranges: found.ranges.length,
      ...survey,
      isPart: survey.isPart || found.isPart,
      attribution: providerAttribution,
    };
    if (asJson) return { status: 200, headers: [jsonType, noStore], body: systemJson(data) };
    return {
      status: 200,
      headers: [
        ...tools.headers(languageOf(request)),
        ...([noStore, ['X-Robots-Tag', 'noindex']] as Header[]),
      ],
      body: systemPage(tools.frame(languageOf(request)), data),
    };
  }

  return {
    kind: 'plain',
    ...routeFacts(systemEndpoint),
    async handle(request) {
      const reply = await answer(request);
      return { ...reply, headers: [...reply.headers, varies] };
    },
  };
}

function* prefixesOf(ranges: readonly IpRange[]): Generator<Prefix> {
  for (const { family, first, last } of ranges) yield* rangeToPrefixes(family, first, last);
}

function systemJson({
  number,
  name,
  ranges,
  entries,
  malicious,
  isPart,
  worst,
}: SystemPageData): string {
  return JSON.stringify({
    data: {
      asn: number,
      isp: name || 'Unknown',
      ranges,
      entries,
      maliciousEntries: malicious,
      isPart,
      worst: worst.map((one) => ({
        ipAddress: one.name,
        abuseConfidenceScore: one.score,
        totalReports: one.reports,
      })),
    },
  });
}
