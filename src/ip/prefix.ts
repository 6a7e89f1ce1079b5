/**
 * Prefixes (CIDR) and address ranges. Words are left-aligned for both families: an IPv4 prefix
 * holds its address in `words[0]` and zeros behind it, so one piece of bit arithmetic serves
 * lengths 0..32 and 0..128 alike. A prefix made here never has host bits set.
 */

import { fail, ok, type Result } from '../core/result.ts';
import {
  formatIp,
  type IpFamily,
  type IpWords,
  ipTextLengthMax,
  parseIp,
  wordCountOf,
} from './address.ts';

export interface Prefix extends IpWords {
  /** 0..32 or 0..128. */
  readonly length: number;
}

export interface IpRange {
  readonly family: IpFamily;
  readonly first: Uint32Array;
  /** Inclusive. */
  readonly last: Uint32Array;
}

/** The treatment of "10.0.0.1/8": refuse it, or read it as 10.0.0.0/8. */
type HostBits = 'refuse' | 'mask';

export function widthOf(family: IpFamily): 32 | 128 {
  return family === 4 ? 32 : 128;
}

/** Bits of word `index` that belong to a prefix of `length` bits. */
function wordMask(index: number, length: number): number {
  const bits = length - 32 * index;
  if (bits <= 0) return 0;
  return bits >= 32 ? 0xffffffff : (0xffffffff << (32 - bits)) >>> 0;
}

/** Clears, in place, every bit behind the first `length`. */
export function maskWords(family: IpFamily, words: Uint32Array, length: number): void {
  const count = wordCountOf(family);
  for (let i = 0; i < count; i++) words[i] = (words[i]! & wordMask(i, length)) >>> 0;
}

/**
 * Parses "a.b.c.d", "a.b.c.d/n" and the same for IPv6; a bare address is a full-length prefix. A mask in the form
 * of an address, such as 255.255.255.0, may stand for the length; one with holes, or a wildcard, is refused.
 * An IPv4-mapped prefix of 96 + n bits is the IPv4 prefix of n bits; a shorter one stays IPv6.
 * Errors: `invalid_prefix`; `prefix_host_bits` when host bits are set and are to be refused.
 */
export function parsePrefix(text: string, hostBits: HostBits = 'refuse'): Result<Prefix> {
  if (text.length > 2 * ipTextLengthMax + 1)
    return fail('invalid_prefix', 'The prefix is too long.');
  const slash = text.indexOf('/');
  const address = slash < 0 ? text : text.slice(0, slash);
  const words = new Uint32Array(4);
  let family = parseIp(address, words);
  if (family === 0) return fail('invalid_prefix', 'The address of the prefix is not valid.');
  const textWidth = address.includes(':') ? 128 : 32;
  let length = slash < 0 ? textWidth : parseLength(text, slash + 1);
  if (length < 0 && isMaskText(text, slash)) {
    const mask = maskLength(text.slice(slash + 1), textWidth);
    if (!mask.ok) return mask;
    length = mask.value;
  }
  if (length < 0 || length > textWidth) {
    return fail('invalid_prefix', `The prefix length must be a number from 0 to ${textWidth}.`);
  }
  if (family === 4 && textWidth === 128) {
    if (length >= 96) length -= 96;
    else {
      words.set([0, 0, 0xffff, words[0]!]);
      family = 6;
    }
  }
  const masked = words.slice();
  maskWords(family, masked, length);
  if (hostBits === 'refuse' && compareWords(masked, words) !== 0) {
    return fail('prefix_host_bits', 'The prefix has bits set behind its length.');
  }
  return ok({ family, words: masked, length });
}

function isMaskText(text: string, slash: number): boolean {
  return text.includes('.', slash + 1) || text.includes(':', slash + 1);
}

