/**
 * POST /api/v2/report: what somebody saw, durable when it is answered, and already in the score
 * that a check through any thread shows.
 * Order of refusals: 401, 429 (quota), 422, 429 (new addresses, duplicate), 503.
 */

import * as v from 'valibot';
import type { ReportInput } from '../../contracts/reputation.ts';
import type { Clock } from '../../core/clock.ts';
import type { ErrorCode } from '../../core/errors.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import { dateTime, option, optionalText, score } from '../../core/schema.ts';
import { clientCountry, type GeoReader } from '../../geo/reader.ts';
import type { PlainRoute } from '../../http/router.ts';
import { textBehind } from '../../ip/behind.ts';
import { endpoint } from '../../web/guard/endpoint.ts';
import type { Answer, Guard, KeyedCall } from '../../web/guard/guard.ts';
import { addressIn, type Fields } from '../../web/guard/intake/form.ts';
import { dataAnswer, formOrJson } from '../../web/openapi.ts';
import { jsonType, noStore } from '../../web/shape.ts';
import type { Check } from '../check/check.ts';
import { clientNetwork } from '../votes/client-network.ts';
import {
  category,
  commentCharactersMax,
  duplicateDetail,
  readReport,
  reportCategoriesMax,
} from './report.ts';
import type { ReportStore } from './store/report-store.ts';

const bodyBytesMax = 16 * 1024;

export interface ReportRouteOptions {
  readonly guard: Guard;
  readonly check: Check;
  readonly geo: GeoReader;
  readonly clock: Clock;
  readonly reports: ReportStore;
  /** Account id by slot. */
  readonly accountOf: (slot: number) => string | undefined;
  /** Resolves when the journal event is in memory. */
  readonly catchUpTo: (seq: bigint) => Promise<void>;
  readonly allowDocumentation: boolean;
  /** Canonical addresses of this server. */
  readonly serverAddresses: readonly string[];
  /** Called with the error of each report that was not taken. */
  readonly onRefused: (reason: ErrorCode) => void;
}

const texts = ['ip', 'ipAddress', 'comment', 'timestamp'] as const;

/**
 * Refuses values that JSON can send and no form could, in place of passing them over: they may
 * have meant something.
 */
function inputOf(fields: Fields): Result<ReportInput> {
  for (const name of texts) {
    if (fields.value(name) !== undefined && fields.text(name) === undefined) {
      return fail('invalid_parameter', `The ${name} must be a text.`, name);
    }
  }
  const ip = addressIn(fields);
  if (!ip.ok) return ip;
  return ok({
    ip: ip.value,
    categories: fields.value('categories'),
    comment: fields.text('comment'),
    timestamp: fields.text('timestamp'),
  });
}

const categories = v.union([
  v.string(),
  category,
  v.pipe(v.array(category), v.minLength(1), v.maxLength(reportCategoriesMax)),
]);
/** The body as it is documented. It is read by hand, for reports come in floods. */
export const reportBody = v.object({
  ip: optionalText('A public address, not your own. Or `ipAddress`.'),
  ipAddress: v.optional(v.string()),
  categories: v.pipe(
    categories,
    v.description('Numbers separated by commas, one number, or an array.'),
  ),
  comment: optionalText(`Cut at ${commentCharactersMax} characters.`),
  timestamp: option(dateTime, 'Not in the future, not older than 365 days.'),
});
const Reported = v.strictObject({ ipAddress: v.string(), abuseConfidenceScore: score });

export const reportEndpoint = endpoint({
  method: 'POST',
  path: '/api/v2/report',
  who: 'api-key',
  shape: 'api',
  thread: 'main',
  cost: { quota: 'write' },
  body: { types: ['form', 'multipart', 'json'], bytesMax: bodyBytesMax, takesGzip: true },
  errors: [
    'unsupported_media_type',
    'duplicate_report',
    'address_quota_exceeded',
    'store_unavailable',
    'capacity_exceeded',
  ],
  robots: 'disallow',
  docs: {
    id: 'report',
    tag: 'IP API',
    summary: 'Reports an address. Costs one write.',
    description:
      'The fields may also stand in the query. One account may report one address once in 15 minutes.',
    requestBody: formOrJson(reportBody, false),
    answers: { 200: dataAnswer('On disk, and in the score that is shown.', Reported) },
    schemas: { Reported },
  },
});

export function reportRoute(options: ReportRouteOptions): PlainRoute {
  const { guard, check, geo, clock, reports } = options;
  const serverAddresses = new Set(options.serverAddresses);

  async function save(fields: Fields, { request, slot, headers }: KeyedCall): Promise<Answer> {
    const input = inputOf(fields);
    if (!input.ok) return input;
    const report = readReport(input.value, {
      now: clock.now(),
      allowDocumentation: options.allowDocumentation,
      ownAddresses: { has: (ip) => ip === textBehind(request.clientIp) || serverAddresses.has(ip) },
    });
    if (!report.ok) return report;
    const { ip, family, words } = report.value;
    const done = (): Answer => {
      const { score } = check.judge(family, words, clock.now());
      const body = `{"data":{"ipAddress":"${ip}","abuseConfidenceScore":${score}}}`;
      return { status: 200, headers: [jsonType, noStore, ...headers], body };
    };
    if (report.value.isExample) return done();
    const account = options.accountOf(slot);
    if (account === undefined) return fail('unauthenticated');
    const { clientIp } = request;
    const country = clientCountry(geo, clientIp);
    const reporter = { account, slot, country, network: clientNetwork(options, clientIp) };
    const saved = await reports.add(reporter, report.value);
    if (!saved.ok) {
      const isDuplicate = saved.error === 'duplicate_report';
      return isDuplicate ? fail('duplicate_report', duplicateDetail(ip), 'ip') : saved;
    }
    await options.catchUpTo(saved.value.seq);
    return done();
  }

  return guard.keyedFields(reportEndpoint, save, {
    onRefused: ({ error }) => options.onRefused(error),
  });
}
