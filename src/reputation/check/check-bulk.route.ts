/**
 * POST /api/v2/check-bulk: up to 10,000 addresses in one request, one a line, as a JSON array, or as bytes. Each
 * address counts against the read quota; the whole request is refused if less is left. A text that is no address gets
 * an error object in its place and the others are answered; bytes are always addresses.
 *
 * Lines are parsed in the body itself, since a string for each address costs more than the check. Work that takes
 * longer than a turn of the event loop continues in later turns, a block of addresses at a time.
 */

import { isUtf8 } from 'node:buffer';
import * as v from 'valibot';
import type { Verdict } from '../../contracts/reputation.ts';
import type { Clock } from '../../core/clock.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import type { SliceScheduler } from '../../core/scheduling.ts';
import { about, option, text } from '../../core/schema.ts';
import { decodeUtf8 } from '../../core/text.ts';
import type { GeoReader } from '../../geo/reader.ts';
import { mediaType } from '../../http/request/body.ts';
import { firstHeader, type Header, type Request } from '../../http/request/message.ts';
import type { Params } from '../../http/request/query.ts';
import type { Caller, PlainRoute } from '../../http/router.ts';
import type { IndexRead, IndexView } from '../../index/reader.ts';
import { LOOKUPS_MAX } from '../../index/trie/lookup.ts';
import { type IpFamily, parseIp, parseIpBytes, readIpBytes } from '../../ip/address.ts';
import { endpoint } from '../../web/guard/endpoint.ts';
import { type Guard, watchCaller } from '../../web/guard/guard.ts';
import { answer, jsonMedia, media } from '../../web/openapi.ts';
import { jsonType, noStore } from '../../web/shape.ts';
import type { Check } from './check.ts';
import { checkBytesMax } from './check-body.ts';
import { checkSummary } from './check-schema.ts';

/** The most addresses of one request. */
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
type BulkInput = { readonly count: number } & (
  | { readonly form: 'json'; readonly texts: readonly string[] }
  | { readonly form: 'lines'; readonly body: Uint8Array; readonly bounds: Int32Array }
  | { readonly form: 'bytes'; readonly body: Uint8Array; readonly family: IpFamily }
);

interface Piece {
  readonly bytes: Buffer;
  readonly view: DataView;
}

export function checkBulkRoute(options: {
  guard: Guard;
  bulkChecks: BulkChecks;
  clock: Clock;
  /** Shared by all bulks of the thread. */
  scheduler: SliceScheduler;
  inIndexRead?: IndexRead | undefined;
}): PlainRoute {
  const { guard, bulkChecks, clock, scheduler, inIndexRead = (work) => work() } = options;

  /**
   * Does the addresses a block at a time, at once as far as a turn of the event loop goes. It ends early when
   * nobody waits for the answer any more.
   */
  async function inBlocks(
    count: number,
    caller: Caller,
    block: (from: number, inBlock: number) => void,
  ): Promise<void> {
    let isWanted: (() => boolean) | undefined;
    scheduler.beginSlice();
    for (let from = 0; from < count; from += blockAddresses) {
      if (from > 0 && scheduler.shouldYield()) {
        isWanted ??= watchCaller(caller);
        await scheduler.yield();
        if (!isWanted()) return;
      }
      inIndexRead(() => block(from, Math.min(blockAddresses, count - from)));
    }
  }

  /** Writes a row for each address. @param textAt the text of the nth, for those that are none */
  async function rowsAnswer(
    count: number,
    caller: Caller,
    around: readonly [string, number, string],
    read: (i: number, words: Uint32Array) => 0 | IpFamily,
    textAt: (i: number) => string,
  ): Promise<Uint8Array[]> {
    const nowMs = clock.now();
    const rows = createRows(count, around);
    await inBlocks(count, caller, (from, inBlock) => {
      bulkChecks.readBlock(inBlock, (n, words) => read(from + n, words));
      bulkChecks.readPlaces(inBlock);
      for (let n = 0; n < inBlock; n++) {
        rows.add(({ bytes, view }, at) =>
          bulkChecks.families[n] === 0
            ? at + bytes.write(invalid(textAt(from + n)), at)
            : bulkChecks.writeSummary(view, at, n, nowMs),
        );
      }
    });
    return rows.end();
  }

  function linesAnswer(
    body: Uint8Array,
    bounds: Int32Array,
    caller: Caller,
  ): Promise<Uint8Array[]> {
    return rowsAnswer(
      bounds.length / 2,
      caller,
      ['', newLine, '\n'],
      (i, words) => parseIpBytes(body, bounds[2 * i]!, bounds[2 * i + 1]!, words),
      (i) => textOf(body, bounds[2 * i]!, bounds[2 * i + 1]!),
    );
  }

  function jsonAnswer(texts: readonly string[], caller: Caller): Promise<Uint8Array[]> {
    return rowsAnswer(
      texts.length,
      caller,
      ['{"data":[', comma, ']}'],
      (i, words) => parseIp(texts[i]!, words),
      (i) => texts[i]!,
    );
  }

  async function bytesAnswer(
    body: Uint8Array,
    family: IpFamily,
    count: number,
    caller: Caller,
  ): Promise<Uint8Array> {
    const nowMs = clock.now();
    const size = family === 4 ? 4 : 16;
    const answer = Buffer.allocUnsafe(answerBytes * count);
    await inBlocks(count, caller, (from, inBlock) => {
      bulkChecks.readBlock(inBlock, (n, words) =>
        readIpBytes(family, body, size * (from + n), words),
      );
      for (let n = 0; n < inBlock; n++) {
        writeVerdict(answer, answerBytes * (from + n), bulkChecks.judge(n, nowMs));
      }
    });
    return answer;
  }

  return guard.keyed(
    checkBulkEndpoint,
    readAddresses,
    async (asked, call, caller) => {
      const reply = (type: Header, body: Uint8Array | Uint8Array[]) => ({
        status: 200,
        headers: [type, noStore, ...call.headers],
        body,
      });
      switch (asked.form) {
        case 'json':
          return reply(jsonType, await jsonAnswer(asked.texts, caller));
        case 'lines':
          return reply(linesType, await linesAnswer(asked.body, asked.bounds, caller));
        case 'bytes':
          return reply(bytesType, await bytesAnswer(asked.body, asked.family, asked.count, caller));
      }
    },
    ({ count }) => count,
  );
}

