/**
 * GET /api/v2/check-block: the reported hosts of a network.
 * Order of refusals: 401, 429, 422, 402, 503. Costs one read for each 1,000 entries looked at: what a
 * network holds is known when it has been walked, so the quota may also end a walk.
 * Few run at a time, for each may hold 10,000 hosts; 503 beyond those that may wait.
 */

import * as v from 'valibot';
import type { Clock } from '../../core/clock.ts';
import { isoSeconds } from '../../core/dates.ts';
import { type Failure, fail, ok, type Result } from '../../core/result.ts';
import type { Semaphore, SliceScheduler } from '../../core/scheduling.ts';
import {
  about,
  count,
  country,
  dateTime,
  integer,
  preset,
  queryReader,
  readBy,
  score,
} from '../../core/schema.ts';
import { dayMs } from '../../core/time.ts';
import { countryOf, type GeoReader } from '../../geo/reader.ts';
import type { Params } from '../../http/request/query.ts';
import type { PlainRoute } from '../../http/router.ts';
import { formatIp, type IpFamily } from '../../ip/address.ts';
import { embeddedNetwork } from '../../ip/embedded-ipv4.ts';
import { formatPrefix, type Prefix, parsePrefix, widthOf } from '../../ip/prefix.ts';
import { specialUse } from '../../ip/special.ts';
import { endpoint } from '../../web/guard/endpoint.ts';
import {
  type Guard,
  type HandlerResult,
  type KeyedCall,
  watchCaller,
} from '../../web/guard/guard.ts';
import { dataAnswer } from '../../web/openapi.ts';
import { jsonReply } from '../../web/shape.ts';
import { type BlockCheck, blockBounds, type ReportedHost } from './block-check.ts';
import { daysWithoutLists } from './check-schema.ts';

const maxAgeDaysDefault = 30;
/** Rows of an answer that are written between two reads of the clock. */
const rowsPerSlice = 250;

const requiredDetail = 'The network field is required.';
const sizes = `IPv4 /${blockBounds.shortest[4]} to /32, IPv6 /${blockBounds.shortest[6]} to /128`;
const Block = v.strictObject({
  networkAddress: v.string(),
  netmask: v.string(),
  minAddress: v.string(),
  maxAddress: v.string(),
  numPossibleHosts: integer(1),
  addressSpaceDesc: v.string(),
  reportedAddress: v.array(
    v.strictObject({
      ipAddress: v.string(),
      numReports: count,
      mostRecentReport: dateTime,
      abuseConfidenceScore: score,
      countryCode: country,
    }),
  ),
});

export const checkBlockEndpoint = endpoint({
  method: 'GET',
  path: '/api/v2/check-block',
  who: 'api-key',
  shape: 'api',
  thread: 'main',
  cost: { quota: 'read', more: 'for each 1,000 entries of the block, at least one' },
  errors: ['network_too_large', 'overloaded'],
  robots: 'disallow',
  docs: {
    id: 'checkBlock',
    tag: 'IP API',
    summary: 'The reported addresses of a network. One read for each 1,000 entries.',
    query: {
      network: about(readBy(readNetwork, requiredDetail), `CIDR: ${sizes}.`),
      maxAgeInDays: preset(daysWithoutLists, maxAgeDaysDefault),
    },
    answers: { 200: dataAnswer('The network and its reported addresses.', Block) },
    schemas: { Block },
  },
});

interface CheckBlockOptions {
  readonly guard: Guard;
  readonly blockCheck: BlockCheck;
  readonly geo: GeoReader;
  readonly clock: Clock;
  readonly scheduler: SliceScheduler;
  /** Bounds the walks that run at a time. */
  readonly walks: Semaphore;
}

