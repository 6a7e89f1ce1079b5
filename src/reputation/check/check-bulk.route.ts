/**
 * POST /api/v2/check-bulk: up to 10,000 addresses in one request, one a line, as a JSON array, or as bytes.
 * Each address counts against the read quota; the request is refused whole when less is left.
 * A text that is no address gets an error object in its place and does not spoil the others; bytes
 * are always addresses.
 *
 * Lines are read where they lie: making a string of each address costs more than to judge it.
 */

import { isUtf8 } from 'node:buffer';
import * as v from 'valibot';
import type { Verdict } from '../../contracts/reputation.ts';
import type { Clock } from '../../core/clock.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import { about, option, text } from '../../core/schema.ts';
import { decodeUtf8 } from '../../core/text.ts';
import { mediaType } from '../../http/request/body.ts';
import { firstHeader, type Header, type Request } from '../../http/request/message.ts';
import type { Params } from '../../http/request/query.ts';
import type { PlainRoute } from '../../http/router.ts';
import { type IpFamily, parseIp, parseIpBytes, readIpBytes } from '../../ip/address.ts';
import { endpoint } from '../../web/guard/endpoint.ts';
import type { Guard } from '../../web/guard/guard.ts';
import { answer, jsonMedia, media } from '../../web/openapi.ts';
import { jsonType, noStore } from '../../web/shape.ts';
import { checkSummary } from './check.route.ts';
import { checkBytesMax } from './check-body.ts';
import { blockAddresses, type ManyChecks } from './check-many.ts';

/** Addresses in one request. */
export const bulkAddressesMax = 10_000;
/** 10,000 addresses of 45 characters as JSON strings, with room for spaces. */
const bodyBytesMax = 640 * 1024;
/** A text that isn't an address comes back, up to here. */
const echoedCharactersMax = 60;
/** A row, what stands between two, and the end of the answer. */
const rowBytesMax = checkBytesMax + 16;
/** Bytes of a piece of the answer: some 400 rows. */
const piecesBytes = 64 * 1024;
const [comma, newLine] = [0x2c, 0x0a];

/** Bytes of an answer to one address of bytes: score, flags, and reports in two. */
const answerBytes = 4;
const answerFlags = { malicious: 1, isAnon: 2, isWhitelisted: 4 } as const;
const reportsMax = 0xffff;

const bytesType: Header = ['Content-Type', 'application/octet-stream'];
const linesType: Header = ['Content-Type', 'application/x-ndjson'];

const SummaryFields = v.strictObject(checkSummary);
const BulkCheckResult = v.union([
  SummaryFields,
  v.strictObject({ ipAddress: v.string(), error: v.string() }),
]);
const bytesOf = (most: number, description: string) =>
  v.pipe(about(v.string(), description), v.maxLength(most), v.metadata({ format: 'binary' }));
const addressList = v.pipe(v.array(v.string()), v.minLength(1), v.maxLength(bulkAddressesMax));

export const checkBulkEndpoint = endpoint({
  method: 'POST',
  path: '/api/v2/check-bulk',
  who: 'api-key',
  shape: 'api',
  thread: 'any',
  cost: { quota: 'read', more: 'for each address' },
  headers: ['content-type'],
  body: { types: ['json', 'text', 'bytes'], bytesMax: bodyBytesMax, takesGzip: true },
  errors: [],
  robots: 'disallow',
  docs: {
    id: 'checkBulk',
    tag: 'IP API',
    summary: `Up to ${bulkAddressesMax} addresses at once. Costs one read an address.`,
    query: { family: option(v.picklist([4, 6]), 'Of a body of bytes, which needs it.') },
    requestBody: {
      required: true,
      content: {
        'text/plain': { schema: text('One address a line.') },
        [jsonMedia]: { schema: addressList },
        [bytesType[1]]: {
          schema: bytesOf(
            16 * bulkAddressesMax,
            '4 or 16 bytes an address, as `family` says, in network byte order.',
          ),
        },
      },
    },
    answers: {
      200: answer(
        'In the order asked: an object to an array, objects in lines to lines, bytes to bytes.',
        {
          ...media(v.strictObject({ data: v.array(BulkCheckResult) })),
          ...media(BulkCheckResult, 'application/x-ndjson'),
          ...media(
            bytesOf(
              4 * bulkAddressesMax,
              '4 bytes an address: the score; flags (1 malicious, 2 isAnon, 4 isWhitelisted); the number of reports in two bytes, the higher first, at most 65,535.',
            ),
            bytesType[1],
          ),
        },
      ),
    },
    schemas: { SummaryFields, BulkCheckResult },
  },
});

