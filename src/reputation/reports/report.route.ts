/**
 * POST /api/v2/report: what somebody saw, durable when it is answered, and already in the score
 * that a check through any thread shows.
 * Order of refusals: 401, 429 (quota), 422, 429 (new addresses, duplicate), 503.
 */

import * as v from 'valibot';
import { scopeBitsFor } from '../../access/keys/key-format.ts';
import type { QuotaGuard } from '../../access/quota/quota.ts';
import type { AccountOf, CatchUpTo, ReportInput } from '../../contracts/reputation.ts';
import type { Clock } from '../../core/clock.ts';
import type { ErrorCode } from '../../core/errors.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import { dateTime, option, optionalText, score } from '../../core/schema.ts';
import { clientCountry, type GeoReader } from '../../geo/reader.ts';
import { mediaType } from '../../http/request/body.ts';
import { firstHeader, packing } from '../../http/request/message.ts';
import { isPacked } from '../../http/request/unpacking.ts';
import type { PlainRoute, Route } from '../../http/router.ts';
import type { IndexRead } from '../../index/reader.ts';
import { readIp } from '../../ip/address.ts';
import { textOfEmbedded } from '../../ip/embedded-ipv4.ts';
import { endpoint } from '../../web/guard/endpoint.ts';
import type { Guard, HandlerResult, KeyedCall } from '../../web/guard/guard.ts';
import type { Hook } from '../../web/guard/hooks.ts';
import { addressIn, addressNameIn, type Fields, readFields } from '../../web/guard/intake/form.ts';
import { dataAnswer, formOrJson } from '../../web/openapi.ts';
import { jsonReply } from '../../web/shape.ts';
import type { Check } from '../check/check.ts';
import {
  category,
  clientNetwork,
  commentCharactersMax,
  duplicateDetail,
  type ReadReport,
  readReport,
  reportCategoriesMax,
} from './report.ts';
import type { ReportStore } from './store/report-store.ts';

const bodyBytesMax = 16 * 1024;
const none = new Uint8Array(0);

/** The rules that reports are judged by in every thread. */
export interface SharedReportRules {
  readonly allowDocumentation: boolean;
  /** Canonical addresses of this server. */
  readonly serverAddresses: readonly string[];
}

interface ReportReaderOptions extends SharedReportRules {
  readonly check: Check;
  readonly geo: GeoReader;
  readonly clock: Clock;
}

interface ReportRouteOptions extends ReportReaderOptions {
  readonly guard: Guard;
  readonly reports: ReportStore;
  readonly accountOf: AccountOf;
  readonly catchUpTo: CatchUpTo;
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
    addressName: addressNameIn(fields),
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

/** A report that may be kept, and where it comes from. */
interface SentReport {
  readonly report: ReadReport;
  readonly country: string;
  /** See reports/report.ts. */
  readonly network: number;
}

/** Returns the reading of a report and its sender from the request and the index alone: any thread can do it. */
function reportReader(options: ReportReaderOptions) {
  const { geo, clock, allowDocumentation } = options;
  const serverAddresses = new Set(options.serverAddresses);
  return (fields: Fields, clientIp: string): Result<SentReport> => {
    const input = inputOf(fields);
    if (!input.ok) return input;
    const report = readReport(input.value, {
      now: clock.now(),
      allowDocumentation,
      ownAddresses: { has: (ip) => ip === textOfEmbedded(clientIp) || serverAddresses.has(ip) },
    });
    if (!report.ok) return report;
    const country = clientCountry(geo, clientIp);
    return ok({ report: report.value, country, network: clientNetwork(options, clientIp) });
  };
}

/** Sent reports as they cross from a front end; none is an example. */
const sentPacking = packing(
  ({ report: { ip, categories, comment, reportedAt }, country, network }: SentReport) =>
    [ip, categories, comment, reportedAt, country, network] as const,
  ([ip, categories, comment, reportedAt, country, network]): SentReport => {
    const report = { ...readIp(ip)!, ip, categories, comment, reportedAt, isExample: false };
    return { report, country, network };
  },
);

/** Longer bodies are read in the thread that owns the store. */
const readAheadBytesMax = 4_096;

/**
 * Reads reports in the front end, so that the thread that owns the store gets plain values. Only complete, small and
 * simple reports with a valid key are read here. All others are forwarded unchanged, since that thread says what is
 * wrong with them.
 */
export function reportHook(
  options: ReportReaderOptions & { readonly quotaGuard: QuotaGuard },
  inIndexRead: IndexRead,
): Hook<Route> {
  const { quotaGuard } = options;
  const readSent = reportReader(options);
  const scope = scopeBitsFor('write');
  return {
    name: 'reports',
    appliesTo: ({ method, path }) =>
      method === reportEndpoint.method && path === reportEndpoint.path,
    onRequest(request) {
      const { method, path, param, body, clientIp, id, trace } = request;
      const { key } = request.headers;
      const type = mediaType(firstHeader(request, 'content-type'));
      if (key === undefined || type === 'multipart' || isPacked(request)) return undefined;
      if (body.length > readAheadBytesMax || quotaGuard.authenticate(key[0], scope) < 0) {
        return undefined;
      }
      const fields = readFields(request);
      if (fields instanceof Promise || !fields.ok) return undefined;
      const sent = inIndexRead(() => readSent(fields.value, clientIp));
      if (!sent.ok || sent.value.report.isExample) return undefined;
      const reading = sentPacking.pack(sent.value);
      // Spread, it would cost a microsecond.
      return {
        method,
        path,
        param,
        query: '',
        headers: { key },
        body: none,
        clientIp,
        id,
        trace,
        reading,
      };
    },
  };
}

export function reportRoute(options: ReportRouteOptions): PlainRoute {
  const { guard, check, clock, reports } = options;
  const readSent = reportReader(options);

  async function keep(sent: SentReport, { slot, headers }: KeyedCall): Promise<HandlerResult> {
    const { report, country, network } = sent;
    const { ip, family, words } = report;
    if (!report.isExample) {
      const account = options.accountOf(slot);
      if (account === undefined) return fail('unauthenticated');
      const saved = await reports.add({ account, slot, country, network }, report);
      if (!saved.ok) {
        const isDuplicate = saved.error === 'duplicate_report';
        return isDuplicate ? fail('duplicate_report', duplicateDetail(ip), 'ip') : saved;
      }
      await options.catchUpTo(saved.value.seq);
    }
    const { score } = check.judge(family, words, clock.now());
    const body = `{"data":{"ipAddress":"${ip}","abuseConfidenceScore":${score}}}`;
    return jsonReply(body, headers);
  }

  function read(fields: Fields, call: KeyedCall): HandlerResult | Promise<HandlerResult> {
    const sent = readSent(fields, call.request.clientIp);
    return sent.ok ? keep(sent.value, call) : sent;
  }

  return guard.keyedFields(reportEndpoint, read, {
    onRefused: ({ error }) => options.onRefused(error),
    readAhead: { packing: sentPacking, handle: keep },
  });
}
