/**
 * SHA-256 of text, and comparison in constant time: every secret here is kept and checked by them. AES-256-GCM, the
 * one cipher of what the program seals by itself. Also a quick hash for places in tables, which keeps no secret.
 */

import { createCipheriv, createDecipheriv, createHash, timingSafeEqual } from 'node:crypto';

export function sha256(text: string): Buffer {
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

// A sealed text is the encrypted bytes with the tag behind them; where the nonce stands is the caller's matter.

const cipherName = 'aes-256-gcm';
const tag = { authTagLength: 16 } as const;

/** So many random bytes, never the same twice under a key. */
export const nonceBytes = 12;
/** A sealed text is so much longer than the plain one. */
export const tagBytes = tag.authTagLength;

/** @param bound is authenticated too: the text opens with these bytes alone */
export function encrypt(
  key: Uint8Array,
  nonce: Uint8Array,
  plain: Uint8Array,
  bound: Uint8Array = new Uint8Array(),
): Buffer {
  const cipher = createCipheriv(cipherName, key, nonce, tag);
  cipher.setAAD(bound);
  return Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

/** Returns undefined for a text that was altered, or sealed with another key, nonce or bound bytes. */
export function decrypt(
  key: Uint8Array,
  nonce: Uint8Array,
  sealed: Uint8Array,
  bound: Uint8Array = new Uint8Array(),
): Buffer | undefined {
  if (sealed.length < tagBytes) return undefined;
  const decipher = createDecipheriv(cipherName, key, nonce, tag);
  decipher.setAAD(bound);
  decipher.setAuthTag(sealed.subarray(-tagBytes));
  try {
    return Buffer.concat([decipher.update(sealed.subarray(0, -tagBytes)), decipher.final()]);
  } catch {
    return undefined;
  }
}
