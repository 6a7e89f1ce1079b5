/**
 * GET /api/v2/blacklist: addresses and networks with a high score, for whoever has a key.
 *
 * Costs one read for each 1,000 rows of the answer, at least one: the first read is taken with
 * the request, the others when the rows are counted and before the answer is made. When those
 * are more than what is left, the answer is 429 and only the first read is gone.
 * Order of refusals: 401, 429 (first read), 422, 503, 429 (the rest).
 */

import type { Gate } from '../access/gate.ts';
import { fail, ok, type Result } from '../core/result.ts';
import { createTurns } from '../core/turns.ts';
import { createTurnstile } from '../core/turnstile.ts';
import type { GeoReader } from '../geo/reader.ts';
import { createBodyWriter } from '../http/body-writer.ts';
import { firstHeader, type Header, type Reply, type Request } from '../http/message.ts';
import type { Params } from '../http/query.ts';
import type { Caller, PlainRoute } from '../http/router.ts';
import {
  type Blacklist,
  type BlacklistFilter,
  type BlacklistSnapshot,
  confidenceMin,
  selectRows,
} from '../reputation/blacklist.ts';
import { readKeyed, spendMore, wantedBy } from './keyed.ts';
import { readWhole } from './parameters.ts';
import { apiProblem, jsonType, noStore } from './problem.ts';
import { isoDate } from './report-json.ts';

const limitDefault = 10_000;
export const blacklistBounds = {
  /** A larger limit counts as this one. */
  limitMax: 500_000,
} as const;
const rowsPerRead = 1_000;
const confidenceDefault = 75;
const countriesMax = 300;
const acceptCharsMax = 512;
/** Answers of half a million rows being made, and requests that wait for their turn. */
const turns = { runningMax: 2, waitingMax: 16 };
/** Making the list of millions of entries takes seconds. */
const timeoutMs = 15_000;
const rowsPerLook = 64;

const textType: Header = ['Content-Type', 'text/plain; charset=utf-8'];

export interface BlacklistRouteOptions {
  readonly gate: Gate;
  readonly geo: GeoReader;
  readonly blacklist: Blacklist;
}

interface Asked {
  readonly filter: BlacklistFilter;
  readonly asText: boolean;
}

export function blacklistRoute(options: BlacklistRouteOptions): PlainRoute {
  const { gate, geo, blacklist } = options;
  const queue = createTurnstile(turns);

  async function handle(request: Request, caller: Caller): Promise<Reply> {
    const read = readKeyed(gate, request, (params) => readAsked(request, params, geo));
    if (!read.ok) return read.refusal;
    const { asked, slot, headers } = read;
    const isWanted = wantedBy(caller);
    const answer = await queue.run(() => answerOf(asked, slot, headers, isWanted));
    return answer.ok ? answer.value : apiProblem(answer, headers);
  }

  async function answerOf(
    asked: Asked,
    slot: number,
    firstHeaders: readonly Header[],
    isWanted: () => boolean,
  ): Promise<Reply> {
    if (!isWanted()) return apiProblem(fail('overloaded'), firstHeaders);
    const snapshot = await blacklist.snapshot();
    const selected = await selectRows(snapshot, asked.filter);
    const rest = Math.ceil(selected.length / rowsPerRead) - 1;
    const spent = rest > 0 ? spendMore(gate, slot, 'read', rest) : undefined;
    if (spent?.ok === false) return spent.refusal;
    const { leftOut } = snapshot;
    const headers: Header[] = [noStore, ...(spent?.headers ?? firstHeaders)];
    if (leftOut > 0) headers.push(['X-Entries-Left-Out', String(leftOut)]);
    const generatedAt = isoDate(snapshot.generatedAt);
    const render = asked.asText ? renderText : renderJson;
    const body = await render(snapshot, selected, geo, isWanted);
    if (!asked.asText) return { status: 200, headers: [jsonType, ...headers], body };
    return { status: 200, headers: [textType, ['X-Generated-At', generatedAt], ...headers], body };
  }

  return {
    kind: 'plain',
    method: 'GET',
    path: '/api/v2/blacklist',
    headers: ['key', 'accept'],
    timeoutMs,
    handle,
  };
}

