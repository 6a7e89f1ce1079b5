/**
 * An error code on the wire: one status each, one body a family of paths. The switch is
 * exhaustive: a new code doesn't compile before its status is decided here.
 */

import type { ErrorCode } from '../core/errors.ts';
import type { Failure } from '../core/result.ts';
import type { Header, Problem, RenderProblem, Reply, RequestLine } from '../http/message.ts';

export const jsonType: Header = ['Content-Type', 'application/json'];
const textType: Header = ['Content-Type', 'text/plain; charset=utf-8'];
export const noStore: Header = ['Cache-Control', 'no-store'];

/** Seconds that a client should wait when the service can't answer now. */
const retryAfterSeconds = 5;

/** The text that known clients look for. */
export const unauthenticatedDetail =
  'Authentication failed. Your API key is either missing, incorrect, or revoked.';

export function statusOf(code: ErrorCode): number {
  switch (code) {
    case 'bad_request':
    case 'invalid_prefix':
    case 'prefix_host_bits':
    case 'invalid_range':
    case 'invalid_client_id':
    case 'invalid_redirect_uri':
    case 'invalid_request':
    case 'invalid_scope':
    case 'unsupported_response_type':
    case 'invalid_grant':
    case 'login_required':
    case 'consent_required':
    case 'invalid_link':
      return 400;
    case 'unauthenticated':
    case 'sign_in_refused':
      return 401;
    case 'network_too_large':
      return 402;
    case 'forbidden':
    case 'access_denied':
    case 'unknown_transaction':
    case 'reauthentication_required':
    case 'form_expired':
      return 403;
    case 'not_found':
    case 'unknown_account':
    case 'unknown_key':
      return 404;
    case 'method_not_allowed':
      return 405;
    case 'body_timeout':
      return 408;
    case 'conflict':
      return 409;
    case 'body_too_large':
      return 413;
    case 'unsupported_media_type':
      return 415;
    case 'invalid_parameter':
    case 'invalid_code':
    case 'weak_password':
    case 'picture_not_still':
      return 422;
    case 'quota_exceeded':
    case 'address_quota_exceeded':
    case 'duplicate_report':
    case 'client_limit_exceeded':
    case 'too_many_attempts':
      return 429;
    case 'internal':
    case 'geo_source_unusable':
    case 'snapshot_unusable':
    case 'snapshot_not_written':
      return 500;
    case 'store_unavailable':
    case 'capacity_exceeded':
    case 'deadline_exceeded':
    case 'overloaded':
    case 'temporarily_unavailable':
      return 503;
    default:
      code satisfies never;
      return 500;
  }
}

/** What a person reads when the failure itself says nothing better. */
export function detailOf(code: ErrorCode): string {
  switch (code) {
    case 'bad_request':
      return 'The request is malformed.';
    case 'invalid_prefix':
      return 'This is not an address or a network in CIDR notation.';
    case 'prefix_host_bits':
      return 'The network has bits set beyond its length.';
    case 'invalid_range':
      return 'This is not a range of addresses.';
    case 'invalid_client_id':
      return 'The client_id is not the domain of a site.';
    case 'invalid_redirect_uri':
      return 'The redirect_uri is not on the domain of the site.';
    case 'unknown_transaction':
      return 'This form is no longer valid. Please start again from the site.';
    case 'invalid_request':
      return 'A parameter is missing, repeated or malformed.';
    case 'invalid_scope':
      return 'The scope names something that is not offered.';
    case 'unsupported_response_type':
      return 'The response_type must be code.';
    case 'invalid_grant':
      return 'The code is unknown, used or expired.';
    case 'access_denied':
      return 'The sign-on was refused.';
    case 'login_required':
      return 'There is no sign-in.';
    case 'consent_required':
      return 'There is no consent yet.';
    case 'temporarily_unavailable':
      return 'The service is not available at the moment. Please try again later.';
    case 'network_too_large':
      return 'The network is too large to be checked at once.';
    case 'unauthenticated':
      return unauthenticatedDetail;
    case 'sign_in_refused':
      return 'The mail address or the password is wrong.';
    case 'too_many_attempts':
      return 'There were too many attempts. Please wait before the next one.';
    case 'invalid_link':
      return 'This link was used already, has expired, or never existed.';
    case 'invalid_code':
      return 'This code is wrong, was used already, or has expired.';
    case 'weak_password':
      return 'This password is easy to guess.';
    case 'reauthentication_required':
      return 'Please sign in once more before you do this.';
    case 'form_expired':
      return 'This form is no longer valid. Load the page again.';
    case 'forbidden':
      return 'This is not allowed.';
    case 'not_found':
      return 'There is nothing at this address.';
    case 'unknown_account':
      return 'There is no such account.';
    case 'unknown_key':
      return 'There is no such key.';
    case 'method_not_allowed':
      return 'This address does not take that method.';
    case 'body_timeout':
      return 'The request took too long to arrive.';
    case 'conflict':
      return 'This contradicts what is there already.';
    case 'body_too_large':
      return 'The request body is too large.';
    case 'unsupported_media_type':
      return 'The body has a media type that is not understood here.';
    case 'picture_not_still':
      return 'Only a still picture is taken, with nothing behind it in its file.';
    case 'invalid_parameter':
      return 'A parameter is invalid.';
    case 'duplicate_report':
      return 'You can only report the same IP address once in 15 minutes.';
    case 'quota_exceeded':
      return 'The rate limit of this API key is exceeded.';
    case 'address_quota_exceeded':
      return 'The daily limit of new addresses is exceeded.';
    case 'client_limit_exceeded':
      return 'There were too many requests from your address.';
    case 'geo_source_unusable':
    case 'snapshot_unusable':
    case 'snapshot_not_written':
    case 'internal':
      return 'Something went wrong on our side.';
    case 'store_unavailable':
      return 'Nothing can be saved at the moment. Please try again later.';
    case 'capacity_exceeded':
      return 'The service is full.';
    case 'deadline_exceeded':
      return 'The answer took too long.';
    case 'overloaded':
      return 'The service is too busy. Please try again later.';
    default:
      code satisfies never;
      return '';
  }
}

