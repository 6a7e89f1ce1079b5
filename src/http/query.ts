/**
 * Query strings and urlencoded bodies, parsed in one place. Two readings of one string are
 * a hole, so a repeated name, a bad escape, an encoded NUL or invalid UTF-8 is refused.
 */

import { type Failure, fail, ok, type Result } from '../core/result.ts';

export interface Params {
  /** Undefined if absent; never one of several. */
  get(name: string): string | undefined;
  /** Values of a repeatable name, in order. */
  all(name: string): readonly string[];
  has(name: string): boolean;
  readonly names: readonly string[];
}

export interface QueryRules {
  readonly charsMax?: number;
  readonly pairsMax?: number;
  /** Names that may come more than once, such as `categories[]`. */
  readonly repeatable?: readonly string[];
}

const defaultCharsMax = 4_096;
const defaultPairsMax = 128;

/** Undefined on a bad escape, an encoded NUL or invalid UTF-8. `+` stays a plus. */
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
  const name = decodePlus(eq === -1 ? pair : pair.slice(0, eq));
  if (name === undefined) return fail('invalid_parameter', 'A parameter name is not valid.');
  const value = eq === -1 ? '' : decodePlus(pair.slice(eq + 1));
  if (value === undefined) {
    return fail('invalid_parameter', `The ${name} parameter is not validly encoded.`, name);
  }
  const before = values.get(name);
  if (before === undefined) {
    values.set(name, [value]);
    return undefined;
  }
  if (rules.repeatable?.includes(name) !== true) {
    return fail('invalid_parameter', `The ${name} parameter is given more than once.`, name);
  }
  before.push(value);
  return undefined;
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
