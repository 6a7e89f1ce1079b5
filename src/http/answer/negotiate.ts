/**
 * Content negotiation for bodies that are ready in several encodings: Accept-Encoding (RFC 9110,
 * 12.5.3), all conditions in the order of 13.2.2 (If-Match, If-Unmodified-Since, If-None-Match,
 * If-Modified-Since), Range and If-Range (14).
 * Nothing is compressed here. A range is one of the encoded bytes: each encoding is a
 * representation with an ETag of its own.
 */

import { httpDate, parseHttpDate } from '../../core/dates.ts';
import { firstHeader, type Header, type Reply, type Request } from '../request/message.ts';

export interface EncodedBody {
  readonly body: Uint8Array | readonly Uint8Array[];
  /** Strong and quoted; one for each encoding. */
  readonly etag: string;
}

export interface Representation {
  readonly type: string;
  readonly cacheControl: string;
  readonly identity: EncodedBody;
  readonly gzip?: EncodedBody | undefined;
  readonly brotli?: EncodedBody | undefined;
  /** Whole seconds, as milliseconds since 1970. */
  readonly changedAtMs?: number;
  /** On every answer, 304 too. */
  readonly headers?: readonly Header[] | undefined;
  /** Byte ranges are served. */
  readonly ranges?: boolean;
}

const headerLengthMax = 512;

/** The headers of conditional requests. */
export const conditionHeaders = [
  'if-match',
  'if-unmodified-since',
  'if-none-match',
  'if-modified-since',
] as const;

/** All headers that `negotiate` reads. */
export const negotiatedHeaders = [
  'accept-encoding',
  ...conditionHeaders,
  'range',
  'if-range',
] as const;

/** The route must read those of `negotiatedHeaders` that it wants to count. */
export function negotiate(request: Request, resource: Representation): Reply {
  const { changedAtMs } = resource;
  const [encoding, chosen] = choose(request, resource);
  const headers: Header[] = [
    ['ETag', chosen.etag],
    ['Cache-Control', resource.cacheControl],
  ];
  if (resource.gzip !== undefined || resource.brotli !== undefined) {
    headers.push(['Vary', 'Accept-Encoding']);
  }
  if (changedAtMs !== undefined) headers.push(['Last-Modified', httpDate(changedAtMs)]);
  if (resource.headers !== undefined) headers.push(...resource.headers);
  if (hasChanged(request, chosen.etag, changedAtMs)) return failedCondition(headers);
  if (isUnchanged(request, chosen.etag, changedAtMs)) return { status: 304, headers };
  if (resource.ranges === true) headers.push(['Accept-Ranges', 'bytes']);
  const range = rangeOf(request, resource, chosen);
  if (range === 'unsatisfiable') return rangeNotSatisfiable(headers, lengthOf(chosen));
  headers.push(['Content-Type', resource.type]);
  if (encoding !== undefined) headers.push(['Content-Encoding', encoding]);
  if (range === undefined) return { status: 200, headers, body: chosen.body };
  const { first, last } = range;
  headers.push(['Content-Range', `bytes ${first}-${last}/${lengthOf(chosen)}`]);
  return { status: 206, headers, body: sliceParts(partsOf(chosen), range) };
}

function choose(
  request: Request,
  resource: Representation,
): readonly [encoding: string | undefined, chosen: EncodedBody] {
  const accepted = acceptedEncodings(firstHeader(request, 'accept-encoding'));
  // Without a weight of its own, plain text is what remains.
  let weight = accepted.get('identity') ?? 0;
  let chosen: readonly [string | undefined, EncodedBody] = [undefined, resource.identity];
  for (const [encoding, encoded] of [
    ['gzip', resource.gzip],
    ['br', resource.brotli],
  ] as const) {
    const own = accepted.get(encoding) ?? 0;
    if (encoded === undefined || own === 0 || own < weight) continue;
    weight = own;
    chosen = [encoding, encoded];
  }
  return chosen;
}

/** Returns true if the client asks for a version that has changed since. If-Match decides alone when it is sent. */
function hasChanged(request: Request, etag: string, changedAtMs: number | undefined): boolean {
  const tags = request.headers['if-match'] ?? [];
  if (tags.length > 0) return !matchesEtag(tags, etag, 'strong');
  const since = dateIn(request, 'if-unmodified-since');
  return since !== undefined && changedAtMs !== undefined && changedAtMs > since;
}

/** If-None-Match decides alone when it is there. */
function isUnchanged(request: Request, etag: string, changedAtMs: number | undefined): boolean {
  const tags = request.headers['if-none-match'] ?? [];
  if (tags.length > 0) return matchesEtag(tags, etag, 'weak');
  const since = dateIn(request, 'if-modified-since');
  return since !== undefined && changedAtMs !== undefined && changedAtMs <= since;
}