/** Writes rows in pieces: what is behind a full one is written into another, so nothing is copied. */
function createRows(count: number, [begin, separator, end]: readonly [string, number, string]) {
  const room = Math.min(piecesBytes, (count + 1) * rowBytesMax);
  const done: Uint8Array[] = [];
  let piece = pieceOf(room);
  let at = piece.bytes.write(begin);
  let isFirst = true;
  return {
    add(write: (piece: Piece, at: number) => number): void {
      if (room - at < rowBytesMax) {
        done.push(piece.bytes.subarray(0, at));
        piece = pieceOf(room);
        at = 0;
      }
      if (!isFirst) piece.bytes[at++] = separator;
      isFirst = false;
      at = write(piece, at);
    },
    end(): Uint8Array[] {
      at += piece.bytes.write(end, at);
      done.push(piece.bytes.subarray(0, at));
      return done;
    },
  };
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

function readAddresses(params: Params, request: Request): Result<BulkInput> {
  const { body } = request;
  const type = firstHeader(request, 'content-type');
  if (isBytes(type)) return readBytes(params.get('family'), body);
  if (params.has('family')) {
    const detail = 'The family parameter belongs to a body of type application/octet-stream.';
    return fail('invalid_parameter', detail, 'family');
  }
  if (!isUtf8(body)) return fail('invalid_parameter', 'The body is not valid UTF-8.', 'body');
  const start = behindSpaces(body, 0);
  if (mediaType(type) !== 'json' && body[start] !== 0x5b) {
    const bounds = boundLines(body, start);
    const count = bounds.length / 2;
    return fault(count) ?? ok({ form: 'lines', count, body, bounds });
  }
  const texts = jsonArray(decodeUtf8(body)!);
  if (texts === 'long') return tooMany;
  if (texts === undefined) {
    return fail('invalid_parameter', 'The body must be a JSON array of strings.', 'body');
  }
  return fault(texts.length) ?? ok({ form: 'json', count: texts.length, texts });
}

function readBytes(family: string | undefined, body: Uint8Array): Result<BulkInput> {
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

const tooMany = fail(
  'invalid_parameter',
  `At most ${bulkAddressesMax} addresses may be checked at once.`,
  'body',
);

/** Returns the failure of a number of addresses that is not taken. */
function fault(count: number) {
  if (count > bulkAddressesMax) return tooMany;
  if (count > 0) return undefined;
  return fail('invalid_parameter', 'The body must hold at least one address.', 'body');
}

const isBytes = (type: string | undefined) =>
  type !== undefined && /^\s*application\/octet-stream\s*(;|$)/i.test(type);

/** Returns the place of the first byte from here on that is no space. */
function behindSpaces(body: Uint8Array, from: number): number {
  let at = from;
  for (;;) {
    while (isSpace(body[at])) at++;
    const wide = body[at]! > 0x7f ? wideSpaceAt(body, at) : 0;
    if (wide === 0) return at;
    at += wide;
  }
}

/** Filled for one request after the other. */
const found = new Int32Array(2 * (bulkAddressesMax + 1));

/**
 * Returns start and end of each line of UTF-8 that is not empty, without the spaces around it; nothing is read
 * behind one line more than are taken.
 */
export function boundLines(body: Uint8Array, from = 0): Int32Array {
  let count = 0;
  let at = behindSpaces(body, from);
  for (; at < body.length && count <= bulkAddressesMax; at = behindSpaces(body, at)) {
    const start = at;
    while (at < body.length && body[at] !== newLine) at++;
    let end = at;
    for (let space = 1; space > 0; end -= space) space = spaceBefore(body, end);
    found[2 * count] = start;
    found[2 * count + 1] = end;
    count++;
  }
  return found.slice(0, 2 * count);
}

/** The spaces of other scripts in three bytes, as a number; the one in two bytes stands in `wideSpaceAt`. */
const wideSpaces = new Set(
  [
    ...'\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff',
  ].map((space) => Buffer.from(space).readUIntBE(0, 3)),
);

/** Returns whether a byte is a space of ASCII, a line's end among them. */
function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || (byte !== undefined && byte >= 0x09 && byte <= 0x0d);
}

/** Returns the bytes of the space beyond ASCII, as `trim` knows spaces, that begins here; 0: none does. */
function wideSpaceAt(body: Uint8Array, at: number): number {
  const byte = body[at]!;
  if (byte === 0xc2) return body[at + 1] === 0xa0 ? 2 : 0;
  if (byte < 0xe1) return 0;
  return wideSpaces.has((byte << 16) | (body[at + 1]! << 8) | body[at + 2]!) ? 3 : 0;
}

/** Returns the bytes of the space that ends here; 0: none does. */
function spaceBefore(body: Uint8Array, end: number): number {
  if (body[end - 1]! <= 0x7f) return isSpace(body[end - 1]) ? 1 : 0;
  for (const bytes of [2, 3]) if (wideSpaceAt(body, end - bytes) === bytes) return bytes;
  return 0;
}

function textOf(body: Uint8Array, start: number, end: number): string {
  return Buffer.from(body.buffer, body.byteOffset + start, end - start).toString('utf8');
}

/** @returns undefined for what is no array of texts, `long` for one of more than are taken */
export function jsonArray(text: string): string[] | 'long' | undefined {
  // Half a million brackets, or as many numbers, take tens of milliseconds to parse.
  const shape = shapeOf(text);
  if (shape !== 'flat') return shape === 'long' ? shape : undefined;
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) && value.every((item) => typeof item === 'string')
      ? value
      : undefined;
  } catch {
    return undefined;
  }
}