/** The addresses as they came, checked but for their grammar. */
type Asked = { readonly count: number } & (
  | { readonly form: 'json'; readonly texts: readonly string[] }
  /** Their bounds are in `bounds`, until the next request is read. */
  | { readonly form: 'lines'; readonly body: Uint8Array }
  | { readonly form: 'bytes'; readonly body: Uint8Array; readonly family: IpFamily }
);

interface Piece {
  readonly bytes: Buffer;
  readonly view: DataView;
}

export function checkBulkRoute(options: {
  guard: Guard;
  many: ManyChecks;
  clock: Clock;
}): PlainRoute {
  const { guard, many, clock } = options;

  /** Writes a row for each address. @param textAt the text of the nth, for those that are none */
  function rowsAnswer(
    count: number,
    around: readonly [string, number, string],
    read: (i: number, words: Uint32Array) => 0 | IpFamily,
    textAt: (i: number) => string,
  ): Uint8Array[] {
    const nowMs = clock.now();
    return inPieces(count, around, ({ bytes, view }, at, i) => {
      const n = i % blockAddresses;
      if (n === 0) {
        const inBlock = Math.min(blockAddresses, count - i);
        many.readBlock(inBlock, (m, words) => read(i + m, words));
        many.readPlaces(inBlock);
      }
      if (many.families[n] !== 0) return many.writeSummary(view, at, n, nowMs);
      return at + bytes.write(invalid(textAt(i)), at);
    });
  }

  function linesAnswer(body: Uint8Array, count: number): Uint8Array[] {
    return rowsAnswer(
      count,
      ['', newLine, '\n'],
      (i, words) => parseIpBytes(body, bounds[2 * i]!, bounds[2 * i + 1]!, words),
      (i) => textOf(body, bounds[2 * i]!, bounds[2 * i + 1]!),
    );
  }

  function jsonAnswer(texts: readonly string[]): Uint8Array[] {
    return rowsAnswer(
      texts.length,
      ['{"data":[', comma, ']}'],
      (i, words) => parseIp(texts[i]!, words),
      (i) => texts[i]!,
    );
  }

  function bytesAnswer(body: Uint8Array, family: IpFamily, count: number): Uint8Array {
    const nowMs = clock.now();
    const size = family === 4 ? 4 : 16;
    const answer = Buffer.allocUnsafe(answerBytes * count);
    for (let from = 0; from < count; from += blockAddresses) {
      const inBlock = Math.min(blockAddresses, count - from);
      many.readBlock(inBlock, (n, words) => readIpBytes(family, body, size * (from + n), words));
      for (let n = 0; n < inBlock; n++) {
        writeVerdict(answer, answerBytes * (from + n), many.judge(n, nowMs));
      }
    }
    return answer;
  }

  return guard.keyed(
    checkBulkEndpoint,
    readAddresses,
    (asked, call) => {
      const reply = (type: Header, body: Uint8Array | Uint8Array[]) => ({
        status: 200,
        headers: [type, noStore, ...call.headers],
        body,
      });
      switch (asked.form) {
        case 'json':
          return reply(jsonType, jsonAnswer(asked.texts));
        case 'lines':
          return reply(linesType, linesAnswer(asked.body, asked.count));
        case 'bytes':
          return reply(bytesType, bytesAnswer(asked.body, asked.family, asked.count));
      }
    },
    ({ count }) => count,
  );
}

/** Writes rows in pieces: what is behind a full one is written into another, so nothing is copied. */
function inPieces(
  count: number,
  [begin, separator, end]: readonly [string, number, string],
  write: (piece: Piece, at: number, row: number) => number,
): Uint8Array[] {
  const room = Math.min(piecesBytes, (count + 1) * rowBytesMax);
  const done: Uint8Array[] = [];
  let piece = pieceOf(room);
  let at = piece.bytes.write(begin);
  for (let i = 0; i < count; i++) {
    if (room - at < rowBytesMax) {
      done.push(piece.bytes.subarray(0, at));
      piece = pieceOf(room);
      at = 0;
    }
    if (i > 0) piece.bytes[at++] = separator;
    at = write(piece, at, i);
  }
  at += piece.bytes.write(end, at);
  done.push(piece.bytes.subarray(0, at));
  return done;
}

function pieceOf(room: number): Piece {
  const bytes = Buffer.allocUnsafe(room);
  return { bytes, view: new DataView(bytes.buffer, bytes.byteOffset, room) };
}

function writeVerdict(bytes: Uint8Array, at: number, verdict: Verdict): void {
  const reports = Math.min(verdict.reports + verdict.listReports, reportsMax);
  bytes[at] = verdict.score;
  bytes[at + 1] =
    (verdict.malicious ? answerFlags.malicious : 0) |
    (verdict.anonymousExit ? answerFlags.isAnon : 0) |
    (verdict.allowlisted || verdict.knownGood ? answerFlags.isWhitelisted : 0);
  bytes[at + 2] = reports >>> 8;
  bytes[at + 3] = reports;
}

