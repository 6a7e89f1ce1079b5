/**
 * What a site's server asks about a visitor's receipt: POST /captcha/receipt, and POST
 * /captcha/siteverify for libraries written for reCAPTCHA, hCaptcha or Turnstile. Both want an
 * API key of the account that the site key belongs to and cost one read. No CORS: a browser has
 * no business here.
 */

import { type Gate, quotaKind } from '../access/gate.ts';
import type { Receipts } from '../captcha/receipts.ts';
import { type Failure, fail } from '../core/result.ts';
import type { Header, Reply, Request } from '../http/message.ts';
import type { PlainRoute } from '../http/router.ts';
import { type Fields, keyOf, readFields } from './fields.ts';
import { apiProblem, jsonType, noStore } from './problem.ts';
import { quotaHeaders } from './quota-headers.ts';

export interface CaptchaReceiptOptions {
  readonly gate: Gate;
  readonly receipts: Pick<Receipts, 'redeem'>;
  /** Account id by slot. */
  readonly accountOf: (slot: number) => string | undefined;
}

const bodyBytesMax = 16 * 1024;
/** Seconds; with an answer that the library reads as a failure of ours. */
const retryAfter: Header = ['Retry-After', '5'];

export function captchaReceiptRoutes(options: CaptchaReceiptOptions): PlainRoute[] {
  const post = (path: string, handle: PlainRoute['handle']): PlainRoute => ({
    kind: 'plain',
    method: 'POST',
    path,
    headers: ['key', 'content-type'],
    bodyBytesMax,
    handle,
  });
  return [
    post('/captcha/receipt', receiptHandler(options)),
    post('/captcha/siteverify', siteverifyHandler(options)),
  ];
}

/** The status tells why; a receipt that is no good gets 200, whatever is wrong with it. */
function refused(failure: Failure, headers: readonly Header[] = []): Reply {
  return { ...apiProblem(failure, headers), body: '{"ok":false}' };
}

/** Order of refusals: 401, 429, 422, 503. */
function receiptHandler({ gate, receipts, accountOf }: CaptchaReceiptOptions) {
  return async (request: Request): Promise<Reply> => {
    const fields = await readFields(request);
    const secret = fields.ok ? fields.value.text('secret') : undefined;
    const slot = gate.authenticate(keyOf(request, fields) ?? secret);
    const account = slot < 0 ? undefined : accountOf(slot);
    if (account === undefined) return refused(fail('unauthenticated'));
    const admitted = gate.spend(slot, quotaKind.read, 1);
    // Copied at once: the findings belong to the last call, and this handler awaits.
    const headers = quotaHeaders(gate.quotas);
    if (!admitted) return refused(fail('quota_exceeded'), headers);
    if (!fields.ok) return refused(fields, headers);
    const receipt = textOf(fields.value, 'receipt');
    if (receipt === undefined) return refused(fail('invalid_parameter'), headers);
    const redeemed = await receipts.redeem(receipt, account);
    if (!redeemed.ok) return refused(redeemed, headers);
    if (typeof redeemed.value === 'string') return json({ ok: false }, headers);
    const { hostname, origin, siteKey, solvedAt } = redeemed.value;
    const challenge_ts = timeText(solvedAt, '+00:00');
    return json({ ok: true, hostname, origin, sitekey: siteKey, challenge_ts }, headers);
  };
}

/** Names that the libraries know, and `sitekey-secret-mismatch` of hCaptcha. */
export const siteverifyErrors = [
  'missing-input-secret',
  'invalid-input-secret',
  'missing-input-response',
  'invalid-input-response',
  'sitekey-secret-mismatch',
  'timeout-or-duplicate',
  'bad-request',
  'internal-error',
] as const;
type SiteverifyError = (typeof siteverifyErrors)[number];

/**
 * The status is always 200, as with those services: their libraries take any other one for a
 * broken connection and never look at the body.
 */
function siteverifyHandler({ gate, receipts, accountOf }: CaptchaReceiptOptions) {
  return async (request: Request): Promise<Reply> => {
    const fields = await readFields(request);
    if (!fields.ok) return refusal(['bad-request']);
    const secret = textOf(fields.value, 'secret');
    const response = textOf(fields.value, 'response');
    if (secret === undefined) {
      const also: SiteverifyError[] = response === undefined ? ['missing-input-response'] : [];
      return refusal(['missing-input-secret', ...also]);
    }
    const slot = gate.authenticate(secret);
    const account = slot < 0 ? undefined : accountOf(slot);
    if (account === undefined) return refusal(['invalid-input-secret']);
    const admitted = gate.spend(slot, quotaKind.read, 1);
    const headers = quotaHeaders(gate.quotas);
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
        const { hostname, solvedAt } = redeemed.value;
        const challenge_ts = timeText(solvedAt, 'Z');
        return json({ success: true, challenge_ts, hostname, 'error-codes': [] }, headers);
      }
    }
  };
}

/** Undefined for an empty field: libraries send empty ones for settings that were left out. */
function textOf(fields: Fields, name: string): string | undefined {
  const text = fields.text(name);
  return text === '' ? undefined : text;
}

function refusal(errors: readonly SiteverifyError[], headers: readonly Header[] = []): Reply {
  return json({ success: false, 'error-codes': errors }, headers);
}

function json(value: object, headers: readonly Header[]): Reply {
  return { status: 200, headers: [jsonType, noStore, ...headers], body: JSON.stringify(value) };
}

/** ISO 8601 without milliseconds. The API writes `+00:00`; those services write `Z`. */
function timeText(ms: number, zone: 'Z' | '+00:00'): string {
  return new Date(ms).toISOString().replace(/\.\d{3}Z$/, zone);
}