/** Bits of a mask that is written as an address. Error: `invalid_prefix`; its detail begins `The mask`. */
function maskLength(text: string, width: 32 | 128): Result<number> {
  const words = new Uint32Array(4);
  const family = parseIp(text, words);
  if (family === 0 || widthOf(family) !== width) {
    return fail('invalid_prefix', 'The mask is no address of the same family.');
  }
  const length = leadingOnes(words, width);
  if (length >= 0) return ok(length);
  const inverted = words.map((word) => ~word >>> 0);
  const bits = leadingOnes(inverted, width);
  if (bits < 0)
    return fail('invalid_prefix', 'The mask has holes: its ones must stand together in front.');
  return fail('invalid_prefix', `The mask is a wildcard: write /${bits} for its network.`);
}

/** -1: others follow the zeros. */
function leadingOnes(words: Uint32Array, width: 32 | 128): number {
  let length = 0;
  for (let i = 0; i < width / 32; i++) length += Math.clz32(~words[i]!);
  const whole = new Uint32Array(4).fill(0xffff_ffff);
  maskWords(width === 32 ? 4 : 6, whole, length);
  for (let i = 0; i < width / 32; i++) if (words[i] !== whole[i]) return -1;
  return length;
}

/** One to three digits without a leading zero, or -1. */
function parseLength(text: string, start: number): number {
  const digits = text.length - start;
  if (digits < 1 || digits > 3) return -1;
  let value = 0;
  for (let i = start; i < text.length; i++) {
    const digit = text.charCodeAt(i) - 0x30;
    if (digit < 0 || digit > 9) return -1;
    value = value * 10 + digit;
  }
  return digits > 1 && text.charCodeAt(start) === 0x30 ? -1 : value;
}

/** "address/length", also for a single host. */
export function formatPrefix(prefix: Prefix): string {
  return `${formatIp(prefix.family, prefix.words)}/${prefix.length}`;
}

/** Formats the prefix, or the address alone where the prefix is a single one. */
export function formatNetwork(prefix: Prefix): string {
  const { family, words, length } = prefix;
  return length === widthOf(family) ? formatIp(family, words) : formatPrefix(prefix);
}

/** Returns true when the address lies in the prefix. IPv4 and IPv6 never contain one another. */
export function contains(prefix: Prefix, family: IpFamily, words: Uint32Array): boolean {
  if (prefix.family !== family) return false;
  const count = wordCountOf(family);
  for (let i = 0; i < count; i++) {
    if (((words[i]! ^ prefix.words[i]!) & wordMask(i, prefix.length)) !== 0) return false;
  }
  return true;
}

/** Order of addresses as numbers: negative, 0 or positive. Compares four words. */
export function compareWords(a: Uint32Array, b: Uint32Array): number {
  for (let i = 0; i < 4; i++) {
    const difference = a[i]! - b[i]!;
    if (difference !== 0) return difference;
  }
  return 0;
}

/** Parses "first - last" (spaces optional, both ends inclusive). Error: `invalid_range`. */
export function parseRange(text: string): Result<IpRange> {
  if (text.length > 2 * ipTextLengthMax + 16)
    return fail('invalid_range', 'The range is too long.');
  const dash = text.indexOf('-');
  if (dash < 0) return fail('invalid_range', 'A range is written "first - last".');
  const first = new Uint32Array(4);
  const last = new Uint32Array(4);
  const family = parseIp(trimSpaces(text.slice(0, dash)), first);
  const lastFamily = parseIp(trimSpaces(text.slice(dash + 1)), last);
  if (family === 0 || lastFamily === 0) {
    return fail('invalid_range', 'An end of the range is not a valid address.');
  }
  if (family !== lastFamily) return fail('invalid_range', 'The ends are of different families.');
  if (compareWords(first, last) > 0)
    return fail('invalid_range', 'The range ends before it begins.');
  return ok({ family, first, last });
}

