/**
 * Reads a POST that says it comes from a form (or script) of our own page in the same browser: it
 * checks the origin as the browser states it, where it does, the encoding, and that a token has the
 * right shape. The page builder, which has the session, compares the token.
 */

import { fail, ok, type Result } from '../../../core/result.ts';
import {
  decodeUtf8,
  plainAddress,
  plainDigits,
  plainPasted,
  repairUtf8,
} from '../../../core/text.ts';
import {
  type FormPart,
  type JsonObject,
  mediaType,
  parseForm,
  parseJsonObject,
  readParts,
} from '../../../http/request/body.ts';
import { firstHeader, type Header, type Request } from '../../../http/request/message.ts';
import {
  listParameterName,
  type Params,
  parseQuery,
  type QueryRules,
} from '../../../http/request/query.ts';
import { hostOfAuthority, isLoopback } from '../../../ip/special.ts';

// Parameters of an API call, wherever a client put them: query, urlencoded form, multipart form
// or JSON. A name that comes from two places, or twice from one, is refused.

export interface Fields {
  /** Text of a parameter; a JSON number as its text. Undefined if absent. */
  text(name: string): string | undefined;
  /** As JSON sent it, or text; an array of a name that came more than once. */
  value(name: string): unknown;
  has(name: string): boolean;
}

/** Names that may come more than once, and as `categories[]` and `categories[0]`. */
const lists = ['categories'];
/**
 * Free text, in which somebody else's words stand: cut inside a character or badly escaped it is
 * repaired. Refused, an attacker could suppress a report by the name that he signs in with.
 */
const repaired = ['comment'];
const rules: QueryRules = { lists, repaired };

/** The key in header, query or form, in this order; it never reaches a log. */
export function keyOf(request: Request, fields: Result<Fields>): string | undefined {
  const inHeader = firstHeader(request, 'key');
  if (inHeader !== undefined) return inHeader;
  if (fields.ok) return fields.value.text('key');
  // Whoever names himself in the query pays for a bad body, and learns what is wrong with it.
  const query = parseQuery(request.query, rules);
  return query.ok ? query.value.get('key') : undefined;
}

/** Both names of the address may come, if they say the same. */
export function addressIn(fields: Fields): Result<string | undefined> {
  const [ip, ipAddress] = [fields.text('ip'), fields.text('ipAddress')];
  if (ip !== undefined && ipAddress !== undefined && ip !== ipAddress) {
    return fail('invalid_parameter', 'The ip and the ipAddress must not differ.', 'ip');
  }
  return ok(ip ?? ipAddress);
}

/** Returns the field that an error about the address names. */
export function addressNameIn(fields: Fields): 'ip' | 'ipAddress' {
  return fields.has('ip') || !fields.has('ipAddress') ? 'ip' : 'ipAddress';
}

/** Only a multipart form is read in steps: of all else the fields are there at once. */
export function readFields(request: Request): Result<Fields> | Promise<Result<Fields>> {
  const values = new Map<string, unknown>();
  if (request.query !== '') {
    const query = parseQuery(request.query, rules);
    if (!query.ok) return query;
    addParams(values, query.value);
  }
  const body = readBody(request);
  return body instanceof Promise
    ? body.then((read) => withBody(values, read))
    : withBody(values, body);
}

function withBody(
  values: Map<string, unknown>,
  body: Result<ReadonlyMap<string, unknown>>,
): Result<Fields> {
  if (!body.ok) return body;
  if (values.size === 0) return ok(fieldsOf(body.value));
  for (const [name, value] of body.value) {
    if (values.has(name)) {
      return fail('invalid_parameter', `The ${name} parameter is given more than once.`, name);
    }
    values.set(name, value);
  }
  return ok(fieldsOf(values));
}

function fieldsOf(values: ReadonlyMap<string, unknown>): Fields {
  return {
    has: (name) => values.has(name),
    value: (name) => values.get(name) ?? values.get(`${name}[]`),
    text(name) {
      const value = values.get(name);
      if (typeof value === 'string') return value;
      return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined;
    },
  };
}

function addParams(values: Map<string, unknown>, params: Params): void {
  for (const name of params.names) {
    const all = params.all(name);
    values.set(name, all.length > 1 ? all : all[0]);
  }
}

type Values = Result<Map<string, unknown>>;

function readBody(request: Request): Values | Promise<Values> {
  const values = new Map<string, unknown>();
  const contentType = firstHeader(request, 'content-type');
  if (request.body.length === 0) return ok(values);
  switch (mediaType(contentType)) {
    case 'json': {
      const json = readJson(request.body);
      return json.ok ? ok(new Map(Object.entries(json.value))) : json;
    }
    case 'multipart':
      return readMultipart(request.body, contentType!);
    case 'form':
    case 'none': {
      const form = parseForm(request.body, { lists, repaired, charsMax: request.body.length });
      if (!form.ok) return fail('invalid_parameter', form.detail, form.parameter ?? 'body');
      addParams(values, form.value);
      return ok(values);
    }
    default:
      return fail('unsupported_media_type', 'Send a form, a multipart form or JSON.');
  }
}

