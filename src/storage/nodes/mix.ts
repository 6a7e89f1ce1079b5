/**
 * Sums of hashes: 64 bits that show whether two collections hold the same, in whatever order they
 * came. What is added can be taken away again. For accidents alone: who chooses the words can make
 * two sums agree.
 */

/** Two lanes of MurmurHash3's rounds and its last step. */
export function createMix() {
  let a = 0;
  let b = 0;
  return {
    /** Begins the hash of another member. */
    clear(): void {
      a = 0x9747_b28c;
      b = 0x3c6e_f372;
    },
    word(value: number): void {
      a = Math.imul(rotated(a ^ Math.imul(value, 0xcc9e_2d51), 15), 5) + 0xe654_6b64;
      b = Math.imul(rotated(b ^ Math.imul(value, 0x239b_961b), 13), 9) + 0x561c_cd1b;
    },
    /** The member into the sum, or out of it. */
    into(sum: Uint32Array, sign: 1 | -1): void {
      // Typed arrays keep the low 32 bits, whatever the sign.
      sum[0]! += sign * last(a ^ rotated(b, 16));
      sum[1]! += sign * last(b);
    },
  };
}

export type Mix = ReturnType<typeof createMix>;

function rotated(value: number, bits: number): number {
  return (value << bits) | (value >>> (32 - bits));
}

function last(value: number): number {
  value = Math.imul(value ^ (value >>> 16), 0x85eb_ca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2_ae35);
  return (value ^ (value >>> 16)) >>> 0;
}