/** `{"errors":[{"detail","status","source":{"parameter"}}]}`, the shape of the API. */
export function apiErrorBody(status: number, detail: string, parameter?: string): string {
  const source = parameter === undefined ? {} : { source: { parameter } };
  return JSON.stringify({ errors: [{ detail, status, ...source }] });
}

/** Reply of an API route to an expected failure. */
export function apiProblem(failure: Failure, headers: readonly Header[] = []): Reply {
  // The API has one status for every fault of a parameter, the shape of an address included.
  const asked = statusOf(failure.error);
  const status = asked === 400 && failure.parameter !== undefined ? 422 : asked;
  const waitSeconds = failure.retryAfterSeconds ?? (status === 503 ? retryAfterSeconds : undefined);
  const retry: Header[] =
    waitSeconds !== undefined && !headers.some(([name]) => name === 'Retry-After')
      ? [['Retry-After', String(waitSeconds)]]
      : [];
  return {
    status,
    headers: [jsonType, noStore, ...headers, ...retry],
    body: apiErrorBody(status, failure.detail ?? detailOf(failure.error), failure.parameter),
  };
}

/** The exchange of codes for profiles: a path of the sign-on, with errors as RFC 6749 has them. */
export const exchangePath = '/api.php';

export const exchangeErrors = [
  'invalid_grant',
  'invalid_request',
  'temporarily_unavailable',
] as const satisfies readonly ErrorCode[];

/** `{"error","error_description"}`; a code that RFC 6749 doesn't know becomes the nearest it does. */
export function exchangeRefusal(
  code: ErrorCode,
  status: number,
  detail: string,
  headers: readonly Header[] = [],
): Reply {
  const nearest = status >= 500 || status === 429 ? 'temporarily_unavailable' : 'invalid_request';
  const error: (typeof exchangeErrors)[number] = code === 'invalid_grant' ? code : nearest;
  return {
    status,
    headers: [jsonType, noStore, ...headers],
    body: JSON.stringify({ error, error_description: detail }),
  };
}

/** All that a CAPTCHA route says when it says no, whatever the reason: the status tells the rest. */
export const captchaRefusal = '{"ok":false}';

/** Libraries for other services look for these names. */
function siteverifyRefusal(status: number): string {
  const isOurs = status >= 500 || status === 429;
  return `{"success":false,"error-codes":["${isOurs ? 'internal-error' : 'bad-request'}"]}`;
}

/** Read by programs alone: their refusals have the shape of the API. */
const jsonPath = /^\/api\/|\.json$|^\/(manifest|readyz)$/;
const siteverifyPath = '/captcha/siteverify';
const captchaPath = /^\/captcha\/(new|verify|receipt|img\/.*|audio\/.*)$/;

/** Reply of a CAPTCHA route to an expected failure. */
export function captchaProblem(failure: Failure, headers: readonly Header[] = []): Reply {
  return { ...apiProblem(failure, headers), body: captchaRefusal };
}

/** A page for people, given by the composition; the transport's own refusals end here too. */
export type RenderErrorPage = (
  status: number,
  detail: string,
) => { html: string; headers: readonly Header[] };

/**
 * How a refusal by the transport looks, by the path it was asked for. The transport adds the
 * problem's own headers (`Allow`, `Retry-After`) itself.
 */
export function createRenderProblem(renderPage: RenderErrorPage) {
  return (problem: Problem, line: RequestLine): Reply => {
    const { status, detail } = problem;
    if (line.path === exchangePath) return exchangeRefusal(problem.code, status, detail);
    if (jsonPath.test(line.path)) {
      return { status, headers: [jsonType, noStore], body: apiErrorBody(status, detail) };
    }
    if (line.path.startsWith('/feeds/')) {
      return { status, headers: [textType, noStore], body: `${detail}\n` };
    }
    if (captchaPath.test(line.path)) {
      return { status, headers: [jsonType, noStore], body: captchaRefusal };
    }
    if (line.path === siteverifyPath) {
      return { status, headers: [jsonType, noStore], body: siteverifyRefusal(status) };
    }
    const page = renderPage(status, detail);
    return { status, headers: page.headers, body: page.html };
  };
}

/** The same look for a failure of a handler that the transport doesn't know of. */
export function renderFailure(render: RenderProblem, failure: Failure, line: RequestLine): Reply {
  const status = statusOf(failure.error);
  const detail = failure.detail ?? detailOf(failure.error);
  const reply = render({ code: failure.error, status, detail, headers: [] }, line);
  if (status !== 503) return reply;
  return { ...reply, headers: [...reply.headers, ['Retry-After', String(retryAfterSeconds)]] };
}
