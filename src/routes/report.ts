/**
 * POST /api/v2/report: what somebody saw, durable when it is answered, and already in the score
 * that a check through any thread shows.
 * Order of refusals: 401, 429 (quota), 422, 429 (duplicate), 503.
 */

import { type Gate, quotaKind } from '../access/gate.ts';
import type { Clock } from '../core/clock.ts';
import { fail } from '../core/result.ts';
import type { GeoReader } from '../geo/reader.ts';
import type { Header, Reply, Request } from '../http/message.ts';
import type { PlainRoute } from '../http/router.ts';
import type { Check } from '../reputation/check.ts';
import { readReport, testAddress } from '../reputation/report.ts';
import type { ReportStore } from '../reputation/report-store.ts';
import { clientCountry } from './client-country.ts';
import { type Fields, keyOf, readFields } from './fields.ts';
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
}

export function duplicateDetail(ip: string): string {
  return `You can only report the same IP address (\`${ip}\`) once in 15 minutes.`;
}

export function reportRoute(options: ReportRouteOptions): PlainRoute {
  const { gate, check, geo, clock, reports } = options;

  async function handle(request: Request): Promise<Reply> {
    const fields = await readFields(request);
    const slot = gate.authenticate(keyOf(request, fields));
    if (slot < 0) return apiProblem(fail('unauthenticated'));
    const admitted = gate.spend(slot, quotaKind.write, 1);
    // Copied at once: the findings belong to the last call, and this handler awaits.
    const headers = quotaHeaders(gate.quotas);
    if (!admitted) {
      return apiProblem(fail('quota_exceeded', quotaDetail(gate.quotas, 'write')), headers);
    }
    if (!fields.ok) return apiProblem(fields, headers);
    return save(request, fields.value, slot, headers);
  }

  async function save(
    request: Request,
    fields: Fields,
    slot: number,
    headers: Header[],
  ): Promise<Reply> {
    const report = readReport(
      {
        ip: fields.text('ip') ?? fields.text('ipAddress'),
        categories: fields.value('categories') as string,
        comment: fields.text('comment'),
        timestamp: fields.text('timestamp'),
      },
      {
        now: clock.now(),
        allowDocumentation: options.allowDocumentation,
        ownAddresses: new Set([...options.serverAddresses, request.clientIp]),
      },
    );
    if (!report.ok) return apiProblem(report, headers);
    const { ip, family, words } = report.value;
    const duplicate = fail('duplicate_report', duplicateDetail(ip), 'ip');
    if (ip === testAddress) return apiProblem(duplicate, headers);
    const account = options.accountOf(slot);
    if (account === undefined) return apiProblem(fail('unauthenticated'));
    const reporter = { account, slot, country: clientCountry(geo, request.clientIp) };
    const saved = await reports.add(reporter, report.value);
    if (!saved.ok)
      return apiProblem(saved.error === 'duplicate_report' ? duplicate : saved, headers);
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
