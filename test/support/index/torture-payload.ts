/**
 * What the torture run writes into records, so that a reader can tell a right answer from a
 * torn or a recycled one: each field derives from the prefix, and those that change in place
 * carry a generation besides.
 *
 *     reports         h = hash of prefix and length
 *     lastReportedAt  ~h
 *     meta            generation (16 bits) | low 16 bits of h
 *     strength        generation (12 bits) · 4096 + low 12 bits of h: exact as f32
 */

import {
  LAST_REPORTED_AT,
  LENGTH,
  LENGTH_4,
  LENGTH_6,
  LENGTH_MASK,
  META,
  REPORTS,
  type Records,
  ROW_SHIFT,
  STRENGTH,
} from '../../../src/index/records.ts';

function hashOf(w0: number, w1: number, w2: number, w3: number, length: number): number {
  let hash = length + 1;
  hash = Math.imul(hash ^ w0, 0x9e37_79b1);
  hash = Math.imul((hash ^ (hash >>> 15)) + w1, 0x85eb_ca6b);
  hash = Math.imul((hash ^ (hash >>> 13)) + w2, 0xc2b2_ae35);
  hash = Math.imul((hash ^ (hash >>> 16)) + w3, 0x27d4_eb2f);
  return (hash ^ (hash >>> 15)) >>> 0;
}

function networkMask(length: number): number {
  return length <= 0 ? 0 : length >= 32 ? -1 : ~(-1 >>> length);
}

/** Hash of the prefix of that length around an address. */
export function hashAround(family: 4 | 6, words: Int32Array, at: number, length: number): number {
  const w0 = words[at]! & networkMask(length);
  if (family === 4) return hashOf(w0, 0, 0, 4, length);
  const w1 = words[at + 1]! & networkMask(length - 32);
  const w2 = words[at + 2]! & networkMask(length - 64);
  return hashOf(w0, w1, w2, words[at + 3]! & networkMask(length - 96), length);
}

export function writeFixed(records: Records, entry: number, hash: number): void {
  const row = entry << ROW_SHIFT;
  records.word[row + REPORTS] = hash;
  records.word[row + LAST_REPORTED_AT] = ~hash;
  writeChanging(records, entry, hash, 0);
}

export function writeChanging(
  records: Records,
  entry: number,
  hash: number,
  generation: number,
): void {
  const row = entry << ROW_SHIFT;
  records.float[row + STRENGTH] = (generation & 4095) * 4096 + (hash & 4095);
  records.word[row + META] = (generation << 16) | (hash & 0xffff);
}

/** Length in bits of an entry of the family, -1 for one of the other family or none. */
export function lengthIn(records: Records, entry: number, family: 4 | 6): number {
  const length = records.word[(entry << ROW_SHIFT) + LENGTH]! & LENGTH_MASK;
  if (family === 4) return length >= LENGTH_4 && length <= LENGTH_4 + 32 ? length - LENGTH_4 : -1;
  return length >= LENGTH_6 && length <= LENGTH_6 + 128 ? length - LENGTH_6 : -1;
}

/** True when all fields are those of one prefix with that hash. */
export function isWhole(records: Records, entry: number, hash: number): boolean {
  const row = entry << ROW_SHIFT;
  return (
    records.word[row + REPORTS] === hash &&
    records.word[row + LAST_REPORTED_AT] === ~hash >>> 0 &&
    (records.word[row + META]! & 0xffff) === (hash & 0xffff) &&
    (records.float[row + STRENGTH]! & 4095) === (hash & 4095)
  );
}
