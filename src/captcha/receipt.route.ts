/**
 * The calls by which a site's server redeems a visitor's receipt: POST /captcha/receipt, and POST or GET
 * /captcha/siteverify for libraries written for reCAPTCHA, hCaptcha or Turnstile. Both want an
 * API key of the account that the site key belongs to and cost one read. No CORS: a browser has
 * no business here.
 */

import * as v from 'valibot';
import { type QuotaGuard, quotaKind } from '../access/quota/quota.ts';
import type { AccountOf } from '../contracts/reputation.ts';
import { fail } from '../core/result.ts';
import { about, dateTime, optionalText, text, uri } from '../core/schema.ts';
import type { Header, Reply, Request } from '../http/request/message.ts';
import type { PlainRoute } from '../http/router.ts';
import type { Callers } from '../web/guard/callers.ts';
import { endpoint } from '../web/guard/endpoint.ts';
import { type Guard, quotaHeaders } from '../web/guard/guard.ts';
import { type Fields, readFields } from '../web/guard/intake/form.ts';
import { errorSchemas, formOrJson, jsonAnswer, siteverifyCodes } from '../web/openapi.ts';
import { jsonReplyOf, type siteverifyErrors } from '../web/shape.ts';
import { captchaTag as tag } from './challenge/challenge.route.ts';
import { type Receipts, siteFaults } from './receipts.ts';
import { levels } from './work/levels.ts';

interface CaptchaReceiptOptions {
  readonly quotaGuard: QuotaGuard;
  readonly guard: Guard;
  readonly receipts: Pick<Receipts, 'redeem' | 'siteFault'>;
  readonly callers: Pick<Callers, 'abuseScoreOf'>;
  readonly accountOf: AccountOf;
}

const bodyBytesMax = 16 * 1024;
/** Seconds; with an answer that the library reads as a failure of ours. */
const retryAfter: Header = ['Retry-After', '5'];

const body = { types: ['form', 'multipart', 'json'], bytesMax: bodyBytesMax } as const;

const passedLevel = about(
  v.picklist(['none', ...levels]),
  'What the visitor passed: nothing, as the address was clean; silent work; an easy or a hard picture.',
);
const Redeemed = v.union([
  v.strictObject({
    ok: v.literal(true),
    hostname: v.string(),
    origin: uri,
    sitekey: v.string(),
    challenge_ts: dateTime,
    solved: about(v.boolean(), 'A picture or a sound was: the level is easy or hard.'),
    level: passedLevel,
  }),
  errorSchemas.CaptchaRefusal,
  v.strictObject({ ok: v.literal(false), sitekey_error: v.picklist(siteFaults) }),
]);

export const receiptEndpoint = endpoint({
  method: 'POST',
  path: '/captcha/receipt',
  who: 'api-key',
  shape: 'captcha',
  thread: 'main',
  cost: { quota: 'read' },
  body,
  errors: ['unsupported_media_type', 'store_unavailable'],
  docs: {
    id: 'redeemReceipt',
    tag,
    summary: 'Redeems a receipt, once. Costs one read.',
    requestBody: formOrJson(
      v.object({
        receipt: v.string(),
        secret: v.optional(v.string()),
        key: v.optional(v.string()),
        sitekey: v.optional(v.string()),
        hostname: v.optional(v.string()),
      }),
    ),
    answers: { 200: jsonAnswer('Good, or not; no reason is given.', Redeemed) },
    schemas: { Redeemed },
  },
});

const siteverifyFields = {
  secret: text('An API key.'),
  response: text('The receipt.'),
  sitekey: optionalText('Optional: the receipt must be of this site key.'),
  remoteip: optionalText("Optional: the visitor's address, for the score."),
};
const Siteverified = v.union([
  v.strictObject({
    success: v.literal(true),
    challenge_ts: dateTime,
    hostname: v.string(),
    score: about(
      v.pipe(v.number(), v.minValue(0), v.maxValue(1)),
      "1 less a hundredth of the abuse score of the visitor's address.",
    ),
    level: passedLevel,
    action: optionalText('As the page sent it; absent when it sent none.'),
    'error-codes': v.pipe(siteverifyCodes, v.maxLength(0)),
  }),
  errorSchemas.SiteverifyRefusal,
]);
const siteverifyAnswers = { 200: jsonAnswer('Also for every refusal of its own.', Siteverified) };

/** Its key is the `secret`, and each of its own refusals has status 200. */
export const siteverifyEndpoint = endpoint({
  method: 'POST',
  path: '/captcha/siteverify',
  who: 'anyone',
  shape: 'siteverify',
  thread: 'main',
  headers: ['key', 'content-type'],
  body,
  errors: [],
  docs: {
    id: 'siteverify',
    tag,
    summary: 'The same for libraries of reCAPTCHA, hCaptcha and Turnstile.',
    requestBody: formOrJson(v.object(siteverifyFields)),
    answers: siteverifyAnswers,
    schemas: { Siteverified },
  },
});

