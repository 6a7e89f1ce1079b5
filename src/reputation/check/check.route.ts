/**
 * GET /api/v2/check, the main job: answered in the turn in which it arrives.
 * Order of refusals: 401 or 403, 429, 422; a refused parameter has cost one read.
 * `verbose` and an explicit `maxAgeInDays` need the store: deferred to check-details.route.ts before
 * anything is spent.
 */

import * as v from 'valibot';
import { wrongScope } from '../../access/keys/key-table.ts';
import type { RecordRefusal } from '../../access/keys/refused-keys.ts';
import { type QuotaGuard, quotaKind } from '../../access/quota/quota.ts';
import type { Clock } from '../../core/clock.ts';
import { unauthenticatedDetail, wrongScopeDetail } from '../../core/errors.ts';
import { count, dateTime, flag } from '../../core/schema.ts';
import { usageTypes } from '../../geo/usage.ts';
import { type Head, renderHead } from '../../http/answer/head.ts';
import type { Header } from '../../http/request/message.ts';
import { parseQuery } from '../../http/request/query.ts';
import type { HotRequest, HotRoute } from '../../http/router.ts';
import { endpoint, parametersOf, routeFacts } from '../../web/guard/endpoint.ts';
import { quotaDetail, quotaHeadBytes, withQuota, withRefusal } from '../../web/guard/guard.ts';
import { ignoredParameters } from '../../web/guard/intake/form.ts';
import { jsonAnswer } from '../../web/openapi.ts';
import { apiErrorBody, jsonType, noStore } from '../../web/shape.ts';
import { shownEvidence } from '../address/evidence.ts';
import { shownReport } from '../reports/report.ts';
import type { Check } from './check.ts';
import {
  addressRequiredDetail,
  checkedAddress,
  checkSummary,
  daysWithoutLists,
  invalidAddressDetail,
} from './check-schema.ts';

const okHead = renderHead(200, [jsonType, noStore]);
const unauthenticatedHead = renderHead(401, [jsonType, noStore]);
const wrongScopeHead = renderHead(403, [jsonType, noStore]);
const invalidHead = renderHead(422, [jsonType, noStore]);
const refusedHead = renderHead(429, [jsonType, noStore]);
const unauthenticatedBody = apiErrorBody(401, unauthenticatedDetail);
const wrongScopeBody = apiErrorBody(403, wrongScopeDetail('check'));

const maxAgeDetail = 'The max age in days must be between 1 and 365.';

/** The parameters of a check, or the body of a 422. */
type AskedCheck = {
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

const checkMembers = {
  ...checkSummary,
  isPublic: v.boolean(),
  ipVersion: v.picklist([4, 6]),
  isWhitelisted: v.boolean(),
  usageType: v.picklist(usageTypes),
  domain: v.nullable(v.string()),
  hostnames: v.array(v.string()),
  isTor: v.boolean(),
  numDistinctUsers: count,
  lastReportedAt: v.nullable(dateTime),
};
/** Reports in one verbose check. */
export const verboseReportsMax = 10_000;
/** In the order of the bytes that check-body.ts writes. */
export const CheckResult = v.strictObject(checkMembers);
const CheckDetails = v.strictObject({
  ...checkMembers,
  countryName: v.nullable(v.string()),
  crawler: v.nullable(v.string()),
  why: shownEvidence,
  reports: v.pipe(v.array(shownReport), v.maxLength(verboseReportsMax)),
});

export const checkEndpoint = endpoint({
  method: 'GET',
  path: '/api/v2/check',
  who: 'api-key',
  shape: 'api',
  thread: 'any',
  cost: { quota: 'read' },
  errors: ['overloaded'],
  robots: 'disallow',
  docs: {
    id: 'check',
    tag: 'IP API',
    summary: 'What is known of one address. Costs one read.',
    query: {
      ipAddress: checkedAddress,
      maxAgeInDays: v.optional(daysWithoutLists),
      verbose: flag('The country’s name, why the score is what it is, and the reports too.'),
    },
    answers: {
      200: jsonAnswer(
        'The fields; the country’s name, the crawler, `why` and the reports with `verbose`.',
        v.strictObject({ data: v.union([CheckResult, CheckDetails]) }),
      ),
    },
    schemas: { CheckResult, CheckDetails, Report: shownReport },
  },
});

const known = parametersOf(checkEndpoint);

export function checkRoute(options: {
  quotaGuard: QuotaGuard;
  check: Check;
  clock: Clock;
  recordRefusal: RecordRefusal;
}): HotRoute {
  const { quotaGuard, check, clock, recordRefusal } = options;

  const headOf = quotaHeadBytes(okHead);

  function handle(request: HotRequest): void {
    const asked = readQuery(request.query);
    if (asked.needsStore) {
      request.defer();
      return;
    }
    const slot = quotaGuard.authenticate(request.values[0] ?? asked.key);
    if (slot === wrongScope) {
      refuse(request, asked, 403, wrongScopeHead, wrongScopeBody);
      return;
    }
    if (slot < 0) {
      refuse(request, asked, 401, unauthenticatedHead, unauthenticatedBody);
      return;
    }
    if (!quotaGuard.spend(slot, quotaKind.read, 1)) {
      const body = apiErrorBody(429, quotaDetail(quotaGuard.quotas, 'read'));
      refuse(request, asked, 429, withRefusal(refusedHead, quotaGuard.quotas), body);
      return;
    }
    const body =
      asked.address === undefined ? undefined : check.answerBody(asked.address, clock.now());
    if (body === undefined) {
      const refusal = asked.refusal ?? invalidAddress('ipAddress');
      quotaGuard.noteRefused(slot, quotaKind.read, 1);
      refuse(request, asked, 422, withQuota(invalidHead, quotaGuard.quotas), refusal);
    } else if (asked.ignored === undefined) {
      request.answerBytes(200, headOf(quotaGuard.quotas, request.fields), body);
    } else {
      const head = renderHead(200, [jsonType, noStore, asked.ignored]);
      request.answer(withQuota(head, quotaGuard.quotas), body);
    }
  }

  function refuse(
    request: HotRequest,
    { key }: AskedCheck,
    status: number,
    head: Head,
    body: string,
  ): void {
    recordRefusal(request.values[0] ?? key, request.client().ip, status, body);
    request.answer(head, body);
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
    return { ...withKey, refusal: apiErrorBody(422, addressRequiredDetail, 'ipAddress') };
  }
  const maxAge = params.get('maxAgeInDays');
  if (maxAge !== undefined && !isMaxAge(maxAge)) {
    return { ...withKey, refusal: apiErrorBody(422, maxAgeDetail, 'maxAgeInDays') };
  }
  if (maxAge !== undefined || params.has('verbose')) return { needsStore: true };
  const ignored = ignoredParameters(params.names, known);
  return { ...withKey, address, ...(ignored === undefined ? {} : { ignored }) };
}

function isMaxAge(text: string): boolean {
  return /^\d{1,3}$/.test(text) && Number(text) >= 1 && Number(text) <= 365;
}

/** Body of the 422 for text that is not an address. */
function invalidAddress(parameter: string): string {
  return apiErrorBody(422, invalidAddressDetail, parameter);
}
