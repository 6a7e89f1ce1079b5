/**
 * Reads any JSON with addresses: an array of objects, one object a line (NDJSON), or an array of texts. The address
 * is the member at the given path, else the first one whose name says that it is an address, as in a table. A score
 * next to it counts if it is a number from 0 to 100; another number makes the row bad, and a word is ignored. Also
 * reads P2P lists (`name:first-last`), with the rules of plain ones.
 */

import { parseNetworkGroup } from '../../../geo/network-groups.ts';
import { openSystemIndex, type SystemIndex } from '../../../geo/systems/system-index.ts';
import buildSystems from '../../../geo/systems/systems.worker.ts';
import type { TextReader } from '../import/lines.ts';
import {
  BrokenList,
  type FormatOptions,
  type ListFormat,
  lineReader,
  type RowSink,
} from '../import/rows.ts';
import { readJsonElements } from './abuseipdb.ts';
import { namesAddress, namesScore } from './csv.ts';
import { isAddress, withoutComment } from './plain.ts';

/** Objects in objects that are looked into. */
const depthMax = 4;

interface JsonAddress {
  readonly address: string;
  readonly score: number | undefined;
}

export const json: ListFormat = (sink, options) =>
  readJsonElements({
    element: (text, number) => take(text, number, sink, options),
    text: (text, number) => take(text, number, sink, options),
    overlong: (head, number) => sink.bad(number, 'element too long', head),
  });

export const ndjson: ListFormat = (sink, options) =>
  lineReader(sink, {
    line(text, number) {
      if (text.trim() !== '') take(text, number, sink, options);
    },
  });

function take(text: string, number: number, sink: RowSink, options: FormatOptions): void {
  const reason = put(text, sink, options);
  if (reason !== undefined) sink.bad(number, reason, text);
}

function put(text: string, sink: RowSink, { confidence, path }: FormatOptions): string | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return 'not JSON';
  }
  const found =
    typeof value === 'string' ? { address: value, score: undefined } : inObject(value, path);
  if (typeof found === 'string') return found;
  if (found.score === -1) return 'the score is not a number from 0 to 100';
  return sink.entry(found.address, found.score ?? confidence);
}

function inObject(value: unknown, path: string | undefined): JsonAddress | string {
  if (!isObject(value)) return 'not an object';
  const found = path === undefined ? searched(value, depthMax) : atPath(value, path.split('.'));
  return found ?? (path === undefined ? 'no address' : `no text at ${path}`);
}

function atPath(value: object, path: readonly string[]): JsonAddress | undefined {
  let holder: unknown = value;
  for (const name of path.slice(0, -1)) holder = memberOf(holder, name);
  const address = memberOf(holder, path.at(-1)!);
  return typeof address === 'string' ? { address, score: scoreIn(holder) } : undefined;
}

function memberOf(holder: unknown, name: string): unknown {
  return isObject(holder) && Object.hasOwn(holder, name)
    ? (holder as Readonly<Record<string, unknown>>)[name]
    : undefined;
}

/** The members of the object itself go before those of objects in it. */
function searched(value: object, depth: number): JsonAddress | undefined {
  const members = Object.entries(value);
  for (const [name, one] of members) {
    if (typeof one === 'string' && namesAddress(name) && isEntry(one)) {
      return { address: one, score: scoreIn(value) };
    }
  }
  if (depth === 1) return undefined;
  for (const [, one] of members) {
    const found = isObject(one) ? searched(one, depth - 1) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}

function isEntry(text: string): boolean {
  return isAddress(text) || text.split('-').every((part) => isAddress(part.trim()));
}

/** Returns the first score that is one, -1 where only others are, undefined without any. */
function scoreIn(value: unknown): number | undefined {
  let found: number | undefined;
  for (const [name, one] of Object.entries(value as object)) {
    const isNumber = typeof one === 'number' || (typeof one === 'string' && isNumeric.test(one));
    if (!isNumber || !namesScore(name)) continue;
    const number = Number(one);
    if (number >= 0 && number <= 100) return Math.round(number);
    found = -1;
  }
  return found;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const isNumeric = /^\s*[+-]?\d+(?:\.\d*)?\s*$/;

const p2pLine = /^(.*):\s*([\d.]+)\s*-\s*([\d.]+)\s*$/;

export function isP2p(line: string): boolean {
  const [, , first = '', last = ''] = p2pLine.exec(line) ?? [];
  return isAddress(first) && isAddress(last);
}

export const p2p: ListFormat = (sink, { confidence }): TextReader =>
  lineReader(sink, {
    line(raw, number) {
      const text = raw.trim();
      if (text === '' || text.startsWith('#')) return;
      const [, , first, last] = p2pLine.exec(text) ?? [];
      const reason =
        first === undefined ? 'not name:first-last' : sink.entry(`${first}-${last}`, confidence);
      if (reason !== undefined) sink.bad(number, reason, raw);
    },
  });

// Lists of autonomous systems: Spamhaus ASN-DROP, an object with `asn` a line and one of `"type":"metadata"` at the
// end, or `AS64500` a line with comments as in plain lists. Each system counts as all networks that the geo tables
// give it, so a list is in step with them from its next load on. One that has none there is a bad line.

export const isSystemLine = (line: string): boolean => /^AS\d{1,10}\b/i.test(line);

export const asn: ListFormat = (sink, { confidence, systems }) => {
  let index: SystemIndex | undefined;

  function put(text: string): string | undefined {
    const number = text.startsWith('{') ? numberIn(text) : text;
    if (number === 'metadata') return undefined;
    const group = parseNetworkGroup(
      /^\d/.test(number) ? `AS${number}` : (number.split(/\s/, 1)[0] ?? ''),
    );
    if (typeof group !== 'object' || group.kind !== 'system') return 'no number of a system';
    if (systems === undefined) throw new BrokenList('there is no table of autonomous systems');
    index ??= openSystemIndex(buildSystems(systems));
    const { ranges } = index.rangesOf(group.number);
    for (const range of ranges) sink.range(range, confidence);
    return ranges.length === 0 ? 'no network of the system is known' : undefined;
  }

  return lineReader(sink, {
    line(raw, number) {
      const text = raw.trimStart().startsWith('{') ? raw.trim() : withoutComment(raw);
      const reason = text === '' ? undefined : put(text);
      if (reason !== undefined) sink.bad(number, reason, raw);
    },
  });
};

/** Returns the text of the number, empty for an object without one. */
function numberIn(text: string): string {
  try {
    const { asn: number, type } = JSON.parse(text) as { asn?: unknown; type?: unknown };
    if (typeof number === 'number' || typeof number === 'string') return String(number);
    return type === 'metadata' ? 'metadata' : '';
  } catch {
    return '';
  }
}
