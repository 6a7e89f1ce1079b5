/**
 * The strict grammar of `address.ts` over ASCII bytes in place: for request bodies and files,
 * where making a string of each address would cost more than parsing it.
 */

// The parts that the two readers of IPv6 text (string and bytes) share: digit values, the eight groups
// being read, and the last step from groups to words. The buffer belongs to the thread and a
// parse never yields, so two parses can't meet in it.

/** Value of a hexadecimal digit by its UTF-16 code, -1 for every other code. */
export const hexValue = new Int8Array(0x1_0000).fill(-1);
for (let digit = 0; digit < 16; digit++) {
  const char = digit.toString(16);
  hexValue[char.charCodeAt(0)] = digit;
  hexValue[char.toUpperCase().charCodeAt(0)] = digit;
}

export const groups = new Uint16Array(8);

/**
 * Spreads the first `count` groups around the `::` that stands behind `gap` of them (-1: there
 * is none) and writes the words. Returns the family: 4 for an IPv4-mapped address, which fills
 * `words[0]` only; 0 when the number of groups is wrong, with the words untouched.
 */
export function storeGroups(gap: number, count: number, words: Uint32Array): 0 | 4 | 6 {
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

const DOT = 0x2e;
const COLON = 0x3a;
const textLengthMax = 45;

/** Does what `parseIp` does, for the bytes in `[start, end)`; nothing outside of them is read. */
export function parseIpBytes(
  bytes: Uint8Array,
  start: number,
  end: number,
  words: Uint32Array,
): 0 | 4 | 6 {
  const length = end - start;
  if (length < 2 || length > textLengthMax) return 0;
  const quad = parseQuad(bytes, start, end);
  if (quad >= 0) {
    words[0] = quad;
    return 4;
  }
  return parseGroups(bytes, start, end, words);
}

/** The dotted quad in `[start, end)` as an unsigned number, or -1. */
function parseQuad(bytes: Uint8Array, start: number, end: number): number {
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
function parseGroups(bytes: Uint8Array, start: number, end: number, words: Uint32Array): 0 | 4 | 6 {
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
      const quad = code === DOT && count <= 6 ? parseQuad(bytes, i - digits, end) : -1;
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
  family: 4 | 6,
  bytes: Uint8Array,
  at: number,
  words: Uint32Array,
): 4 | 6 {
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
