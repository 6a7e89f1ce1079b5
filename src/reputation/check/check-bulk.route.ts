/**
 * POST /api/v2/check-bulk: up to 10,000 addresses in one request, one a line or a JSON array.
 * Each address counts against the read quota; the request is refused whole when less is left.
 * A text that is no address gets an error object in its place and does not spoil the others.
 */

import type { Clock } from '../../core/clock.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import { decodeUtf8 } from '../../core/text.ts';
import { mediaType } from '../../http/request/body.ts';
import { firstHeader, type Header, type Request } from '../../http/request/message.ts';
import type { PlainRoute } from '../../http/router.ts';
import { endpoint } from '../../web/guard/endpoint.ts';
import type { Guard } from '../../web/guard/guard.ts';
import { jsonType, noStore } from '../../web/shape.ts';
import { bulkAddressesMax, checkBulkDocs } from './check.openapi.ts';
import type { Check } from './check.ts';
import { checkBytesMax } from './check-body.ts';

/** 10,000 addresses of 45 characters as JSON strings, with room for spaces. */
const bodyBytesMax = 640 * 1024;
/** A text that isn't an address comes back, up to here. */
const echoedCharactersMax = 60;
/** A row, what stands between two, and the end of the answer. */
const rowBytesMax = checkBytesMax + 16;
/** Bytes of a piece of the answer: some 400 rows. */
const piecesBytes = 64 * 1024;
const [comma, newLine] = [0x2c, 0x0a];

export const checkBulkEndpoint = endpoint({
  method: 'POST',
  path: '/api/v2/check-bulk',
  who: 'api-key',
  shape: 'api',
  thread: 'any',
  cost: { quota: 'read', more: 'for each address' },
  headers: ['content-type'],
  body: { types: ['json', 'text'], bytesMax: bodyBytesMax, takesGzip: true },
  errors: [],
  robots: 'disallow',
  docs: checkBulkDocs,
});

export function checkBulkRoute(options: { guard: Guard; check: Check; clock: Clock }): PlainRoute {
  const { guard, check, clock } = options;

  /** In pieces: what is behind a full one is written into another, so nothing is copied. */
  function results(addresses: readonly string[], asJson: boolean): Uint8Array[] {
    const nowMs = clock.now();
    const [begin, separator, end] = asJson ? ['{"data":[', comma, ']}'] : ['', newLine, '\n'];
    const done: Uint8Array[] = [];
    const room = Math.min(piecesBytes, (addresses.length + 1) * rowBytesMax);
    let piece = Buffer.allocUnsafe(room);
    let view = new DataView(piece.buffer, piece.byteOffset, room);
    let at = piece.write(begin);
    for (let i = 0; i < addresses.length; i++) {
      if (room - at < rowBytesMax) {
        done.push(piece.subarray(0, at));
        piece = Buffer.allocUnsafe(room);
        view = new DataView(piece.buffer, piece.byteOffset, room);
        at = 0;
      }
      if (i > 0) piece[at++] = separator;
      const text = addresses[i]!;
      const behind = check.writeSummary(view, at, text, nowMs);
      at = behind === at ? at + piece.write(invalid(text), at) : behind;
    }
    at += piece.write(end, at);
    done.push(piece.subarray(0, at));
    return done;
  }

  return guard.keyed(
    checkBulkEndpoint,
    (_params, request) => readAddresses(request),
    ({ addresses, asJson }, call) => {
      const type: Header = asJson ? jsonType : ['Content-Type', 'application/x-ndjson'];
      return {
        status: 200,
        headers: [type, noStore, ...call.headers],
        body: results(addresses, asJson),
      };
    },
    ({ addresses }) => addresses.length,
  );
}

function readAddresses(
  request: Request,
): Result<{ addresses: readonly string[]; asJson: boolean }> {
  const text = decodeUtf8(request.body);
  if (text === undefined) return fail('invalid_parameter', 'The body is not valid UTF-8.', 'body');
  const asJson = mediaType(firstHeader(request, 'content-type')) === 'json' || /^\s*\[/.test(text);
  const addresses = asJson ? jsonArray(text) : lines(text);
  if (addresses === undefined) {
    return fail('invalid_parameter', 'The body must be a JSON array of strings.', 'body');
  }
  if (addresses.length === 0) {
    return fail('invalid_parameter', 'The body must hold at least one address.', 'body');
  }
  if (addresses.length > bulkAddressesMax) {
    return fail(
      'invalid_parameter',
      `At most ${bulkAddressesMax} addresses may be checked at once.`,
      'body',
    );
  }
  return ok({ addresses, asJson });
}

function lines(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

function jsonArray(text: string): string[] | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) && value.every((item) => typeof item === 'string')
      ? value
      : undefined;
  } catch {
    return undefined;
  }
}

function invalid(text: string): string {
  const shown = text.slice(0, echoedCharactersMax);
  return JSON.stringify({ ipAddress: shown, error: 'This is not a valid IPv4 or IPv6 address.' });
}
