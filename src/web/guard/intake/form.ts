/**
 * Reads a POST that says it comes from a form (or script) of our own page in the same browser: it
 * checks the origin as the browser states it, where it does, the encoding, and that a token has the
 * right shape. The page builder, which has the session, compares the token.
 */

import { fail, ok, type Result } from '../../../core/result.ts';
import { plainAddress, plainDigits, plainPasted } from '../../../core/text.ts';
import {
  type FormPart,
  mediaType,
  parseForm,
  parseJsonObject,
  readParts,
} from '../../../http/request/body.ts';
import { firstHeader, type Request } from '../../../http/request/message.ts';
import type { Params } from '../../../http/request/query.ts';
import { hostOfAuthority, isLoopback } from '../../../ip/loopback.ts';

/** Bound for the body of a urlencoded form. */
export const formBytesMax = 65_536;
const pairsMax = 256;

/**
 * @param baseUrl BASE_URL. A service on plain http is looked at on its own machine, under any of
 *   the machine's names for itself.
 */
export function isOwnOrigin(request: Request, baseUrl: string): boolean {
  const site = firstHeader(request, 'sec-fetch-site');
  if (site !== undefined && site !== 'same-origin') return false;
  const lines = request.headers.origin ?? [];
  if (lines.length === 0) return true;
  const origin = lines[0]!;
  if (lines.length > 1) return false;
  return origin === new URL(baseUrl).origin || origin === askedOrigin(request, baseUrl);
}

/** BASE_URL, or on plain http the loopback name of `Host` by which the service was asked. */
export function askedOrigin(request: Request, baseUrl: string): string {
  const own = new URL(baseUrl);
  const host = firstHeader(request, 'host') ?? '';
  const isLocal = own.protocol === 'http:' && isLoopback(hostOfAuthority(host));
  return isLocal ? `http://${host.toLowerCase()}` : own.origin;
}

/** The shape of every form token (web/guard/request-context.ts, sessions). */
const tokenShape = /^[\w-]{20,90}$/;

/** The fields and the token of a form of ours. */
export interface Sent<T> {
  readonly fields: T;
  /** The token of the form's hidden field; only its shape was checked. */
  readonly csrf: string;
}

export interface FormRules {
  readonly baseUrl: string;
  /** Names that may come more than once. */
  readonly repeatable?: readonly string[];
}

function withToken<T>(fields: T, csrf: unknown): Result<Sent<T>> {
  const isToken = typeof csrf === 'string' && tokenShape.test(csrf);
  return isToken ? ok({ fields, csrf }) : fail('form_expired');
}

/** `foreign_form` for what is not from our page, `form_expired` without a token; `unsupported_media_type`; `bad_request`. */
export function readForm(request: Request, rules: FormRules): Result<Sent<Params>> {
  if (!isOwnOrigin(request, rules.baseUrl)) return fail('foreign_form');
  const type = mediaType(firstHeader(request, 'content-type'));
  if (type !== 'form' && request.body.length > 0) return fail('unsupported_media_type');
  const { repeatable = [] } = rules;
  const form = parseForm(request.body, { pairsMax, repeatable });
  return form.ok ? withToken(asMeant(form.value), form.value.get('csrf')) : fail('bad_request');
}

/** Fields that people paste into: what nobody sees there is not meant. */
const pastedFields = /^(hosts?|domain|client|part|name|url|watches|token|birthdate|postal_code)$/;
const numberFields = /^(code|phone)$/;

function asMeant(form: Params): Params {
  const plain = (name: string, text: string) => {
    if (numberFields.test(name)) return plainDigits(text);
    if (name === 'email' || name === 'mail') return plainAddress(text);
    return pastedFields.test(name) ? linesOf(text) : text;
  };
  return {
    ...form,
    get(name) {
      const text = form.get(name);
      return text === undefined ? undefined : plain(name, text);
    },
    all: (name) => form.all(name).map((text) => plain(name, text)),
  };
}

/** Cleans each line of a field of several lines by itself. */
function linesOf(text: string): string {
  return text.split('\n').map(plainPasted).join('\n');
}

export interface Upload {
  /** First text of a plain field. */
  text(name: string): string | undefined;
  /** The file sent under this name; undefined when none was chosen. */
  file(name: string): FormPart | undefined;
}

/** A multipart form, e.g. with a picture. Its size was bounded by the route. */
export async function readUpload(
  request: Request,
  rules: FormRules,
): Promise<Result<Sent<Upload>>> {
  if (!isOwnOrigin(request, rules.baseUrl)) return fail('foreign_form');
  const parts = await readParts(request.body, firstHeader(request, 'content-type'));
  if (!parts.ok) return parts.error === 'invalid_parameter' ? fail('bad_request') : parts;
  const text = (name: string) => {
    const part = parts.value.find((p) => p.name === name && p.fileName === undefined);
    return part && Buffer.from(part.data).toString('utf8');
  };
  const file = (name: string) =>
    parts.value.find((p) => p.name === name && p.fileName !== undefined && p.data.length > 0);
  return withToken({ text, file }, text('csrf'));
}

export type CallBody = { readonly [name: string]: unknown };

/** JSON of our own scripts, with the token as its `csrf`. */
export function readCall(request: Request, rules: FormRules): Result<Sent<CallBody>> {
  if (!isOwnOrigin(request, rules.baseUrl)) return fail('foreign_form');
  if (mediaType(firstHeader(request, 'content-type')) !== 'json') {
    return fail('unsupported_media_type');
  }
  const body = parseJsonObject(request.body);
  return body.ok ? withToken(body.value, body.value.csrf) : body;
}

/** JSON that a script of ours put into a field of a form. Undefined for what is none. */
export function jsonOf(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}
