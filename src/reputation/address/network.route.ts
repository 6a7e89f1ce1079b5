/**
 * GET /ip/<network>, such as /ip/192.0.2.0/24: what is known of the addresses in it. The index is
 * walked in slices and up to a bound, so no network is too large to ask about.
 */

import { fail } from '../../core/result.ts';
import type { Turns } from '../../core/scheduling.ts';
import { countryOf, type GeoReader, providerOf } from '../../geo/reader.ts';
import type { Reply, Request } from '../../http/request/message.ts';
import type { PlainRoute } from '../../http/router.ts';
import type { IpIndex } from '../../index/ip-index.ts';
import { bitsOf, hostMask } from '../../index/prefix.ts';
import { formatNetwork, formatPrefix, type Prefix, parsePrefix } from '../../ip/prefix.ts';
import { type SpecialUse, specialUse } from '../../ip/special.ts';
import { endpoint, routeFacts } from '../../web/guard/endpoint.ts';
import { errorReply, languageOf, type PageTools } from '../../web/page-tools.ts';
import { failureBody, jsonType, noStore } from '../../web/shape.ts';
import type { Check } from '../check/check.ts';
import { cellOf } from './known.ts';
import { type NetworkPageData, networkPage } from './network.page.tsx';
import type { AddressCell } from './parts/grid.page.tsx';
import { surveyOf } from './survey.ts';

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
    if (asJson) return { status: 200, headers: [jsonType, noStore], body: jsonOf(data) };
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

function jsonOf({ network, countryCode, provider, ...data }: NetworkPageData): string {
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