export function checkBlockRoute(options: CheckBlockOptions): PlainRoute {
  const { guard, blockCheck, geo, clock, scheduler, walks } = options;

  async function answerOf(
    { network, maxAgeDays }: BlockQuery,
    call: KeyedCall,
    isWanted: () => boolean,
  ): Promise<HandlerResult> {
    let unpaid: Failure | undefined;
    const found = await blockCheck.find(network, {
      since: clock.now() - maxAgeDays * dayMs,
      isWanted,
      mayGoOn() {
        unpaid = call.spend(1);
        return unpaid === undefined;
      },
    });
    if (!found.ok) return unpaid ?? found;
    const text = await body(network, found.value);
    // The quota is read again: other requests spent during the walk.
    call.spend(0);
    return jsonReply(text, call.headers);
  }

  async function body(network: Prefix, hosts: readonly ReportedHost[]): Promise<string> {
    const block = describeBlock(network);
    const { networkAddress, netmask, minAddress, maxAddress } = block;
    const start = JSON.stringify({ networkAddress, netmask, minAddress, maxAddress }).slice(0, -1);
    let rows = '';
    for (const [i, host] of hosts.entries()) {
      if (i % rowsPerSlice === 0 && scheduler.shouldYield()) await scheduler.yield();
      rows += (i === 0 ? '' : ',') + rowOf(network.family, host);
    }
    // The size is a whole number of up to 25 digits: written here, where no `number` rounds it.
    return (
      `{"data":${start},"numPossibleHosts":${block.possibleHosts},` +
      `"addressSpaceDesc":${JSON.stringify(block.space)},"reportedAddress":[${rows}]}}`
    );
  }

  function rowOf(family: IpFamily, host: ReportedHost): string {
    const country = geo.country(countryOf(geo.find(family, host.words)));
    return (
      `{"ipAddress":"${formatIp(family, host.words)}","numReports":${host.reports},` +
      `"mostRecentReport":"${isoSeconds(host.lastReportedAt)}","abuseConfidenceScore":${host.score},` +
      `"countryCode":"${country}"}`
    );
  }

  return guard.keyed(checkBlockEndpoint, readAsked, async (asked, call, caller) => {
    const wanted = watchCaller(caller);
    const answer = await walks.run(() => answerOf(asked, call, wanted));
    return answer.ok ? answer.value : answer;
  });
}

interface BlockQuery {
  readonly network: Prefix;
  readonly maxAgeDays: number;
}

const readQuery = queryReader(checkBlockEndpoint.docs.query);

function readAsked(params: Params): Result<BlockQuery> {
  const asked = readQuery(params);
  if (!asked.ok) return asked;
  const { network, maxAgeInDays } = asked.value;
  const { family, length } = network;
  if (length < blockBounds.shortest[family]) {
    const detail = `The network ${formatPrefix(network)} is too large: IPv4 networks may be /16 to /32, IPv6 networks /48 to /128.`;
    return fail('network_too_large', detail, 'network');
  }
  return ok({ network: embeddedNetwork(network), maxAgeDays: maxAgeInDays });
}

/** Host bits are allowed: the example that clients copied from is 127.0.0.1/24. */
function readNetwork(given: string): Result<Prefix> {
  const text = given.trim();
  if (text === '') return fail('invalid_parameter', requiredDetail);
  const network = parsePrefix(text, 'mask');
  if (network.ok || network.detail?.startsWith('The mask') === true) return network;
  const detail = 'The network must be an IPv4 or IPv6 network in CIDR notation.';
  return fail('invalid_parameter', detail);
}

// The facts of a network: mask, first and last usable host, their number, and its special use.

interface Block {
  readonly networkAddress: string;
  /** In address form, for IPv6 too. */
  readonly netmask: string;
  /**
   * First and last address that a host can have: in IPv4 networks up to /30 the first and the
   * last are not among them (network and broadcast), in /31 (RFC 3021), /32 and IPv6 they are.
   */
  readonly minAddress: string;
  readonly maxAddress: string;
  /** Up to 2^128, so no `number`. */
  readonly possibleHosts: bigint;
  /** Name in the special-purpose registry, `Internet`, or `Mixed` when the two ends differ. */
  readonly space: string;
}

export function describeBlock({ family, words, length }: Prefix): Block {
  const width = widthOf(family);
  const mask = new Uint32Array(4);
  const last = new Uint32Array(4);
  for (let i = 0; i < width / 32; i++) {
    const bits = Math.min(32, Math.max(0, length - 32 * i));
    mask[i] = bits === 0 ? 0 : -1 << (32 - bits);
    last[i] = words[i]! | ~mask[i]!;
  }
  const low = words.slice();
  const high = last.slice();
  const hasEnds = family === 4 && length < 31;
  if (hasEnds) {
    low[0]! += 1;
    high[0]! -= 1;
  }
  const first = specialUse(family, low)?.name ?? 'Internet';
  return {
    networkAddress: formatIp(family, words),
    netmask: formatIp(family, mask),
    minAddress: formatIp(family, low),
    maxAddress: formatIp(family, high),
    possibleHosts: 2n ** BigInt(width - length) - (hasEnds ? 2n : 0n),
    space: first === (specialUse(family, high)?.name ?? 'Internet') ? first : 'Mixed',
  };
}
