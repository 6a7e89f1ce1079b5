/** SHA-256 of text, and comparison in constant time: what every secret here is kept and checked by. */

import { createHash, timingSafeEqual } from 'node:crypto';

export function sha256(text: string): Uint8Array {
  return createHash('sha256').update(text).digest();
}

/** In a time that tells nothing of where they differ. Lengths are no secret. */
export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}
