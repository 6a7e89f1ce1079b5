/**
 * POST /api/v2/check-bulk: up to 10,000 addresses in one request, one a line or a JSON array.
 * Each address counts against the read quota; the request is refused whole when less is left.
 * A text that is no address gets an error object in its place and does not spoil the others.
 */

import { type Gate, quotaKind } from '../access/gate.ts';
import type { Clock } from '../core/clock.ts';
import { fail, ok, type Result } from '../core/result.ts';
import { decodeUtf8, mediaType } from '../http/body.ts';
import { firstHeader, type Reply, type Request } from '../http/message.ts';
import { parseQuery } from '../http/query.ts';
import type { PlainRoute } from '../http/router.ts';
import type { Check } from '../reputation/check.ts';
import { apiProblem, jsonType, noStore } from './problem.ts';
import { quotaDetail, quotaHeaders } from './quota-headers.ts';

export const bulkAddressesMax = 10_000;
/** 10,000 addresses of 45 characters as JSON strings, with room for spaces. */
const bodyBytesMax = 640 * 1024;
/** A text that isn't an address comes back, up to here. */
const echoedCharactersMax = 60;

export function checkBulkRoute(options: { gate: Gate; check: Check; clock: Clock }): PlainRoute {
  const { gate, check, clock } = options;

  function results(addresses: readonly string[], separator: string): string {
    const nowMs = clock.now();
    let out = '';
    for (let i = 0; i < addresses.length; i++) {
      if (i > 0) out += separator;
      const text = addresses[i]!;
      out += check.json(text, nowMs) ?? invalid(text);
    }
    return out;
  }

  function handle(request: Request): Reply {
    const query = parseQuery(request.query);
    const keyText = firstHeader(request, 'key') ?? (query.ok ? query.value.get('key') : undefined);
    const slot = gate.authenticate(keyText);
    if (slot < 0) return apiProblem(fail('unauthenticated'));
    const asked = readAddresses(request);
    const cost = asked.ok ? asked.value.addresses.length : 1;
    const admitted = gate.spend(slot, quotaKind.read, cost);
    const headers = quotaHeaders(gate.quotas);
    if (!admitted)
      return apiProblem(fail('quota_exceeded', quotaDetail(gate.quotas, 'read')), headers);
    if (!asked.ok) return apiProblem(asked, headers);
    const { addresses, asJson } = asked.value;
    return {
      status: 200,
      headers: [asJson ? jsonType : ['Content-Type', 'application/x-ndjson'], noStore, ...headers],
      body: asJson ? `{"data":[${results(addresses, ',')}]}` : `${results(addresses, '\n')}\n`,
    };
  }

  return {
    kind: 'plain',
    method: 'POST',
    path: '/api/v2/check-bulk',
    headers: ['key', 'content-type'],
    bodyBytesMax,
    handle,
  };
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
