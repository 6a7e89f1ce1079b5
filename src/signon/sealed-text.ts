/**
 * Texts that a page, a form or an authenticator carries for us, sealed (AES-256-GCM), so that nothing is stored for
 * visitors who are not signed in.
 *
 *   ┌─────────┬──────────┬──────────┬────────────┬────────┐
 *   │ version │ id       │ nonce    │ ciphertext │ tag    │
 *   │ 1 byte  │ 16 bytes │ 12 bytes │            │ 16     │
 *   └─────────┴──────────┴──────────┴────────────┴────────┘
 *
 * Each seal has a key of its own: HMAC-SHA-256 over the holder and the id, with a key for the purpose (derived from
 * the master key, so it survives a restart). So anybody can get any number of seals without a nonce being used twice
 * under one key. The id is random and names the seal: code that accepts a seal only once stores the id after its use.
 */

import { createHmac } from 'node:crypto';
import { deriveKey, type MasterKey } from '../access/keys/master-key.ts';
import { decrypt, encrypt, nonceBytes, tagBytes } from '../core/crypto.ts';
import type { Random } from '../core/random.ts';

const version = 1;
const idBytes = 16;
const bodyStart = 1 + idBytes + nonceBytes;

interface OpenedSeal {
  readonly id: Uint8Array;
  readonly plain: Uint8Array;
}

/** @param plainBytesMax longer texts are not opened */
export function createSealedTexts(options: {
  masterKey: MasterKey;
  purpose: string;
  random: Random;
  plainBytesMax: number;
}) {
  const { random } = options;
  const secret = deriveKey(options.masterKey, options.purpose);
  const charsMax = Math.ceil(((bodyStart + options.plainBytesMax + tagBytes) * 4) / 3);

  function keyFor(holder: string, id: Uint8Array): Uint8Array {
    // The id has a fixed length and comes last: it can't run into the holder.
    return createHmac('sha256', secret).update(holder).update(id).digest();
  }

  return {
    /** Returns base64url. @param holder names who may open it */
    seal(plain: Uint8Array, holder: string): string {
      const id = random.bytes(idBytes);
      const nonce = random.bytes(nonceBytes);
      const head = Buffer.concat([Uint8Array.of(version), id, nonce]);
      const key = keyFor(holder, id);
      return Buffer.concat([head, encrypt(key, nonce, plain, head)]).toString('base64url');
    },
    /**
     * Returns undefined when it was altered, is another holder's, or no seal of this purpose; callers can't tell
     * these apart.
     */
    open(text: string, holder: string): OpenedSeal | undefined {
      if (text.length > charsMax) return undefined;
      const bytes = Buffer.from(text, 'base64url');
      if (bytes.length < bodyStart + tagBytes || bytes[0] !== version) return undefined;
      // Another spelling of the same bytes would be another text of the same seal.
      if (bytes.toString('base64url') !== text) return undefined;
      const id = bytes.subarray(1, 1 + idBytes);
      const nonce = bytes.subarray(1 + idBytes, bodyStart);
      const head = bytes.subarray(0, bodyStart);
      const plain = decrypt(keyFor(holder, id), nonce, bytes.subarray(bodyStart), head);
      return plain === undefined ? undefined : { id, plain };
    },
  };
}
