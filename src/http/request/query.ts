/**
 * Query strings and urlencoded bodies, parsed in one place. Two readings of one string are
 * a hole, so a repeated name, a bad escape, an encoded NUL or invalid UTF-8 is refused, except where
 * the rules name a list or a free text.
 */

import { type Failure, fail, ok, type Result } from '../../core/result.ts';
import { repairUtf8 } from '../../core/text.ts';

export interface Params {
  /** Returns undefined if absent; never one of several. */
  get(name: string): string | undefined;
  /** Values of a repeatable name, in order. */
  all(name: string): readonly string[];
  has(name: string): boolean;
  readonly names: readonly string[];
}

export interface QueryRules {
  readonly charsMax?: number;
  readonly pairsMax?: number;
  /** Names that may come more than once. */
  readonly repeatable?: readonly string[];
  /** The same, and `name[]` and `name[0]`, as PHP writes lists, are one with `name`. */
  readonly lists?: readonly string[];
  /** Free text: a bad escape stays as it is, what is not UTF-8 becomes U+FFFD, a NUL may come. */
  readonly repaired?: readonly string[];
}

const defaultCharsMax = 4_096;
const defaultPairsMax = 128;

/** Returns undefined on a bad escape, an encoded NUL or invalid UTF-8. `+` stays a plus. */
export function decodeComponent(raw: string): string | undefined {
  if (raw.includes('\0') || raw.includes('\ufffd')) return undefined; // the library's mark for bad UTF-8
  if (!raw.includes('%')) return raw;
  try {
    const text = decodeURIComponent(raw);
    return text.includes('\0') ? undefined : text;
  } catch {
    return undefined;
  }
}

/** `raw` is without the `?`. Fails with `invalid_parameter` and the name at fault. */
export function parseQuery(raw: string, rules: QueryRules = {}): Result<Params> {
  const charsMax = rules.charsMax ?? defaultCharsMax;
  if (raw.length > charsMax) {
    return fail('invalid_parameter', `The query is longer than ${charsMax} characters.`);
  }
  const values = new Map<string, string[]>();
  let pairsLeft = rules.pairsMax ?? defaultPairsMax;
  for (let start = 0; start < raw.length; ) {
    const amp = raw.indexOf('&', start);
    const end = amp === -1 ? raw.length : amp;
    if (end > start) {
      if (pairsLeft-- === 0) return fail('invalid_parameter', 'There are too many parameters.');
      const refused = addPair(values, raw.slice(start, end), rules);
      if (refused !== undefined) return refused;
    }
    start = end + 1;
  }
  return ok(paramsOf(values));
}

function addPair(
  values: Map<string, string[]>,
  pair: string,
  rules: QueryRules,
): Failure | undefined {
  const eq = pair.indexOf('=');
  const decoded = decodePlus(eq === -1 ? pair : pair.slice(0, eq));
  if (decoded === undefined) return fail('invalid_parameter', 'A parameter name is not valid.');
  const name = listParameterName(decoded, rules.lists);
  const isRepaired = rules.repaired?.includes(name) === true;
  const raw = eq === -1 ? '' : pair.slice(eq + 1);
  const value = isRepaired ? repairComponent(raw) : decodePlus(raw);
  if (value === undefined) {
    return fail('invalid_parameter', `The ${name} parameter is not validly encoded.`, name);
  }
  const before = values.get(name);
  if (before === undefined) {
    values.set(name, [value]);
    return undefined;
  }
  const mayRepeat = rules.repeatable?.includes(name) === true || rules.lists?.includes(name);
  if (mayRepeat !== true) {
    return fail('invalid_parameter', `The ${name} parameter is given more than once.`, name);
  }
  before.push(value);
  return undefined;
}

const listPattern = /^([^[\]]{1,60})\[\d{0,6}\]$/;

/** `name[]` and `name[0]` as `name`, if that is one of the lists. */
export function listParameterName(name: string, lists: readonly string[] | undefined): string {
  if (lists === undefined || !name.endsWith(']')) return name;
  const base = listPattern.exec(name)?.[1];
  return base !== undefined && lists.includes(base) ? base : name;
}

function repairComponent(raw: string): string {
  const text = raw.includes('+') ? raw.replaceAll('+', ' ') : raw;
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return repairEscapes(text);
  }
}

function repairEscapes(text: string): string {
  const bytes = Buffer.from(text);
  let length = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] === percent ? hexPair(bytes[at + 1], bytes[at + 2]) : -1;
    bytes[length++] = byte === -1 ? bytes[at]! : byte;
    if (byte !== -1) at += 2;
  }
  return repairUtf8(bytes.subarray(0, length));
}

const percent = 0x25;

/** -1: not two hexadecimal digits. */
function hexPair(high: number | undefined, low: number | undefined): number {
  if (high === undefined || low === undefined) return -1;
  const text = String.fromCharCode(high, low);
  return /^[0-9A-Fa-f]{2}$/.test(text) ? Number.parseInt(text, 16) : -1;
}

function decodePlus(raw: string): string | undefined {
  return decodeComponent(raw.includes('+') ? raw.replaceAll('+', ' ') : raw);
}

function paramsOf(values: ReadonlyMap<string, readonly string[]>): Params {
  return {
    get: (name) => values.get(name)?.[0],
    all: (name) => values.get(name) ?? [],
    has: (name) => values.has(name),
    names: [...values.keys()],
  };
}