/** Removes spaces at both ends; other white space is not accepted in a range. */
function trimSpaces(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && text.charCodeAt(start) === 0x20) start++;
  while (end > start && text.charCodeAt(end - 1) === 0x20) end--;
  return text.slice(start, end);
}

/**
 * The fewest prefixes that cover `first..last` (inclusive) exactly, in address order: at most
 * 62 for IPv4 and 254 for IPv6. Empty when `last` is before `first`.
 */
export function rangeToPrefixes(family: IpFamily, first: Uint32Array, last: Uint32Array): Prefix[] {
  const count = wordCountOf(family);
  const current = new Uint32Array(4);
  // Left-aligned, an IPv4 range ends with every bit behind its 32 set.
  const limit = new Uint32Array(4).fill(0xffffffff);
  current.set(first.subarray(0, count));
  limit.set(last.subarray(0, count));
  const prefixes: Prefix[] = [];
  const blockEnd = new Uint32Array(4);
  if (compareWords(current, limit) > 0) return prefixes;
  for (;;) {
    const length = widestBlock(current, limit, widthOf(family), blockEnd);
    prefixes.push({ family, words: current.slice(), length });
    if (compareWords(blockEnd, limit) >= 0) return prefixes;
    for (let i = 3; i >= 0; i--) {
      current[i] = blockEnd[i]! + 1;
      if (current[i] !== 0) break;
    }
  }
}

/** Length of the widest aligned block that starts at `start` and ends by `limit`; fills `end`. */
function widestBlock(
  start: Uint32Array,
  limit: Uint32Array,
  width: number,
  end: Uint32Array,
): number {
  for (let length = 0; ; length++) {
    let aligned = true;
    for (let i = 0; i < 4; i++) {
      const host = ~wordMask(i, length) >>> 0;
      if ((start[i]! & host) !== 0) aligned = false;
      end[i] = (start[i]! | host) >>> 0;
    }
    if (length === width || (aligned && compareWords(end, limit) <= 0)) return length;
  }
}

// A network without some ranges inside it, as the fewest networks that make up the rest.

/**
 * Pieces in address order, none when nothing is left: at most one for each bit of each hole.
 * They are made one at a time, so that a long row of them may be broken by other work.
 * @param holes prefixes inside `prefix` or equal to it, in address order, the wider one first
 */
export function withoutHoles(prefix: Prefix, holes: readonly Prefix[]): Generator<Prefix> {
  return rest(prefix, holes, 0, holes.length);
}

/** @param from and `to`: the holes that lie in `prefix` */
function* rest(
  prefix: Prefix,
  holes: readonly Prefix[],
  from: number,
  to: number,
): Generator<Prefix> {
  if (from === to) {
    yield prefix;
    return;
  }
  if (holes[from]!.length <= prefix.length) return;
  const high = halfOf(prefix, 1);
  const middle = firstFrom(high.words, holes, from, to);
  yield* rest(halfOf(prefix, 0), holes, from, middle);
  yield* rest(high, holes, middle, to);
}

/** Number of the first hole that does not begin before `words`. */
function firstFrom(words: Uint32Array, holes: readonly Prefix[], from: number, to: number): number {
  let low = from;
  let high = to;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isBefore(holes[middle]!.words, words)) low = middle + 1;
    else high = middle;
  }
  return low;
}

function isBefore(a: Uint32Array, b: Uint32Array): boolean {
  for (let word = 0; word < 4; word++) {
    if (a[word] !== b[word]) return a[word]! < b[word]!;
  }
  return false;
}

/** Returns the lower half (`bit` 0) of a prefix, or the upper one (1). */
export function halfOf({ family, words, length }: Prefix, bit: 0 | 1): Prefix {
  if (length >= widthOf(family)) throw new RangeError('a host has no halves');
  const half = words.slice();
  if (bit === 1) half[length >>> 5]! |= 1 << (31 - (length & 31));
  maskWords(family, half, length + 1);
  return { family, words: half, length: length + 1 };
}
