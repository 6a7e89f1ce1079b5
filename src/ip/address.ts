/**
 * Strict IP text to 32-bit words and back. One text means one host, or nothing:
 * no leading zeros ("010" must not mean two hosts), no short forms ("127.1"), no octal or hex
 * IPv4, no zone ids, brackets, spaces or non-ASCII. An IPv4-mapped IPv6 address, however
 * spelled, is the IPv4 address. Nothing is allocated while parsing, and no input makes the
 * parser read more than 45 characters, none of them more than three times.
 *
 * `address-bytes.ts` is the same grammar over bytes: copying text into bytes first would cost
 * as much again as the whole parse, so the two loops stand side by side and every test runs both.
 */

import { groups, hexValue, storeGroups } from './address-bytes.ts';

export { parseIpBytes, readIpBytes } from './address-bytes.ts';

export type IpFamily = 4 | 6;

/** Longest text of an address: six full groups and a full dotted quad. */
export const ipTextLengthMax = 45;

const DOT = 0x2e;
const COLON = 0x3a;

/**
 * Parses `text`. Returns the family, or 0 when it is not an address; `words` (at least 4 long)
 * is then left as it was. IPv4 fills `words[0]` only; IPv6 fills `words[0..3]`, highest first.
 * About 50 ns for IPv4 and 110 ns for IPv6.
 */
export function parseIp(text: string, words: Uint32Array): 0 | IpFamily {
  const length = text.length;
  if (length < 2 || length > ipTextLengthMax) return 0;
  const quad = parseQuad(text, 0);
  if (quad >= 0) {
    words[0] = quad;
    return 4;
  }
  return parseGroups(text, words);
}

/** The dotted quad from `start` to the end as an unsigned number, or -1. */
function parseQuad(text: string, start: number): number {
  const end = text.length;
  if (end - start > 15 || end - start < 7) return -1;
  let i = start;
  let value = 0;
  for (let dots = 0; ; dots++) {
    let octet = text.charCodeAt(i++) - 0x30;
    if (octet < 0 || octet > 9) return -1;
    for (let more = 0; more < 2 && i < end; more++) {
      const digit = text.charCodeAt(i) - 0x30;
      if (digit < 0 || digit > 9) break;
      // A digit after a lone 0 would be a leading zero.
      if (octet === 0) return -1;
      octet = octet * 10 + digit;
      i++;
    }
    if (octet > 255) return -1;
    value = (value << 8) | octet;
    if (dots === 3) return i === end ? value >>> 0 : -1;
    if (i + 1 >= end || text.charCodeAt(i++) !== DOT) return -1;
  }
}

/** IPv6 text of at least two characters. `gap` is the number of groups before `::`, or -1. */
function parseGroups(text: string, words: Uint32Array): 0 | IpFamily {
  const end = text.length;
  let count = 0;
  let gap = -1;
  let i = 0;
  if (text.charCodeAt(0) === COLON) {
    if (text.charCodeAt(1) !== COLON) return 0;
    gap = 0;
    i = 2;
  }
  let value = 0;
  let digits = 0;
  for (; i < end; i++) {
    const code = text.charCodeAt(i);
    const digit = hexValue[code]!;
    if (digit >= 0) {
      value = (value << 4) | digit;
      digits++;
    } else if (code === COLON) {
      if (digits === 0) {
        if (gap >= 0) return 0;
        gap = count;
      } else {
        if (digits > 4 || count === 8) return 0;
        groups[count++] = value;
        value = 0;
        digits = 0;
      }
    } else {
      const quad = code === DOT && count <= 6 ? parseQuad(text, i - digits) : -1;
      if (quad < 0) return 0;
      groups[count++] = quad >>> 16;
      groups[count++] = quad & 0xffff;
      return storeGroups(gap, count, words);
    }
  }
  if (digits > 0) {
    if (digits > 4 || count === 8) return 0;
    groups[count++] = value;
  } else if (gap !== count) {
    // The text ends with a single colon.
    return 0;
  }
  return storeGroups(gap, count, words);
}

const decimal = Array.from({ length: 256 }, (_, i) => String(i));
const hexShort = Array.from({ length: 256 }, (_, i) => i.toString(16));
const hexPadded = Array.from({ length: 256 }, (_, i) => i.toString(16).padStart(2, '0'));

function groupText(group: number): string {
  return group < 256 ? hexShort[group]! : hexShort[group >>> 8]! + hexPadded[group & 0xff]!;
}

/**
 * The canonical text: dotted quad for family 4; RFC 5952 for family 6 (lower case, the longest
 * run of two or more zero groups as `::`, the first of equal runs, never a dotted quad).
 */
export function formatIp(family: IpFamily, words: Uint32Array): string {
  if (family === 4) {
    const w = words[0]!;
    return `${decimal[w >>> 24]}.${decimal[(w >>> 16) & 0xff]}.${decimal[(w >>> 8) & 0xff]}.${decimal[w & 0xff]}`;
  }
  let runStart = -1;
  let runLength = 1;
  let zeros = 0;
  for (let i = 0; i < 8; i++) {
    zeros = groupAt(words, i) === 0 ? zeros + 1 : 0;
    if (zeros > runLength) {
      runLength = zeros;
      runStart = i - zeros + 1;
    }
  }
  if (runStart < 0) return groupsText(words, 0, 8);
  return `${groupsText(words, 0, runStart)}::${groupsText(words, runStart + runLength, 8)}`;
}

function groupAt(words: Uint32Array, index: number): number {
  const word = words[index >>> 1]!;
  return index & 1 ? word & 0xffff : word >>> 16;
}

function groupsText(words: Uint32Array, from: number, to: number): string {
  if (from >= to) return '';
  let text = groupText(groupAt(words, from));
  for (let i = from + 1; i < to; i++) text += `:${groupText(groupAt(words, i))}`;
  return text;
}
