/**
 * GET /api/v2/blacklist: addresses and networks with a high score, for whoever has a key.
 *
 * Costs one read for each 1,000 rows of the answer, at least one: the first read is taken with
 * the request, the others when the rows are counted and before the answer is made. When those
 * are more than what is left, the answer is 429 and only the first read is gone.
 * Order of refusals: 401, 429 (first read), 422, 503, 429 (the rest).
 */

import * as v from 'valibot';
import { isoSeconds } from '../../core/dates.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import { createScheduler, type Semaphore } from '../../core/scheduling.ts';
import {
  about,
  between,
  country,
  dateTime,
  digits,
  flag,
  option,
  preset,
  queryReader,
  readBy,
  score,
} from '../../core/schema.ts';
import type { GeoReader } from '../../geo/reader.ts';
import { createBodyWriter } from '../../http/answer/body-writer.ts';
import { firstHeader, type Header, type Request } from '../../http/request/message.ts';
import type { Params } from '../../http/request/query.ts';
import type { PlainRoute } from '../../http/router.ts';
import type { IpFamily } from '../../ip/address.ts';
import { endpoint } from '../../web/guard/endpoint.ts';
import {
  type Guard,
  type HandlerResult,
  type KeyedCall,
  watchCaller,
} from '../../web/guard/guard.ts';
import { answer, media } from '../../web/openapi.ts';
import { jsonType, noStore, textType } from '../../web/shape.ts';
import { maliciousScore } from '../check/score.ts';
import { isoDate } from '../reports/reports.route.ts';
import {
  type Blacklist,
  type BlacklistFilter,
  type BlacklistSnapshot,
  blacklistBounds,
  confidenceMin,
  selectRows,
} from './blacklist.ts';

const limitDefault = 10_000;
const rowsPerRead = 1_000;
const countriesMax = 300;
const acceptCharsMax = 512;
/** Making the list of millions of entries takes seconds. */
const timeoutMs = 15_000;
const rowsPerSlice = 64;

interface BlacklistQuery {
  readonly filter: BlacklistFilter;
  readonly asText: boolean;
}

const blacklistBody = v.strictObject({
  meta: v.strictObject({ generatedAt: dateTime, confidenceMinimum: score }),
  data: v.array(
    v.strictObject({
      ipAddress: v.string(),
      countryCode: country,
      abuseConfidenceScore: score,
      lastReportedAt: dateTime,
    }),
  ),
});
const wholeLimit = digits(/^\d{1,20}$/, 'The limit must be a whole number of at least 1.', 1);
const versions = v.pipe(readBy(readVersion), v.metadata({ enum: ['4', '6', '4,6'] }));
const countries = readBy(readCountries);

export const blacklistEndpoint = endpoint({
  method: 'GET',
  path: '/api/v2/blacklist',
  who: 'api-key',
  shape: 'api',
  thread: 'main',
  cost: { quota: 'read', more: 'for each 1,000 rows, at least one' },
  headers: ['accept'],
  lists: ['onlyCountries', 'exceptCountries', 'ipVersion'],
  timeoutMs,
  errors: ['overloaded'],
  robots: 'disallow',
  docs: {
    id: 'blacklist',
    tag: 'IP API',
    summary: 'Addresses and networks with a high score. One read for each 1,000 rows.',
    query: {
      confidenceMinimum: preset(
        about(
          between('confidence minimum', confidenceMin, 100),
          `Least score. Left out, or 100: what is malicious, from ${maliciousScore}.`,
        ),
        maliciousScore,
      ),
      limit: preset(about(wholeLimit, `Rows; ${blacklistBounds.limitMax} at most.`), limitDefault),
      ipVersion: option(versions, 'One family alone.'),
      onlyCountries: option(
        countries,
        'Two-letter codes, separated by commas; also repeated, or as `onlyCountries[]`.',
      ),
      exceptCountries: option(countries, 'All but these; not with onlyCountries.'),
      plaintext: flag('One address or network a line, as `Accept: text/plain` asks for.'),
    },
    answers: {
      200: answer('Highest score first.', {
        ...media(blacklistBody),
        ...media(v.string(), 'text/plain; charset=utf-8'),
      }),
    },
    schemas: { Blacklist: blacklistBody },
  },
});

export function blacklistRoute(options: {
  guard: Guard;
  geo: GeoReader;
  blacklist: Blacklist;
  /** Bounds the answers that are made at a time. */
  queue: Semaphore;
}): PlainRoute {
  const { guard, geo, blacklist, queue } = options;

  async function answerOf(
    asked: BlacklistQuery,
    call: KeyedCall,
    isWanted: () => boolean,
  ): Promise<HandlerResult> {
    if (!isWanted()) return fail('overloaded');
    const snapshot = await blacklist.snapshot();
    const selected = await selectRows(snapshot, asked.filter);
    const rest = Math.ceil(selected.length / rowsPerRead) - 1;
    const unpaid = rest > 0 ? call.spend(rest) : undefined;
    if (unpaid !== undefined) return unpaid;
    const { leftOut } = snapshot;
    const headers: Header[] = [noStore, ...call.headers];
    if (leftOut > 0) headers.push(['X-Entries-Left-Out', String(leftOut)]);
    const generatedAt = isoDate(snapshot.generatedAt);
    const { confidenceMinimum } = asked.filter;
    const render = asked.asText ? renderText : renderJson(confidenceMinimum);
    const body = await render(snapshot, selected, geo, isWanted);
    if (!asked.asText) return { status: 200, headers: [jsonType, ...headers], body };
    headers.push(['X-Confidence-Minimum', String(confidenceMinimum)]);
    return { status: 200, headers: [textType, ['X-Generated-At', generatedAt], ...headers], body };
  }

  return guard.keyed(
    blacklistEndpoint,
    (params, request) => readRequest(request, params, geo),
    async (asked, call, caller) => {
      const isWanted = watchCaller(caller);
      const answer = await queue.run(() => answerOf(asked, call, isWanted));
      return answer.ok ? answer.value : answer;
    },
  );
}