function readAddresses(params: Params, request: Request): Result<Asked> {
  const { body } = request;
  const type = firstHeader(request, 'content-type');
  if (isBytes(type)) return readBytes(params.get('family'), body);
  if (params.has('family')) {
    const detail = 'The family parameter belongs to a body of type application/octet-stream.';
    return fail('invalid_parameter', detail, 'family');
  }
  if (!isUtf8(body)) return fail('invalid_parameter', 'The body is not valid UTF-8.', 'body');
  if (mediaType(type) !== 'json' && !isArray(body)) {
    const count = boundLines(body);
    return fault(count) ?? ok({ form: 'lines', count, body });
  }
  const texts = jsonArray(decodeUtf8(body)!);
  if (texts === undefined) {
    return fail('invalid_parameter', 'The body must be a JSON array of strings.', 'body');
  }
  return fault(texts.length) ?? ok({ form: 'json', count: texts.length, texts });
}

function readBytes(family: string | undefined, body: Uint8Array): Result<Asked> {
  if (family !== '4' && family !== '6') {
    const detail = 'The family parameter must be 4 or 6: the family of the addresses.';
    return fail('invalid_parameter', detail, 'family');
  }
  const size = family === '4' ? 4 : 16;
  const count = body.length / size;
  if (!Number.isInteger(count)) {
    const detail = `The body must hold ${size} bytes for each address.`;
    return fail('invalid_parameter', detail, 'body');
  }
  return fault(count) ?? ok({ form: 'bytes', count, body, family: family === '4' ? 4 : 6 });
}

/** Returns the failure of a number of addresses that is not taken. */
function fault(count: number) {
  if (count > 0 && count <= bulkAddressesMax) return undefined;
  const detail =
    count === 0
      ? 'The body must hold at least one address.'
      : `At most ${bulkAddressesMax} addresses may be checked at once.`;
  return fail('invalid_parameter', detail, 'body');
}

const isBytes = (type: string | undefined) =>
  type !== undefined && /^\s*application\/octet-stream\s*(;|$)/i.test(type);

/** Returns whether the text begins as a JSON array does, behind any spaces. */
function isArray(body: Uint8Array): boolean {
  let at = 0;
  while (isSpace(body[at])) at++;
  if (body[at] === 0x5b) return true;
  return body[at]! > 0x7f && textOf(body, at, body.length).trimStart().startsWith('[');
}

/** Start and end of each line of the request at hand that is not empty, without spaces around it. */
const bounds = new Int32Array(2 * bulkAddressesMax);

/** Fills `bounds`. Returns how many lines there are; they are counted on behind the most that fit. */
function boundLines(body: Uint8Array): number {
  let count = 0;
  for (let next = 0; next < body.length; next++) {
    let start = next;
    while (next < body.length && body[next] !== newLine) next++;
    let end = next;
    while (start < end && isSpace(body[start])) start++;
    while (start < end && isSpace(body[end - 1])) end--;
    if (start === end) continue;
    // Other scripts have spaces of their own.
    if (body[start]! > 0x7f || body[end - 1]! > 0x7f) {
      const text = textOf(body, start, end).trimStart();
      start = end - Buffer.byteLength(text);
      end = start + Buffer.byteLength(text.trimEnd());
      if (start === end) continue;
    }
    if (count < bulkAddressesMax) {
      bounds[2 * count] = start;
      bounds[2 * count + 1] = end;
    }
    count++;
  }
  return count;
}

/** Returns whether a byte is a space of ASCII, a line's end among them. */
function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || (byte !== undefined && byte >= 0x09 && byte <= 0x0d);
}

function textOf(body: Uint8Array, start: number, end: number): string {
  return Buffer.from(body.buffer, body.byteOffset + start, end - start).toString('utf8');
}

/** @returns undefined for what is no array of texts */
export function jsonArray(text: string): string[] | undefined {
  // Half a million brackets take a tenth of a second to parse.
  if (isNested(text)) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) && value.every((item) => typeof item === 'string')
      ? value
      : undefined;
  } catch {
    return undefined;
  }
}

/** Returns whether an array or an object stands in an array, outside of its texts. */
function isNested(text: string): boolean {
  const second = text.indexOf('[', text.indexOf('[') + 1);
  if (second === -1 && !text.includes('{')) return false;
  let opened = 0;
  let isInText = false;
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (character === '"') isInText = !isInText;
    else if (isInText && character === '\\') at++;
    else if (!isInText && (character === '[' || character === '{') && ++opened > 1) return true;
  }
  return false;
}

function invalid(text: string): string {
  const shown = JSON.stringify(text.slice(0, echoedCharactersMax));
  return `{"ipAddress":${shown},"error":"This is not a valid IPv4 or IPv6 address."}`;
}