function readAsked(request: Request, params: Params, geo: GeoReader): Result<Asked> {
  const range = { min: confidenceMin, max: 100, byDefault: confidenceDefault };
  const confidence = readWhole(params, 'confidenceMinimum', range);
  if (!confidence.ok) return confidence;
  const limit = readLimit(params.get('limit'));
  if (!limit.ok) return limit;
  const version = params.get('ipVersion');
  if (version !== undefined && version !== '4' && version !== '6') {
    return fail('invalid_parameter', 'The ip version must be 4 or 6.', 'ipVersion');
  }
  const countries = readCountries(params, geo);
  if (!countries.ok) return countries;
  return ok({
    filter: {
      confidenceMinimum: confidence.value,
      limit: limit.value,
      ipVersion: version === undefined ? undefined : version === '4' ? 4 : 6,
      countries: countries.value,
    },
    asText: params.has('plaintext') || acceptsTextAlone(firstHeader(request, 'accept')),
  });
}

/** Clients ask for more than there can be and mean "all": that is not refused. */
function readLimit(text: string | undefined): Result<number> {
  if (text === undefined) return ok(limitDefault);
  if (!/^\d{1,20}$/.test(text) || Number(text) < 1) {
    return fail('invalid_parameter', 'The limit must be a whole number of at least 1.', 'limit');
  }
  return ok(Math.min(Number(text), blacklistBounds.limitMax));
}

/** Which country ids are wanted; undefined when it doesn't matter. */
function readCountries(params: Params, geo: GeoReader): Result<Uint8Array | undefined> {
  const only = params.get('onlyCountries');
  const except = params.get('exceptCountries');
  if (only === undefined && except === undefined) return ok(undefined);
  if (only !== undefined && except !== undefined) {
    const detail = 'Only one of only countries and except countries may be given.';
    return fail('invalid_parameter', detail, 'exceptCountries');
  }
  const name = only === undefined ? 'exceptCountries' : 'onlyCountries';
  const codes = (only ?? except)!.split(',').map((code) => code.trim().toUpperCase());
  if (codes.length > countriesMax || !codes.every((code) => /^[A-Z]{2}$/.test(code))) {
    const detail = 'The countries must be two-letter ISO 3166 codes, separated by commas.';
    return fail('invalid_parameter', detail, name);
  }
  const named = new Set(codes);
  const wanted = new Uint8Array(geo.countryCount);
  for (let id = 0; id < wanted.length; id++) {
    wanted[id] = named.has(geo.country(id)) === (only !== undefined) ? 1 : 0;
  }
  return ok(wanted);
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

const renderJson: Render = async ({ rows, generatedAt }, selected, geo, isWanted) => {
  const first = selected[0];
  const line = (row: number) => {
    const last = rows.lastReportedAt[row]!;
    const date = last === 0 ? 'null' : `"${isoDate(last * 1_000)}"`;
    // Concatenation, not JSON.stringify: texts of addresses and countries hold nothing to escape.
    return (
      `${row === first ? '' : ','}{"ipAddress":"${rows.text(row)}",` +
      `"countryCode":"${geo.country(rows.country[row]!)}",` +
      `"abuseConfidenceScore":${rows.score[row]},"lastReportedAt":${date}}`
    );
  };
  const start = `{"meta":{"generatedAt":"${isoDate(generatedAt)}"},"data":[`;
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
  const turns = createTurns();
  out.add(start);
  for (let i = 0; i < selected.length; i++) {
    if (i % rowsPerLook === 0 && turns.isOver()) {
      await turns.next();
      if (!isWanted()) break;
    }
    out.add(render(selected[i]!));
  }
  out.add(end);
  return out.finish();
}