/** Looks, outside of the texts, for an array or an object in an array, and for more commas than are taken. */
function shapeOf(text: string): 'nested' | 'long' | 'flat' {
  const second = text.indexOf('[', text.indexOf('[') + 1);
  const isShort = text.length < 2 * bulkAddressesMax;
  if (isShort && second === -1 && !text.includes('{')) return 'flat';
  let opened = 0;
  let commas = 0;
  let isInText = false;
  for (let at = 0; at < text.length; at++) {
    const character = text.charCodeAt(at);
    if (character === 0x22) isInText = !isInText;
    else if (isInText) at += character === 0x5c ? 1 : 0;
    else if (character === comma && ++commas >= bulkAddressesMax) return 'long';
    else if ((character === 0x5b || character === 0x7b) && ++opened > 1) return 'nested';
  }
  return 'flat';
}

function invalid(text: string): string {
  const shown = JSON.stringify(text.slice(0, echoedCharactersMax));
  return `{"ipAddress":${shown},"error":"This is not a valid IPv4 or IPv6 address."}`;
}

// Many addresses judged in one go: they are read in blocks, and what is said of the IPv4 addresses of a block is
// looked up together, since a look-up among a million entries is mostly waiting for memory. Those that more than
// one entry may cover, and IPv6 addresses, are looked up one by one.

/** Addresses of a block. */
const blockAddresses = LOOKUPS_MAX;

export type BulkChecks = ReturnType<typeof openBulkChecks>;

export function openBulkChecks(options: {
  check: Check;
  index: Pick<IndexView, 'sole4'>;
  geo: Pick<GeoReader, 'findMany'>;
}) {
  const { check, index, geo } = options;
  const families = new Uint8Array(blockAddresses);
  /** The first word of each address, and all four of it. */
  const firsts = new Uint32Array(blockAddresses);
  const words = Array.from({ length: blockAddresses }, () => new Uint32Array(4));
  const soles = new Int32Array(blockAddresses);
  const geoIds = new Uint32Array(blockAddresses);

  /**
   * Reads a block, which the next one overwrites.
   * @param read parses the nth address as `parseIp` does
   */
  function readBlock(count: number, read: (n: number, words: Uint32Array) => 0 | IpFamily): void {
    for (let n = 0; n < count; n++) {
      families[n] = read(n, words[n]!);
      firsts[n] = words[n]![0]!;
    }
    index.sole4(firsts, count, soles);
  }

  /** Judges the nth address of the block, which is one. */
  function judge(n: number, nowMs: number): Verdict {
    const sole = soles[n]!;
    if (families[n] === 4 && sole >= 0) return check.judgeSole(sole, nowMs);
    return check.judge(families[n] as IpFamily, words[n]!, nowMs);
  }

  /** Looks up country and provider of the block, which `writeSummary` needs. */
  function readGeo(count: number): void {
    geo.findMany(firsts, count, geoIds);
  }

  /** Does what `Check.writeSummary` does, for the nth address of the block. */
  function writeSummary(view: DataView, at: number, n: number, nowMs: number): number {
    const family = families[n] as IpFamily;
    const geo = family === 4 ? geoIds[n] : undefined;
    return check.writeJudged(view, at, family, words[n]!, judge(n, nowMs), geo);
  }

  return { families, readBlock, readPlaces: readGeo, judge, writeSummary };
}
