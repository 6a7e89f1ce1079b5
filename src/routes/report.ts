/**
 * POST /api/v2/report: what somebody saw, durable when it is answered, and already in the score
 * that a check through any thread shows.
 * Order of refusals: 401, 429 (quota), 422, 429 (new addresses, duplicate), 503.
 */

import { type Gate, quotaKind } from '../access/gate.ts';
import type { Clock } from '../core/clock.ts';
import type { ErrorCode } from '../core/errors.ts';
import { type Failure, fail, ok, type Result } from '../core/result.ts';
import type { GeoReader } from '../geo/reader.ts';
import type { Header, Reply, Request } from '../http/message.ts';
import type { PlainRoute } from '../http/router.ts';
import type { Check } from '../reputation/check.ts';
import { duplicateDetail, type ReportInput, readReport } from '../reputation/report.ts';
import type { ReportStore } from '../reputation/report-store.ts';
import { clientCountry } from './client-country.ts';
import { addressIn, type Fields, keyOf, readFields } from './fields.ts';
import { apiProblem, jsonType, noStore } from './problem.ts';
import { quotaDetail, quotaHeaders } from './quota-headers.ts';

const bodyBytesMax = 16 * 1024;

export interface ReportRouteOptions {
  readonly gate: Gate;
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
  /** Told of each report that was not taken. */
  readonly onRefused: (reason: ErrorCode) => void;
}

const texts = ['ip', 'ipAddress', 'comment', 'timestamp'] as const;

/** What JSON can send and no form could is refused, not passed over: it may have meant something. */
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

export function reportRoute(options: ReportRouteOptions): PlainRoute {
  const { gate, check, geo, clock, reports } = options;
  const serverAddresses = new Set(options.serverAddresses);

  function refuse(failure: Failure, headers: readonly Header[]): Reply {
    options.onRefused(failure.error);
    return apiProblem(failure, headers);
  }

  async function handle(request: Request): Promise<Reply> {
    const fields = await readFields(request);
    const slot = gate.authenticate(keyOf(request, fields));
    if (slot < 0) return apiProblem(fail('unauthenticated'));
    const admitted = gate.spend(slot, quotaKind.write, 1);
    // Copied at once: the findings belong to the last call, and this handler awaits.
    const headers = quotaHeaders(gate.quotas);
    if (!admitted) {
      return refuse(fail('quota_exceeded', quotaDetail(gate.quotas, 'write')), headers);
    }
    if (!fields.ok) return refuse(fields, headers);
    return save(request, fields.value, slot, headers);
  }

  async function save(
    request: Request,
    fields: Fields,
    slot: number,
    headers: Header[],
  ): Promise<Reply> {
    const input = inputOf(fields);
    if (!input.ok) return refuse(input, headers);
    const report = readReport(input.value, {
      now: clock.now(),
      allowDocumentation: options.allowDocumentation,
      ownAddresses: { has: (ip) => ip === request.clientIp || serverAddresses.has(ip) },
    });
    if (!report.ok) return refuse(report, headers);
    const { ip, family, words } = report.value;
    const duplicate = fail('duplicate_report', duplicateDetail(ip), 'ip');
    const account = options.accountOf(slot);
    if (account === undefined) return apiProblem(fail('unauthenticated'));
    const reporter = { account, slot, country: clientCountry(geo, request.clientIp) };
    const saved = await reports.add(reporter, report.value);
    if (!saved.ok) return refuse(saved.error === 'duplicate_report' ? duplicate : saved, headers);
    await options.catchUpTo(saved.value.seq);
    const { score } = check.judge(family, words, clock.now());
    return {
      status: 200,
      headers: [jsonType, noStore, ...headers],
      body: `{"data":{"ipAddress":"${ip}","abuseConfidenceScore":${score}}}`,
    };
  }

  return {
    kind: 'plain',
    method: 'POST',
    path: '/api/v2/report',
    headers: ['key', 'content-type'],
    bodyBytesMax,
    handle,
  };
}