const readQuery = queryReader(blacklistEndpoint.docs.query);

function readRequest(request: Request, params: Params, geo: GeoReader): Result<BlacklistQuery> {
  const asked = readQuery(params);
  if (!asked.ok) return asked;
  const { confidenceMinimum, limit, ipVersion, onlyCountries, exceptCountries } = asked.value;
  if (onlyCountries !== undefined && exceptCountries !== undefined) {
    const detail = 'Only one of only countries and except countries may be given.';
    return fail('invalid_parameter', detail, 'exceptCountries');
  }
  return ok({
    filter: {
      confidenceMinimum: minimumFor(confidenceMinimum),
      // Clients ask for more than there can be and mean "all": that is not refused.
      limit: Math.min(limit, blacklistBounds.limitMax),
      ipVersion,
      countries: countryIds(onlyCountries ?? exceptCountries, onlyCountries !== undefined, geo),
    },
    asText: asked.value.plaintext || acceptsTextAlone(firstHeader(request, 'accept')),
  });
}

/**
 * AbuseIPDB's own default is 100, and clients send it along: they mean "what you would block". Here
 * that begins lower, and a score of exactly 100 is rare.
 */
function minimumFor(asked: number): number {
  return asked === 100 ? maliciousScore : asked;
}

/** `4,6`, or both named, is no filter: some clients send it by default. */
function readVersion(text: string): Result<IpFamily | undefined> {
  const versions = new Set(text.split(',').map((version) => version.trim()));
  for (const version of versions) {
    if (version !== '4' && version !== '6') {
      return fail('invalid_parameter', 'The ip version must be 4 or 6.');
    }
  }
  return ok(versions.size === 1 ? (versions.has('4') ? 4 : 6) : undefined);
}

function readCountries(text: string): Result<ReadonlySet<string>> {
  const codes = text.split(',').map((code) => code.trim().toUpperCase());
  if (codes.length > countriesMax || !codes.every((code) => /^[A-Z]{2}$/.test(code))) {
    const detail = 'The countries must be two-letter ISO 3166 codes, separated by commas.';
    return fail('invalid_parameter', detail);
  }
  return ok(new Set(codes));
}

/** Returns which country ids are wanted; undefined when it doesn't matter. */
function countryIds(
  named: ReadonlySet<string> | undefined,
  isOnly: boolean,
  geo: GeoReader,
): Uint8Array | undefined {
  return (
    named &&
    Uint8Array.from({ length: geo.countryCount }, (_, id) =>
      named.has(geo.country(id)) === isOnly ? 1 : 0,
    )
  );
}

/** JSON is the default: many clients list `text/plain` besides it without meaning it. */
function acceptsTextAlone(accept: string | undefined): boolean {
  if (accept === undefined || accept.length > acceptCharsMax) return false;
  const types = accept
    .toLowerCase()
    .split(',')
    .map((part) => part.split(';')[0]!.trim());
  return types.includes('text/plain') && !types.includes('application/json');
}

type Render = (
  snapshot: BlacklistSnapshot,
  selected: Uint32Array,
  geo: GeoReader,
  isWanted: () => boolean,
) => Promise<Uint8Array>;

const renderText: Render = async ({ rows }, selected, _geo, isWanted) =>
  inSlices('', selected, (row) => `${rows.text(row)}\n`, '', isWanted);

const renderJson =
  (confidenceMinimum: number): Render =>
  async ({ rows, generatedAt }, selected, geo, isWanted) => {
    const first = selected[0];
    const line = (row: number) => {
      // Never null, as clients have it: what has no time of its own is as old as the list.
      const date = isoSeconds(rows.lastReportedAt[row]! || Math.floor(generatedAt / 1_000));
      // Concatenation, not JSON.stringify: texts of addresses and countries hold nothing to escape.
      return (
        `${row === first ? '' : ','}{"ipAddress":"${rows.text(row)}",` +
        `"countryCode":"${geo.country(rows.country[row]!)}",` +
        `"abuseConfidenceScore":${rows.score[row]},"lastReportedAt":"${date}"}`
      );
    };
    const start = `{"meta":{"generatedAt":"${isoDate(generatedAt)}","confidenceMinimum":${confidenceMinimum}},"data":[`;
    return inSlices(start, selected, line, ']}', isWanted);
  };

/** Half a million rows take a second: others get their turn. */
async function inSlices(
  start: string,
  selected: Uint32Array,
  render: (row: number) => string,
  end: string,
  isWanted: () => boolean,
): Promise<Uint8Array> {
  const out = createBodyWriter();
  const scheduler = createScheduler();
  out.add(start);
  for (let i = 0; i < selected.length; i++) {
    if (i % rowsPerSlice === 0 && scheduler.shouldYield()) {
      await scheduler.yield();
      if (!isWanted()) break;
    }
    out.add(render(selected[i]!));
  }
  out.add(end);
  return out.finish();
}
