/**
 * The parts that the two readers of IPv6 text (string and bytes) share: digit values, the eight groups
 * being read, and the last step from groups to words. The buffer belongs to the thread and a
 * parse never yields, so two parses can't meet in it.
 */

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
