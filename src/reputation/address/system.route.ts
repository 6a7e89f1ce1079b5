/**
 * GET /as/64500: what is known of the addresses of an autonomous system. GET /as/192.0.2.1 leads to the
 * system that holds the address. Ranges come from a thread of its own, the index is walked in slices.
 */

import { fail } from '../../core/result.ts';
import { providerAttribution } from '../../geo/sources.ts';
import type { Systems } from '../../geo/systems/systems.ts';
import type { Header, Reply, Request } from '../../http/request/message.ts';
import type { PlainRoute } from '../../http/router.ts';
import { parseIp } from '../../ip/address.ts';
import { type IpRange, type Prefix, rangeToPrefixes } from '../../ip/prefix.ts';
import { endpoint, routeFacts } from '../../web/guard/endpoint.ts';
import { errorReply, languageOf, type PageTools } from '../../web/page-tools.ts';
import { failureBody, jsonType, noStore } from '../../web/shape.ts';
import { systemDocs } from '../check/check.openapi.ts';
import { type SurveyOptions, surveyOf } from './survey.ts';
import { type SystemPageData, systemPage } from './system.page.tsx';

const worstShownMax = 50;
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

export interface SystemOptions extends SurveyOptions {
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
    if (asJson) return { status: 200, headers: [jsonType, noStore], body: jsonOf(data) };
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

function jsonOf({
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
