/**
 * The reasons why the transport itself refuses a request, in the fixed order 411, 404, 405, 413,
 * 415 (coding), 429, 503, 400. Pure: whether there is a slot is passed in.
 */

import type { ErrorCode } from '../../core/errors.ts';
import type { HttpLimits } from '../limits/limits.ts';
import { type Arrival, hasBody } from '../request/arrival.ts';
import { codingRefusal } from '../request/codings.ts';
import { type Header, type Problem, problem } from '../request/message.ts';
import type { Route } from '../router.ts';

export const nothingHere = problem('not_found', 404, 'There is nothing at this path.');

const printable = /^[\x21-\x7e]*$/;

/**
 * The first refusal that applies, or undefined.
 * @param busy why there is no place, if there is none
 */
export function refusalOf(
  arrival: Arrival,
  route: Route | undefined,
  busy: Problem | undefined,
  limits: HttpLimits,
): Problem | undefined {
  const { match, method, path } = arrival;
  if (match === undefined) return nothingHere;
  if (route === undefined) {
    const allow: Header = ['Allow', match.resource.allow];
    return problem('method_not_allowed', 405, `${method} is not possible here.`, [allow]);
  }
  const bytesMax = route.kind === 'hot' ? 0 : (route.bodyBytesMax ?? 0);
  const tolerated = Math.max(bytesMax, limits.strayBodyBytesMax);
  if (arrival.contentLength > tolerated || (arrival.isChunked && bytesMax === 0)) {
    return tooLarge(bytesMax);
  }
  if (bytesMax > 0 && hasBody(arrival)) {
    const refusal = codingRefusal(arrival.contentEncoding, route.takesGzip === true);
    if (refusal !== undefined) return refusal;
  }
  if (busy !== undefined) return busy;
  if (path.length > limits.pathCharsMax || !printable.test(path)) {
    return problem('bad_request', 400, 'The path is too long or holds a character it cannot.');
  }
  const ownQueryMax = route.kind === 'plain' ? route.queryCharsMax : undefined;
  if (arrival.query.length > (ownQueryMax ?? limits.queryCharsMax)) {
    return problem('bad_request', 400, 'The query is too long.');
  }
  if (match.param === undefined) {
    return problem('bad_request', 400, 'The path is not validly percent-encoded.');
  }
  return undefined;
}

/** First of all: where a body ends is known only to a parser that must not be trusted. */
export function lengthRequired(): Problem {
  return problem(
    'length_required',
    411,
    'The body needs a Content-Length; a chunked body is not taken here.',
  );
}

export function tooLarge(bytesMax: number): Problem {
  return problem('body_too_large', 413, `The body may have at most ${bytesMax} bytes.`);
}

export function retryLater(code: ErrorCode, status: number, detail: string): Problem {
  return problem(code, status, detail, [['Retry-After', '1']]);
}

/** The answer while the store can't be reached. */
export const storeOutOfReach = problem(
  'store_unavailable',
  503,
  'The service can not reach its data at the moment. Please try again later.',
  [['Retry-After', '5']],
);

export function missedDeadline(): Problem {
  return retryLater('deadline_exceeded', 503, 'There was no answer in time.');
}
