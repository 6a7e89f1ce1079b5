/**
 * Finds the columns of addresses, ranges, masks and scores in a table without a header by a sample of its rows, so
 * that one row decides nothing that the next ones deny. Counts are not taken for scores, nor the start of a range
 * for a host; a table that stays unclear is refused, with a request for a header.
 */

import { formatPrefix, type Prefix, parsePrefix, parseRange } from '../../../ip/prefix.ts';
import { typedBytes } from '../../../ip/typed.ts';
import { parseScore } from '../import/format.ts';

export interface Columns {
  address: number;
  /** Column of the last address of a range, -1: none. */
  end: number;
  /** Column of the length or mask of the network, -1: none. */
  mask: number;
  /** Column of the score; -1: none, every row has the list's confidence. */
  score: number;
}

type Row = readonly string[];

/** Undefined: no row has an address. */
export function columnsOfRows(rows: readonly Row[]): Columns | undefined {
  const first = rows.find((row) => row.some(isAddress));
  if (first === undefined) return undefined;
  const address = first.findIndex(isAddress);
  const whole = rows.filter((row) => isAddress(row[address] ?? ''));
  const every = (test: (row: Row) => boolean) => whole.every(test);
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
function isScoreColumn(rows: readonly Row[], at: number): boolean {
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
function isMaskOf(row: Row, address: number, at: number): boolean {
  const text = row[at] ?? '';
  return isMask(text) && maskedNetwork(row[address]!, text)?.ok === true;
}

function maskedNetwork(address: string, mask: string) {
  const plain = typedBytes(address);
  return plain.includes('/') ? undefined : parsePrefix(`${plain}/${mask.trim()}`);
}

function isWhole(address: string, mask: string): boolean {
  const network = maskedNetwork(address, mask);
  return network?.ok !== true || network.value.length === (network.value.family === 4 ? 32 : 128);
}

export const disagree = 'start, end and prefix disagree';
export const unclear = 'two addresses that are no network: a header must say what they are';

/**
 * Returns the address or range of a row as the sink reads it, or the reason to refuse the row.
 * @param isNamed a header says that the second address is the end of a range
 */
export function namedIn(row: Row, columns: Columns, isNamed: boolean): { text: string } | string {
  const start = typedBytes(row[columns.address]?.trim() ?? '');
  if (start === '') return 'no address';
  const end = columns.end < 0 ? '' : typedBytes(row[columns.end]?.trim() ?? '');
  const mask = columns.mask < 0 ? '' : (row[columns.mask]?.trim() ?? '');
  if (end !== '') return spanOf(start, end, mask, isNamed);
  const isPlain = !start.includes('/') && !start.includes('-');
  return { text: isPlain && isMask(mask) ? `${start}/${mask}` : start };
}

/** `start`, `end` and `mask` of one network: `20.1.1.0`, `20.1.1.255`, `24`. */
export function spanOf(
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
  for (let length = family === 4 ? 32 : 128; length > 0; length--) {
    const network = parsePrefix(`${start}/${length}`);
    if (!network.ok) break;
    if (reaches(network.value, last)) return { text: formatPrefix(network.value) };
  }
  return first.every((word, i) => word === last[i]) ? { text: start } : unclear;
}

function reaches({ family, words, length }: Prefix, last: Uint32Array): boolean {
  for (let i = 0; i < (family === 4 ? 1 : 4); i++) {
    const bits = Math.max(0, Math.min(32, length - 32 * i));
    const host = bits === 32 ? 0 : 0xffff_ffff >>> bits;
    if ((words[i]! | host) >>> 0 !== last[i]) return false;
  }
  return true;
}
