/**
 * Random bits expanded from a 32-byte seed: the AES-256-CTR keystream. The same seed gives the
 * same bits, and nobody without the seed predicts one bit from the others. (A linear generator
 * would let a patch of background predict the rest of the picture.)
 */

import { createCipheriv } from 'node:crypto';

export const seedBytes = 32;

const chunkBytes = 16_384;
const zeros = new Uint8Array(chunkBytes);
const counterStart = new Uint8Array(16);

export function createKeystream(seed: Uint8Array) {
  if (seed.length !== seedBytes) throw new RangeError(`a seed has ${seedBytes} bytes`);
  const cipher = createCipheriv('aes-256-ctr', seed, counterStart);
  const one = new Int32Array(1);
  /** Fills the words with fair bits. */
  function fill(words: Int32Array): void {
    const target = new Uint8Array(words.buffer, words.byteOffset, words.byteLength);
    for (let at = 0; at < target.length; at += chunkBytes) {
      target.set(cipher.update(zeros.subarray(0, Math.min(chunkBytes, target.length - at))), at);
    }
  }
  function word(): number {
    fill(one);
    return one[0]! >>> 0;
  }
  return {
    fill,
    /** Returns a number that is uniform in [0, 1), 32 bits of it. */
    unit: (): number => word() / 4_294_967_296,
    /** Returns a uniform integer in [0, limit), without bias; `limit` at most 65,536. */
    below(limit: number): number {
      // Rejected with a chance under 2^-16 a draw: the loop ends.
      const fair = 4_294_967_296 - (4_294_967_296 % limit);
      for (;;) {
        const value = word();
        if (value < fair) return value % limit;
      }
    },
  };
}

export type Keystream = ReturnType<typeof createKeystream>;

/**
 * Words whose bits are 1 with a chance of `share64` / 64, each bit on its own. From the lowest
 * binary digit of the share (1 to 63) to its highest, OR-ing fair bits for a 1 and AND-ing them for a 0
 * halves the distance each time: 101101b takes six fair bits for one biased one.
 */
export function biasedDigits(share64: number): readonly boolean[] {
  const digits: boolean[] = [];
  for (let bit = 0; bit < 6; bit++) {
    const digit = ((share64 >> bit) & 1) === 1;
    // Lowest zeros change nothing: 48/64 is 3/4, two fair bits.
    if (digit || digits.length > 0) digits.push(digit);
  }
  return digits;
}
