/**
 * GET /api/v2/check, the main job: answered in the turn in which it arrives.
 * Order of refusals: 401 or 403, 429, 422; a refused parameter has cost one read.
 * `verbose` and an explicit `maxAgeInDays` need the store: deferred to check-details.route.ts before
 * anything is spent.
 */

import { otherScope } from '../../access/keys/key-cache.ts';
import { type QuotaGuard, quotaKind } from '../../access/quota/quota-guard.ts';
import type { Clock } from '../../core/clock.ts';
import { unauthenticatedDetail, wrongScopeDetail } from '../../core/errors.ts';
import { renderHead } from '../../http/answer/head.ts';
import type { Header } from '../../http/request/message.ts';
import { parseQuery } from '../../http/request/query.ts';
import type { HotRequest, HotRoute } from '../../http/router.ts';
import { ipTextLengthMax } from '../../ip/address.ts';
import { endpoint, parametersOf, routeFacts } from '../../web/guard/endpoint.ts';
import { ignoredParameters } from '../../web/guard/intake/ignored.ts';
import {
  quotaDetail,
  quotaHeadBytes,
  withQuota,
  withRefusal,
} from '../../web/guard/quota-headers.ts';
import { apiErrorBody, jsonType, noStore } from '../../web/shape.ts';
import { checkDocs } from './check.openapi.ts';
import type { Check } from './check.ts';

const okHead = renderHead(200, [jsonType, noStore]);
const unauthenticatedHead = renderHead(401, [jsonType, noStore]);
const otherScopeHead = renderHead(403, [jsonType, noStore]);
const invalidHead = renderHead(422, [jsonType, noStore]);
const refusedHead = renderHead(429, [jsonType, noStore]);
const unauthenticatedBody = apiErrorBody(401, unauthenticatedDetail);
const otherScopeBody = apiErrorBody(403, wrongScopeDetail('check'));

export const maxAgeDetail = 'The max age in days must be between 1 and 365.';

/** The parameters of a check, or the body of a 422. */
export type AskedCheck = {
  readonly key?: string;
  readonly address?: string;
  readonly refusal?: string;
  readonly needsStore?: true;
  /** Names of parameters that a check does not know. */
  readonly ignored?: Header;
};

const addressFirst = 'ipAddress=';
/** Matches the query that nearly every client sends: one parameter, nothing encoded. */
const plainAddress = /^ipAddress=[0-9A-Fa-f:.]{1,45}$/;

export const checkEndpoint = endpoint({
  method: 'GET',
  path: '/api/v2/check',
  who: 'api-key',
  shape: 'api',
  thread: 'any',
  cost: { quota: 'read' },
  errors: ['overloaded'],
  robots: 'disallow',
  docs: checkDocs,
});

const known = parametersOf(checkEndpoint);

export function checkRoute(options: { gate: QuotaGuard; check: Check; clock: Clock }): HotRoute {
  const { gate, check, clock } = options;

  const headOf = quotaHeadBytes(okHead);

  function handle(request: HotRequest): void {
    const asked = readQuery(request.query);
    if (asked.needsStore) {
      request.defer();
      return;
    }
    const slot = gate.authenticate(request.values[0] ?? asked.key);
    if (slot === otherScope) {
      request.answer(otherScopeHead, otherScopeBody);
      return;
    }
    if (slot < 0) {
      request.answer(unauthenticatedHead, unauthenticatedBody);
      return;
    }
    if (!gate.spend(slot, quotaKind.read, 1)) {
      const body = apiErrorBody(429, quotaDetail(gate.quotas, 'read'));
      request.answer(withRefusal(refusedHead, gate.quotas), body);
      return;
    }
    const body = asked.address === undefined ? undefined : check.body(asked.address, clock.now());
    if (body === undefined) {
      const refusal = asked.refusal ?? invalidAddress('ipAddress');
      request.answer(withQuota(invalidHead, gate.quotas), refusal);
    } else if (asked.ignored === undefined) {
      request.answerBytes(200, headOf(gate.quotas, request.fields), body);
    } else {
      const head = renderHead(200, [jsonType, noStore, asked.ignored]);
      request.answer(withQuota(head, gate.quotas), body);
    }
  }

  return { kind: 'hot', ...routeFacts(checkEndpoint, ['key']), method: 'GET', handle };
}

export function readQuery(query: string): AskedCheck {
  if (plainAddress.test(query)) return { address: query.slice(addressFirst.length) };
  const parsed = parseQuery(query);
  if (!parsed.ok) return { refusal: apiErrorBody(422, parsed.detail ?? '', parsed.parameter) };
  const params = parsed.value;
  const key = params.get('key');
  const withKey = key === undefined ? {} : { key };
  const address = params.get('ipAddress');
  if (address === undefined || address === '') {
    return {
      ...withKey,
      refusal: apiErrorBody(422, addressRequiredDetail, 'ipAddress'),
    };
  }
  const maxAge = params.get('maxAgeInDays');
  if (maxAge !== undefined && !isMaxAge(maxAge)) {
    return { ...withKey, refusal: apiErrorBody(422, maxAgeDetail, 'maxAgeInDays') };
  }
  if (maxAge !== undefined || params.has('verbose')) return { needsStore: true };
  const ignored = ignoredParameters(params.names, known);
  return { ...withKey, address, ...(ignored === undefined ? {} : { ignored }) };
}

export function isMaxAge(text: string): boolean {
  return /^\d{1,3}$/.test(text) && Number(text) >= 1 && Number(text) <= 365;
}

export const invalidAddressDetail = `The ip address must be a valid IPv4 or IPv6 address of at most ${ipTextLengthMax} characters.`;
export const addressRequiredDetail = 'The ip address field is required.';

/** Body of the 422 for text that is not an address. */
function invalidAddress(parameter: string): string {
  return apiErrorBody(422, invalidAddressDetail, parameter);
}
