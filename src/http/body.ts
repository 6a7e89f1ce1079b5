/**
 * Collected bodies to values: urlencoded forms, JSON objects, multipart parts. The body's
 * size was bounded while it was read; here its shape is bounded too.
 */

import { fail, ok, type Result } from '../core/result.ts';
import { decodeUtf8, repairUtf8 } from '../core/utf8.ts';
import { type Params, parseQuery, type QueryRules } from './query.ts';

export type MediaType = 'form' | 'json' | 'multipart' | 'other' | 'none';

/** The kind of a `Content-Type` value; parameters don't matter here. */
export function mediaType(contentType: string | undefined): MediaType {
  if (contentType === undefined) return 'none';
  const essence = contentType.split(';', 1)[0]!.trim().toLowerCase();
  if (essence === 'application/x-www-form-urlencoded') return 'form';
  if (essence === 'application/json' || essence.endsWith('+json')) return 'json';
  return essence === 'multipart/form-data' ? 'multipart' : 'other';
}

export function parseForm(body: Uint8Array, rules: QueryRules = {}): Result<Params> {
  // A mark in place of a bad byte is refused by the query's own rules, but for repaired names.
  const text = rules.repaired === undefined ? decodeUtf8(body) : repairUtf8(body);
  if (text === undefined) return fail('bad_request', 'The form is not valid UTF-8.');
  return parseQuery(text, { charsMax: Math.max(1, body.length), ...rules });
}

export type JsonObject = { readonly [name: string]: unknown };

export interface JsonRules {
  readonly depthMax?: number;
  /** Objects, arrays and plain values together. */
  readonly valuesMax?: number;
}

/** The top must be an object; `__proto__` is refused at any depth, so copying is safe. */
export function parseJsonObject(body: Uint8Array, rules: JsonRules = {}): Result<JsonObject> {
  const text = decodeUtf8(body);
  if (text === undefined) return fail('bad_request', 'The JSON is not valid UTF-8.');
  // Measured first: the parser itself would go as deep as the text does.
  if (nestingOf(text) > (rules.depthMax ?? 16)) {
    return fail('bad_request', 'The JSON is nested too deeply.');
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return fail('bad_request', 'The JSON is malformed.');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return fail('bad_request', 'The JSON must be an object.');
  }
  if (!isPlainTree(value, rules.valuesMax ?? 10_000)) {
    return fail('bad_request', 'The JSON holds too many values or a forbidden name.');
  }
  return ok(value as JsonObject);
}

/** Deepest nesting of brackets outside of strings. */
function nestingOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  let inString = false;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (inString) {
      if (c === 0x5c) i++;
      else if (c === 0x22) inString = false;
    } else if (c === 0x22) inString = true;
    else if (c === 0x7b || c === 0x5b) deepest = Math.max(deepest, ++depth);
    else if (c === 0x7d || c === 0x5d) depth--;
  }
  return deepest;
}

function isPlainTree(root: object, valuesMax: number): boolean {
  const open: object[] = [root];
  let left = valuesMax;
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (Object.hasOwn(node, '__proto__')) return false;
    const children = Object.values(node);
    left -= children.length;
    if (left < 0) return false;
    for (const child of children) if (typeof child === 'object' && child !== null) open.push(child);
  }
  return true;
}

export interface Part {
  readonly name: string;
  /** Undefined for a plain field. Never a path to use: a label that the client chose. */
  readonly filename: string | undefined;
  readonly contentType: string;
  readonly data: Uint8Array;
}

const partsMax = 64;

/**
 * `multipart/form-data` by the platform's own parser (the one behind `fetch`): memory-safe,
 * kept up by Node, and it holds no more than the bounded body.
 */
export async function parseMultipart(
  body: Uint8Array,
  contentType: string,
): Promise<Result<readonly Part[]>> {
  if (mediaType(contentType) !== 'multipart') {
    return fail('unsupported_media_type', 'multipart/form-data is expected.');
  }
  // A body of nothing but delimiters would make the parser build a part for each.
  if (countOf(body, 'content-disposition') > partsMax) {
    return fail('bad_request', 'The form has too many parts.');
  }
  let form: FormData;
  try {
    const headers = { 'content-type': contentType };
    form = await new Response(Buffer.from(body), { headers }).formData();
  } catch {
    return fail('bad_request', 'The multipart form is malformed.');
  }
  const parts: Part[] = [];
  for (const [name, value] of form) {
    if (typeof value === 'string') {
      const data = Buffer.from(value);
      parts.push({ name, filename: undefined, contentType: 'text/plain', data });
    } else {
      const data = new Uint8Array(await value.arrayBuffer());
      parts.push({ name, filename: value.name, contentType: value.type, data });
    }
  }
  return ok(parts);
}

function countOf(body: Uint8Array, lowerCaseWord: string): number {
  return Buffer.from(body).toString('latin1').toLowerCase().split(lowerCaseWord).length - 1;
}
