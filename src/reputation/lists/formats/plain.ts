/**
 * Formats with an entry a line: plain ones, tables, Tor exits, IPsum and Spamhaus DROP.
 *
 * Plain lists: one address, CIDR, network with mask, or range `first-last` a line, or a line of
 * DShield's; `#` and `;` begin a comment, also behind an entry. Every row has the score given for the list, and
 * its service.
 */

import { wordCountOf } from '../../../ip/address.ts';
import { formatPrefix, type Prefix, parsePrefix, parseRange, widthOf } from '../../../ip/prefix.ts';
import { typedBytes } from '../../../ip/typed-address.ts';
import {
  type ListFormat,
  lineReader,
  parseScore,
  type RowSink,
  serviceNumber,
} from '../import/rows.ts';

// Finds the columns of addresses, ranges, masks and scores in a table without a header by a sample of its rows, so
// that one row decides nothing that the next ones deny. Counts are not taken for scores, nor the start of a range
// for a host; a table that stays unclear is refused, with a request for a header.

export interface Columns {
  address: number;
  /** Column of the last address of a range, -1: none. */
  end: number;
  /** Column of the length or mask of the network, -1: none. */
  mask: number;
  /** Column of the score; -1: none, every row has the list's confidence. */
  score: number;
}

type PlainRow = readonly string[];

/** Undefined: no row has an address. */
export function columnsOfRows(rows: readonly PlainRow[]): Columns | undefined {
  const first = rows.find((row) => row.some(isAddress));
  if (first === undefined) return undefined;
  const address = first.findIndex(isAddress);
  const whole = rows.filter((row) => isAddress(row[address] ?? ''));
  const every = (test: (row: PlainRow) => boolean) => whole.every(test);
  const end = address + 1;
  if (every((row) => isAddress(row[end] ?? '') && networkOf(row[address]!, row[end]!) !== 'mask')) {
    const mask = every((row) => isMask(row[end + 1] ?? '')) ? end + 1 : -1;
    return { address, end, mask, score: -1 };
  }
  const mask = first.findIndex(
    (_, at) => at !== address && every((row) => isMaskOf(row, address, at)),
  );
  const isMasked = mask >= 0 && whole.some((row) => !isWhole(row[address]!, row[mask]!));
  const taken = isMasked ? mask : -1;
  const isFree = (at: number) => at !== address && at !== taken;
  const score = first.findIndex((_, at) => isFree(at) && isScoreColumn(whole, at));
  return { address, end: -1, mask: taken, score };
}

/** The first row decides that it is one, and any greater number that it is a count. */
function isScoreColumn(rows: readonly PlainRow[], at: number): boolean {
  const isCount = (text: string) => /^\d+(?:\.\d+)?$/.test(text) && Number(text) > 100;
  return (
    parseScore(rows[0]?.[at]?.trim() ?? '') !== -1 &&
    !rows.some((row) => isCount(row[at]?.trim() ?? ''))
  );
}

export function isAddress(text: string): boolean {
  return parsePrefix(typedBytes(text), 'mask').ok;
}

function isMask(text: string): boolean {
  return /^\d{1,3}$/.test(text.trim()) || isDottedMask(text);
}

function isDottedMask(text: string): boolean {
  return text.includes('.') && parsePrefix(`0.0.0.0/${text.trim()}`).ok;
}

function networkOf(start: string, next: string): 'mask' | 'other' {
  return isDottedMask(next) && maskedNetwork(start, next)?.ok === true ? 'mask' : 'other';
}

/** A number is a length only where it leaves no bits of the address over: a score seldom does. */
function isMaskOf(row: PlainRow, address: number, at: number): boolean {
  const text = row[at] ?? '';
  return isMask(text) && maskedNetwork(row[address]!, text)?.ok === true;
}

function maskedNetwork(address: string, mask: string) {
  const plain = typedBytes(address);
  return plain.includes('/') ? undefined : parsePrefix(`${plain}/${mask.trim()}`);
}

function isWhole(address: string, mask: string): boolean {
  const network = maskedNetwork(address, mask);
  return network?.ok !== true || network.value.length === widthOf(network.value.family);
}

const disagree = 'start, end and prefix disagree';
const unclear = 'two addresses that are no network: a header must say what they are';

/**
 * Returns the address or range of a row as the sink reads it, or the reason to refuse the row.
 * @param isNamed a header says that the second address is the end of a range
 */
export function namedIn(
  row: PlainRow,
  columns: Columns,
  isNamed: boolean,
): { text: string } | string {
  const start = typedBytes(row[columns.address]?.trim() ?? '');
  if (start === '') return 'no address';
  const end = columns.end < 0 ? '' : typedBytes(row[columns.end]?.trim() ?? '');
  const mask = columns.mask < 0 ? '' : (row[columns.mask]?.trim() ?? '');
  if (end !== '') return spanOf(start, end, mask, isNamed);
  const isPlain = !start.includes('/') && !start.includes('-');
  return { text: isPlain && isMask(mask) ? `${start}/${mask}` : start };
}

