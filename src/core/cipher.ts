/**
 * AES-256-GCM, the one cipher of what the program seals by itself. A sealed text is the encrypted bytes with the tag
 * behind them; where the nonce stands is the caller's matter.
 */

import { createCipheriv, createDecipheriv } from 'node:crypto';

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