function readJson(body: Uint8Array): Result<JsonObject> {
  const isDamaged = decodeUtf8(body) === undefined;
  const json = parseJsonObject(isDamaged ? Buffer.from(repairUtf8(body)) : body);
  if (!json.ok) return fail('invalid_parameter', json.detail, 'body');
  const others = Object.entries(json.value).filter(([name]) => !repaired.includes(name));
  if (isDamaged && JSON.stringify(others).includes(replacement)) {
    return fail('invalid_parameter', 'The JSON is not valid UTF-8.', 'body');
  }
  return json;
}

/** Replaces bytes that are not UTF-8. */
const replacement = '\ufffd';

async function readMultipart(body: Uint8Array, contentType: string): Promise<Values> {
  // Checked here: the parser puts a replacement character for bad bytes, and reports nothing.
  const isDamaged = decodeUtf8(body) === undefined;
  const parts = await readParts(body, contentType);
  if (!parts.ok) return parts;
  const values = new Map<string, unknown>();
  for (const { name: sent, data } of parts.value) {
    const name = listParameterName(sent, lists);
    const before = values.get(name);
    const text = repairUtf8(data);
    const isSound =
      repaired.includes(name) ||
      !(text.includes('\0') || (isDamaged && text.includes(replacement)));
    const isRepeated = before !== undefined && !lists.includes(name);
    if (!isSound || isRepeated) {
      const detail = `The ${name.slice(0, 60)} parameter is invalid or given twice.`;
      return fail('invalid_parameter', detail, 'body');
    }
    values.set(name, before === undefined ? text : [before, text].flat());
  }
  return ok(values);
}

// Parameters that an endpoint does not know are passed over, but not in silence: their names go back
// in a header, so that a slip of the pen is found. Names come from anybody: they are percent-encoded,
// and a few of them are shown, cut.

const ignoredHeader = 'X-Ignored-Parameters';
const namesMax = 8;
const nameCharsMax = 40;

/** Returns undefined when all names are known. More than `namesMax` end in `...`. */
export function ignoredParameters(
  names: readonly string[],
  known: ReadonlySet<string>,
): Header | undefined {
  const unknown = names.filter((name) => !known.has(name));
  if (unknown.length === 0) return undefined;
  const shown = unknown.slice(0, namesMax).map(encoded);
  if (unknown.length > namesMax) shown.push('...');
  return [ignoredHeader, shown.join(', ')];
}

/** Letters, digits and `-_.!~*'()` stay; a comma does not. An empty name shows as `""`. */
function encoded(name: string): string {
  if (name === '') return '""';
  const characters = Array.from(name.replace(/\p{Surrogate}/gu, '\ufffd'));
  const head = encodeURIComponent(characters.slice(0, nameCharsMax).join(''));
  return characters.length > nameCharsMax ? `${head}...` : head;
}

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
export interface ParsedForm<T = unknown> {
  readonly fields: T;
  /** The token of the form's hidden field; only its shape was checked. */
  readonly csrf: string;
}

interface FormRules {
  readonly baseUrl: string;
  /** Names that may come more than once. */
  readonly repeatable?: readonly string[];
}

function withToken<T>(fields: T, csrf: unknown): Result<ParsedForm<T>> {
  const isToken = typeof csrf === 'string' && tokenShape.test(csrf);
  return isToken ? ok({ fields, csrf }) : fail('form_expired');
}

/**
 * `foreign_form` for what is not from our page, `form_expired` without a token; `unsupported_media_type`;
 * `bad_request`.
 */
export function readForm(request: Request, rules: FormRules): Result<ParsedForm<Params>> {
  if (!isOwnOrigin(request, rules.baseUrl)) return fail('foreign_form');
  const type = mediaType(firstHeader(request, 'content-type'));
  if (type !== 'form' && request.body.length > 0) return fail('unsupported_media_type');
  const { repeatable = [] } = rules;
  const form = parseForm(request.body, { pairsMax, repeatable });
  return form.ok ? withToken(cleaned(form.value), form.value.get('csrf')) : fail('bad_request');
}

/** Fields that people paste into: what nobody sees there is not meant. */
const pastedFields = /^(hosts?|domain|client|part|name|url|watches|token|birthdate|postal_code)$/;
const numberFields = /^(code|phone)$/;

function cleaned(form: Params): Params {
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
): Promise<Result<ParsedForm<Upload>>> {
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
export function readCall(request: Request, rules: FormRules): Result<ParsedForm<CallBody>> {
  if (!isOwnOrigin(request, rules.baseUrl)) return fail('foreign_form');
  if (mediaType(firstHeader(request, 'content-type')) !== 'json') {
    return fail('unsupported_media_type');
  }
  const body = parseJsonObject(request.body);
  return body.ok ? withToken(body.value, body.value.csrf) : body;
}

/** JSON that a script of ours put into a field of a form. Undefined for anything else. */
export function jsonOf(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}
