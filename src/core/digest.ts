/**
 * SHA-256 of text, and comparison in constant time: every secret here is kept and checked by them.
 * Also a quick hash for places in tables, which keeps no secret.
 */

import { createHash, timingSafeEqual } from 'node:crypto';

export function sha256(text: string): Uint8Array {
  return createHash('sha256').update(text).digest();
}

/** Compares in a time that doesn't depend on where they differ. Lengths are no secret. */
export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}

const fnvOffset = 0x811c_9dc5;
const fnvPrime = 0x0100_0193;

/**
 * FNV-1a, 32 bits, over the UTF-16 code units of a text (Fowler, Noll, Vo; public domain).
 * @param seed what nobody outside knows, where nobody may aim at a place
 * @returns signed, 32 bits
 */
export function fnv1a(text: string, seed = 0): number {
  let hash = seed ^ fnvOffset;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), fnvPrime);
  return hash;
}
