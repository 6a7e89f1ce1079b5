/**
 * The reasons why the transport itself refuses a request, in the fixed order 411, 404, 405, 413,
 * 415 (coding), 429, 503, 400. Pure: whether there is a slot is passed in.
 */

import type { ErrorCode } from '../../core/errors.ts';
import type { HttpLimits } from '../limits/limits.ts';
import { type Header, type Problem, problem, type Request } from '../request/message.ts';
import type { Route } from '../router.ts';
import { type Arrival, hasBody } from './wire.ts';

export const notFound = problem('not_found', 404, 'There is nothing at this path.');

const printable = /^[\x21-\x7e]*$/;

/**
 * The first refusal that applies, or undefined.
 * @param busy why there is no slot, if there is none
 */
export function refusalOf(
  arrival: Arrival,
  route: Route | undefined,
  busy: Problem | undefined,
  limits: HttpLimits,
): Problem | undefined {
  const { match, method, path } = arrival;
  if (match === undefined) return notFound;
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
export const storeUnreachable = problem(
  'store_unavailable',
  503,
  'The service can not reach its data at the moment. Please try again later.',
  [['Retry-After', '5']],
);

export function deadlineProblem(): Problem {
  return retryLater('deadline_exceeded', 503, 'There was no answer in time.');
}

// Codings of request bodies (RFC 9110, 8.4): gzip, under its older name too. Any other is refused before the
// body is read, and so is gzip where a route does not take it.

/** The header in which a request names the coding of its body. */
export const codingHeader = 'content-encoding';

/** @returns undefined for a coding that no route takes, or several on top of each other */
export function codingOf(given: string | undefined): 'identity' | 'gzip' | undefined {
  if (given === undefined) return 'identity';
  const codings = given
    .split(',')
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== '' && name !== 'identity');
  if (codings.length === 0) return 'identity';
  const [name] = codings;
  return codings.length === 1 && (name === 'gzip' || name === 'x-gzip') ? 'gzip' : undefined;
}

/** Returns why a body in that coding is refused; undefined when it is taken. */
export function codingRefusal(given: string | undefined, takesGzip: boolean): Problem | undefined {
  const coding = codingOf(given);
  if (coding === 'identity' || (coding === 'gzip' && takesGzip)) return undefined;
  const accepted: Header = ['Accept-Encoding', takesGzip ? 'gzip, identity' : 'identity'];
  const detail = takesGzip
    ? 'The body may be coded with gzip, or not at all.'
    : 'The body must not be compressed here.';
  return problem('unsupported_media_type', 415, detail, [accepted]);
}

/** Returns whether the body of an admitted request is packed with gzip. */
export function isGzip(request: Request): boolean {
  return codingOf(request.headers[codingHeader]?.join(',')) === 'gzip';
}
