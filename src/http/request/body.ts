/**
 * Collected bodies to values: urlencoded forms, JSON objects. The body's size was bounded while it
 * was read; here its shape is bounded too.
 */

import { fail, ok, type Result } from '../../core/result.ts';
import { decodeUtf8, repairUtf8 } from '../../core/text.ts';
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
