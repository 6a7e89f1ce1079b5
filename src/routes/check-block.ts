/**
 * GET /api/v2/check-block: the reported hosts of a network.
 * Order of refusals: 401, 429, 422, 402, 503. Costs one read for each 1,000 entries looked at: what a
 * network holds is known when it has been walked, so the quota may also end a walk.
 * Few run at a time, for each may hold 10,000 hosts; 503 beyond those that may wait.
 */

import { type Gate, quotaKind } from '../access/gate.ts';
import type { Clock } from '../core/clock.ts';
import { fail, ok, type Result } from '../core/result.ts';
import type { Turns } from '../core/turns.ts';
import type { Turnstile } from '../core/turnstile.ts';
import { countryOf, type GeoReader } from '../geo/reader.ts';
import type { Reply, Request } from '../http/message.ts';
import type { Caller, PlainRoute } from '../http/router.ts';
import { formatIp } from '../ip/address.ts';
import { describeBlock } from '../ip/block.ts';
import { formatPrefix, type Prefix, parsePrefix } from '../ip/prefix.ts';
import type { BlockCheck, ReportedHost } from '../reputation/block-check.ts';
import { maxAgeDetail } from './check.ts';
import { type Fields, keyOf, readFields } from './fields.ts';
import { wantedBy } from './keyed.ts';
import { apiProblem, jsonType, noStore } from './problem.ts';
import { quotaDetail, quotaHeaders } from './quota-headers.ts';

export const blockBounds = {
  /** The widest networks that may be asked for. */
  shortest: { 4: 16, 6: 48 },
} as const;
const maxAgeDaysDefault = 30;
/** Of an answer, written between two looks at the clock. */
const rowsPerLook = 250;
const dayMs = 86_400_000;

export function checkBlockRoute(options: {
  gate: Gate;
  blockCheck: BlockCheck;
  geo: GeoReader;
  clock: Clock;
  turns: Turns;
  /** Bounds the walks that run at a time. */
  walks: Turnstile;
}): PlainRoute {
  const { gate, blockCheck, geo, clock, turns, walks } = options;

  function refuseQuota(): Reply {
    const detail = quotaDetail(gate.quotas, 'read');
    return apiProblem(fail('quota_exceeded', detail), quotaHeaders(gate.quotas));
  }

  async function handle(request: Request, caller: Caller): Promise<Reply> {
    const fields = await readFields(request);
    const slot = gate.authenticate(keyOf(request, fields));
    if (slot < 0) return apiProblem(fail('unauthenticated'));
    if (!gate.spend(slot, quotaKind.read, 1)) return refuseQuota();
    const asked = fields.ok ? readAsked(fields.value) : fields;
    if (!asked.ok) return apiProblem(asked, quotaHeaders(gate.quotas));
    const isWanted = wantedBy(caller);
    const answer = await walks.run(() => answerOf(slot, asked.value, isWanted));
    if (answer.ok) return answer.value;
    // Others spent while the body was read: the findings are made this key's again.
    gate.spend(slot, quotaKind.read, 0);
    return apiProblem(answer, quotaHeaders(gate.quotas));
  }

  async function answerOf(
    slot: number,
    { network, maxAgeDays }: Asked,
    isWanted: () => boolean,
  ): Promise<Reply> {
    let refusal: Reply | undefined;
    const found = await blockCheck.find(network, {
      since: clock.now() - maxAgeDays * dayMs,
      isWanted,
      mayGoOn() {
        if (gate.spend(slot, quotaKind.read, 1)) return true;
        // At once: the findings belong to the last call, and others spend during the walk.
        refusal = refuseQuota();
        return false;
      },
    });
    if (!found.ok) return refusal ?? apiProblem(found, quotaHeaders(gate.quotas));
    const text = await body(network, found.value);
    gate.spend(slot, quotaKind.read, 0);
    return {
      status: 200,
      headers: [jsonType, noStore, ...quotaHeaders(gate.quotas)],
      body: text,
    };
  }

  async function body(network: Prefix, hosts: readonly ReportedHost[]): Promise<string> {
    const block = describeBlock(network);
    const { networkAddress, netmask, minAddress, maxAddress } = block;
    const start = JSON.stringify({ networkAddress, netmask, minAddress, maxAddress }).slice(0, -1);
    let rows = '';
    for (const [i, host] of hosts.entries()) {
      if (i % rowsPerLook === 0 && turns.isOver()) await turns.next();
      rows += (i === 0 ? '' : ',') + rowOf(network.family, host);
    }
    // A whole number of up to 25 digits: written here, where no `number` rounds it.
    return (
      `{"data":${start},"numPossibleHosts":${block.possibleHosts},` +
      `"addressSpaceDesc":${JSON.stringify(block.space)},"reportedAddress":[${rows}]}}`
    );
  }

  function rowOf(family: 4 | 6, host: ReportedHost): string {
    const last = new Date(host.lastReportedAt * 1_000).toISOString().slice(0, 19);
    const country = geo.country(countryOf(geo.find(family, host.words)));
    return (
      `{"ipAddress":"${formatIp(family, host.words)}","numReports":${host.reports},` +
      `"mostRecentReport":"${last}+00:00","abuseConfidenceScore":${host.score},` +
      `"countryCode":"${country}"}`
    );
  }

  return { kind: 'plain', method: 'GET', path: '/api/v2/check-block', headers: ['key'], handle };
}

interface Asked {
  readonly network: Prefix;
  readonly maxAgeDays: number;
}

function readAsked(fields: Fields): Result<Asked> {
  const text = fields.text('network')?.trim() ?? '';
  if (text === '') return fail('invalid_parameter', 'The network field is required.', 'network');
  // With host bits too: the example that clients copied from is 127.0.0.1/24.
  const network = parsePrefix(text, 'mask');
  if (!network.ok) {
    const detail = 'The network must be an IPv4 or IPv6 network in CIDR notation.';
    return fail('invalid_parameter', detail, 'network');
  }
  const days = fields.text('maxAgeInDays') ?? String(maxAgeDaysDefault);
  if (!/^\d{1,3}$/.test(days) || Number(days) < 1 || Number(days) > 365) {
    return fail('invalid_parameter', maxAgeDetail, 'maxAgeInDays');
  }
  const { family, length } = network.value;
  if (length < blockBounds.shortest[family]) {
    const detail = `The network ${formatPrefix(network.value)} is too large: IPv4 networks may be /16 to /32, IPv6 networks /48 to /128.`;
    return fail('network_too_large', detail, 'network');
  }
  return ok({ network: network.value, maxAgeDays: Number(days) });
}