/** `start`, `end` and `mask` of one network: `20.1.1.0`, `20.1.1.255`, `24`. */
function spanOf(
  start: string,
  end: string,
  mask: string,
  isNamed: boolean,
): { text: string } | string {
  const range = parseRange(`${start}-${end}`);
  if (!range.ok) return range.detail ?? 'not a range';
  const { family, first, last } = range.value;
  if (isMask(mask)) {
    const network = parsePrefix(`${start}/${mask}`);
    return network.ok && reaches(network.value, last)
      ? { text: formatPrefix(network.value) }
      : disagree;
  }
  if (isNamed) return { text: `${start}-${end}` };
  for (let length = widthOf(family); length > 0; length--) {
    const network = parsePrefix(`${start}/${length}`);
    if (!network.ok) break;
    if (reaches(network.value, last)) return { text: formatPrefix(network.value) };
  }
  return first.every((word, i) => word === last[i]) ? { text: start } : unclear;
}

function reaches({ family, words, length }: Prefix, last: Uint32Array): boolean {
  for (let i = 0; i < wordCountOf(family); i++) {
    const bits = Math.max(0, Math.min(32, length - 32 * i));
    const host = bits === 32 ? 0 : 0xffff_ffff >>> bits;
    if ((words[i]! | host) >>> 0 !== last[i]) return false;
  }
  return true;
}

export const plain: ListFormat = (sink, { confidence, service }) =>
  lineReader(sink, {
    line(raw, number) {
      const text = withoutComment(raw);
      if (text.length === 0) return;
      const reason = sink.entry(networkIn(text), confidence, serviceNumber(service));
      if (reason !== undefined) sink.bad(number, reason, raw);
    },
  });

/** `20.1.1.0 20.1.1.255 24 …`, as DShield writes networks, is one where the three agree. */
function networkIn(text: string): string {
  const [start = '', end = '', length = ''] = text.split(/[ \t]+/, 3);
  if (length === '' || !/^\d{1,3}$/.test(length)) return text;
  const named = spanOf(start, end, length, false);
  return typeof named === 'string' ? text : named.text;
}

/** The entry in front of a `#` or `;` comment, trimmed. */
export function withoutComment(line: string): string {
  const hash = line.indexOf('#');
  const text = hash === -1 ? line : line.slice(0, hash);
  const semicolon = text.indexOf(';');
  return (semicolon === -1 ? text : text.slice(0, semicolon)).trim();
}

// Reads Tor exits, both lists of the Tor Project, recognised line by line: the bulk list (one address
// a line) and `exit-addresses` (`ExitNode`, `Published`, `LastStatus`, `ExitAddress IP date time`).
// Rows carry score 0: to be an exit is a property, not an offence.
// https://check.torproject.org/torbulkexitlist, https://check.torproject.org/exit-addresses

const exitAddress = /^ExitAddress[ \t]+(\S+)(?:[ \t]|$)/;
const otherKeyword = /^(?:ExitNode|Published|LastStatus)(?:[ \t]|$)/;

export const anon: ListFormat = (sink) =>
  lineReader(sink, {
    line(raw, number) {
      const text = withoutComment(raw);
      if (text.length === 0 || otherKeyword.test(text)) return;
      const reason = sink.entry(exitAddress.exec(text)?.[1] ?? text, 0);
      if (reason !== undefined) sink.bad(number, reason, raw);
    },
  });

// IPsum: `IP<TAB>number of blacklists that hold it`, `#` comment lines.
// https://github.com/stamparm/ipsum

/** Score by number of lists: one list alone is weak evidence, eight agree about certainly. */
const scoreByLists = [0, 25, 50, 70, 80, 88, 93, 96, 99] as const;

/** `lists` ≥ 1. */
export function ipsumScore(lists: number): number {
  return scoreByLists[Math.min(lists, 8)]!;
}

export const ipsum: ListFormat = (sink) =>
  lineReader(sink, {
    line(raw, number) {
      const text = raw.trim();
      if (text.length === 0 || text.charCodeAt(0) === 0x23) return;
      const tab = text.indexOf('\t');
      const gap = tab === -1 ? text.indexOf(' ') : tab;
      if (gap === -1) {
        sink.bad(number, 'no number of lists after the address', raw);
        return;
      }
      const count = text.slice(gap + 1).trim();
      if (!/^[1-9]\d{0,5}$/.test(count)) {
        sink.bad(number, 'the number of lists is not a count', raw);
        return;
      }
      const lists = Number(count);
      const reason = sink.entry(text.slice(0, gap).trim(), ipsumScore(lists), lists);
      if (reason !== undefined) sink.bad(number, reason, raw);
    },
  });

// Reads both editions of Spamhaus DROP, recognised line by line. Text: `CIDR ; SBLn`, `;` comments.
// NDJSON: `{"cidr":"…","sblid":"…",…}` a line and one `{"type":"metadata",…}` line at the end.
// https://www.spamhaus.org/blocklists/do-not-route-or-peer/

export const drop: ListFormat = (sink, { confidence }) =>
  lineReader(sink, {
    line(raw, number) {
      const json = raw.trimStart().startsWith('{');
      const text = json ? raw : withoutComment(raw);
      if (text.length === 0) return;
      const reason = json ? jsonLine(text, sink, confidence) : sink.entry(text, confidence);
      if (reason !== undefined) sink.bad(number, reason, raw);
    },
  });

function jsonLine(text: string, sink: RowSink, confidence: number): string | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return 'not JSON';
  }
  const row = value as { cidr?: unknown; type?: unknown };
  if (typeof row.cidr === 'string') return sink.entry(row.cidr, confidence);
  return row.type === 'metadata' ? undefined : 'no "cidr"';
}