/** Returns undefined for what is no date, and for several. */
function dateIn(request: Request, name: string): number | undefined {
  const lines = request.headers[name] ?? [];
  return lines.length === 1 ? parseHttpDate(lines[0]!.trim()) : undefined;
}

function failedCondition(headers: readonly Header[]): Reply {
  return {
    status: 412,
    headers: [
      ...headers.filter(([name]) => name !== 'Cache-Control'),
      ['Cache-Control', 'no-store'],
      ['Content-Type', 'text/plain; charset=utf-8'],
    ],
    body: 'This is not what the condition of the request asks for.\n',
  };
}

function rangeOf(request: Request, resource: Representation, chosen: EncodedBody) {
  const lines = request.headers.range ?? [];
  // A range is a matter of GET alone.
  if (resource.ranges !== true || request.method !== 'GET' || lines.length === 0) return undefined;
  const condition = firstHeader(request, 'if-range');
  if (condition !== undefined && condition !== chosen.etag) {
    const date = parseHttpDate(condition);
    if (date === undefined || date !== resource.changedAtMs) return undefined;
  }
  return parseByteRange(lines, lengthOf(chosen));
}

/** `no-store`: a cache would answer requests for the whole file with it. */
function rangeNotSatisfiable(headers: readonly Header[], total: number): Reply {
  return {
    status: 416,
    headers: [
      ...headers.filter(([name]) => name !== 'Cache-Control'),
      ['Cache-Control', 'no-store'],
      ['Content-Range', `bytes */${total}`],
      ['Content-Type', 'text/plain; charset=utf-8'],
    ],
    body: `The range lies outside of the ${total} bytes that there are.\n`,
  };
}

function partsOf({ body }: EncodedBody): readonly Uint8Array[] {
  return body instanceof Uint8Array ? [body] : body;
}

function lengthOf(encoded: EncodedBody): number {
  return partsOf(encoded).reduce((sum, part) => sum + part.length, 0);
}

/** Codings with their weights above 0. Bounded: a header too long to be meant counts as absent. */
export function acceptedEncodings(header: string | undefined): ReadonlyMap<string, number> {
  const accepted = new Map<string, number>();
  if (header === undefined || header.length > headerLengthMax) return accepted;
  for (const part of header.toLowerCase().split(',')) {
    const [name = '', ...parameters] = part.split(';').map((text) => text.trim());
    const given = parameters.find((p) => /^q=[01](\.\d{0,3})?$/.test(p))?.slice('q='.length);
    const weight = given === undefined ? 1 : Math.min(1, Number(given));
    if (weight > (accepted.get(name) ?? 0)) accepted.set(name, weight);
  }
  return accepted;
}

/** One tag of a list; a comma may stand inside. */
const entityTag = /(?:W\/)?"[\x21\x23-\x7e\x80-\uffff]*"/g;

/** `*` alone matches anything. Strong comparison takes no tag that is weak. */
function matchesEtag(lines: readonly string[], etag: string, how: 'strong' | 'weak'): boolean {
  const text = lines.join(',').trim();
  if (text === '*') return true;
  if (text.length > 4 * headerLengthMax) return false;
  return (text.match(entityTag) ?? []).some(
    (tag) => tag === etag || (how === 'weak' && tag === `W/${etag}`),
  );
}

// Byte ranges (RFC 9110, 14): one range of a GET. Several ranges, another unit and what is no
// range at all are ignored, as the RFC allows, and the whole is sent.

interface ByteRange {
  readonly first: number;
  /** Inclusive. */
  readonly last: number;
}

/** Returns undefined when the whole is to be sent; `unsatisfiable` when nothing of the range exists (416). */
export function parseByteRange(
  lines: readonly string[],
  total: number,
): ByteRange | 'unsatisfiable' | undefined {
  const [line, ...more] = lines;
  const [, from, to] = /^bytes=(\d{0,40})-(\d{0,40})$/i.exec(line?.trim() ?? '') ?? [];
  if (from === undefined || to === undefined || more.length > 0) return undefined;
  if (from === '') {
    if (to === '') return undefined;
    const length = Math.min(Number(to), total);
    return length === 0 ? 'unsatisfiable' : { first: total - length, last: total - 1 };
  }
  if (to !== '' && Number(to) < Number(from)) return undefined;
  if (Number(from) >= total) return 'unsatisfiable';
  const last = to === '' ? total - 1 : Math.min(Number(to), total - 1);
  return { first: Number(from), last };
}

/** The bytes of a range, as views. */
export function sliceParts(parts: readonly Uint8Array[], range: ByteRange): Uint8Array[] {
  const slices: Uint8Array[] = [];
  let before = 0;
  for (const part of parts) {
    const from = Math.max(0, range.first - before);
    const to = Math.min(part.length, range.last + 1 - before);
    if (from < to) slices.push(part.subarray(from, to));
    before += part.length;
  }
  return slices;
}
