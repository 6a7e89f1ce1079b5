/**
 * Codings of request bodies (RFC 9110, 8.4): gzip, under its older name too. Any other is refused before the
 * body is read, and so is gzip where a route does not take it.
 */

import { type Header, type Problem, problem, type Request } from './message.ts';

/** The header in which a request names the coding of its body. */
export const codingHeader = 'content-encoding';

/** @returns undefined for a coding that no route takes, or several on top of each other */
export function codingOf(given: string | undefined): 'identity' | 'gzip' | undefined {
  const codings = (given ?? '')
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