/** Some libraries ask so. Not by HEAD: the answer uses the receipt up. */
export const siteverifyByQueryEndpoint = endpoint({
  method: 'GET',
  path: '/captcha/siteverify',
  who: 'anyone',
  shape: 'siteverify',
  thread: 'main',
  noHead: true,
  robots: 'disallow',
  errors: [],
  docs: {
    id: 'siteverifyByQuery',
    tag,
    summary: 'The same with everything in the query; a POST keeps the key out of logs.',
    query: siteverifyFields,
    answers: siteverifyAnswers,
  },
});

export function captchaReceiptRoutes(options: CaptchaReceiptOptions): PlainRoute[] {
  const { guard } = options;
  const siteverify = siteverifyHandler(options);
  return [
    receiptRoute(options),
    guard.open(siteverifyEndpoint, siteverify),
    guard.open(siteverifyByQueryEndpoint, siteverify),
  ];
}

/** The status gives the reason; a receipt that is not valid gets 200, whatever is wrong with it. */
function receiptRoute({ guard, receipts, accountOf }: CaptchaReceiptOptions): PlainRoute {
  return guard.keyedFields(
    receiptEndpoint,
    async (fields, { slot, headers }) => {
      const account = accountOf(slot);
      if (account === undefined) return fail('unauthenticated');
      const receipt = textOf(fields, 'receipt');
      if (receipt === undefined) return fail('invalid_parameter');
      const siteKey = textOf(fields, 'sitekey');
      const redeemed = await receipts.redeem(receipt, account, undefined, siteKey);
      if (!redeemed.ok) return redeemed;
      if (typeof redeemed.value === 'string') {
        const fault =
          siteKey && (await receipts.siteFault(siteKey, account, textOf(fields, 'hostname')));
        return jsonReplyOf({ ok: false, ...(fault ? { sitekey_error: fault } : {}) }, headers);
      }
      const { hostname, origin, siteKey: sitekey, solvedAt, level } = redeemed.value;
      const challenge_ts = timeText(solvedAt, '+00:00');
      const solved = level === 'easy' || level === 'hard';
      return jsonReplyOf(
        { ok: true, hostname, origin, sitekey, challenge_ts, solved, level },
        headers,
      );
    },
    { keyField: 'secret' },
  );
}

type SiteverifyError = (typeof siteverifyErrors)[number];

/**
 * The status is always 200, as with those services: their libraries take any other one for a broken
 * connection and never read the body.
 */
function siteverifyHandler({ quotaGuard, receipts, callers, accountOf }: CaptchaReceiptOptions) {
  return async (request: Request): Promise<Reply> => {
    const fields = await readFields(request);
    if (!fields.ok) return refusal(['bad-request']);
    const secret = textOf(fields.value, 'secret');
    const response = textOf(fields.value, 'response');
    if (secret === undefined) {
      const also: SiteverifyError[] = response === undefined ? ['missing-input-response'] : [];
      return refusal(['missing-input-secret', ...also]);
    }
    const slot = quotaGuard.authenticate(secret);
    const account = slot < 0 ? undefined : accountOf(slot);
    if (account === undefined) return refusal(['invalid-input-secret']);
    const admitted = quotaGuard.spend(slot, quotaKind.read, 1);
    const headers = quotaHeaders(quotaGuard.quotas);
    if (!admitted) return refusal(['internal-error'], headers);
    if (response === undefined) return refusal(['missing-input-response'], headers);
    const redeemed = await receipts.redeem(response, account, textOf(fields.value, 'sitekey'));
    if (!redeemed.ok) return refusal(['internal-error'], [...headers, retryAfter]);
    switch (redeemed.value) {
      case 'invalid':
        return refusal(['invalid-input-response'], headers);
      case 'wrong_site':
        return refusal(['sitekey-secret-mismatch'], headers);
      case 'spent':
        return refusal(['timeout-or-duplicate'], headers);
      default: {
        const { hostname, solvedAt, abuseScore, action, level } = redeemed.value;
        const challenge_ts = timeText(solvedAt, 'Z');
        // The worse of the two: a proxy may have sent the form, or solved for somebody.
        const clientIp = textOf(fields.value, 'remoteip') ?? '';
        const worst = Math.max(abuseScore, callers.abuseScoreOf({ clientIp }));
        const about = { challenge_ts, hostname, score: (100 - worst) / 100, level };
        const asked = action === '' ? {} : { action };
        return jsonReplyOf({ success: true, ...about, ...asked, 'error-codes': [] }, headers);
      }
    }
  };
}

/** Returns undefined for an empty field: libraries send empty ones for settings that were left out. */
function textOf(fields: Fields, name: string): string | undefined {
  const text = fields.text(name);
  return text === '' ? undefined : text;
}

function refusal(errors: readonly SiteverifyError[], headers: readonly Header[] = []): Reply {
  return jsonReplyOf({ success: false, 'error-codes': errors }, headers);
}

/** ISO 8601 without milliseconds. The API writes `+00:00`; those services write `Z`. */
function timeText(ms: number, zone: 'Z' | '+00:00'): string {
  return new Date(ms).toISOString().replace(/\.\d{3}Z$/, zone);
}
