/**
 * Declarations of the routes that the page builder (page-builder.ts) makes: the pages of sign-on,
 * their forms, uploads and the calls of their scripts. What they have in common stands here; a
 * route adds limits and errors.
 */

import type { Access, Endpoint } from './endpoint.ts';
import { formBytesMax } from './intake/form.ts';

/** Headers that every route of sign-on reads. */
export const visitHeaders = [
  'accept-language',
  'content-type',
  'cookie',
  'host',
  'origin',
  'sec-fetch-site',
  'user-agent',
] as const;

export interface SessionEndpoint<A extends Access = Access> extends Endpoint {
  readonly who: A;
  readonly isOfSession: true;
}

type More = Partial<
  Pick<
    Endpoint,
    'limits' | 'handlerLimits' | 'queryCharsMax' | 'noHead' | 'errors' | 'backTo' | 'keepsOpener'
  >
>;

/** JSON of our own scripts: a passkey's answer is the longest. */
const callBytesMax = 131_072;

const common = { isOfSession: true, shape: 'page', thread: 'main', headers: visitHeaders } as const;

export function isSessionEndpoint(declared: Endpoint): declared is SessionEndpoint {
  return 'isOfSession' in declared;
}

/** GET of a page. Crawlers have no business where somebody must be signed in. */
export function sessionPage<A extends Access>(
  path: string,
  who: A,
  { errors = [], ...more }: More = {},
): SessionEndpoint<A> {
  const robots = who === 'anyone' ? {} : ({ robots: 'disallow' } as const);
  return { ...common, method: 'GET', path, who, docs: 'page', ...robots, errors, ...more };
}

function post<A extends Access>(
  path: string,
  who: A,
  body: NonNullable<Endpoint['body']>,
  { errors = [], ...more }: More,
): SessionEndpoint<A> {
  const all = ['unsupported_media_type', 'store_unavailable', ...errors] as const;
  return { ...common, method: 'POST', path, who, docs: 'page', body, errors: all, ...more };
}

/** POST of an urlencoded form. */
export function sessionForm<A extends Access>(
  path: string,
  who: A,
  more: More = {},
): SessionEndpoint<A> {
  return post(path, who, { types: ['form'], bytesMax: formBytesMax }, more);
}

/** POST of a form with a file in it. */
export function sessionUpload<A extends Access>(
  path: string,
  who: A,
  more: More & { readonly bytesMax: number; readonly arrivesWithinMs?: number },
): SessionEndpoint<A> {
  const { bytesMax, arrivesWithinMs, ...others } = more;
  const time = arrivesWithinMs === undefined ? {} : { arrivesWithinMs };
  return post(path, who, { types: ['multipart'], bytesMax, ...time }, others);
}

/** POST of JSON by a script of our own, answered with JSON. */
export function sessionCall<A extends Access>(
  path: string,
  who: A,
  more: More = {},
): SessionEndpoint<A> {
  return post(path, who, { types: ['json-call'], bytesMax: callBytesMax }, more);
}
