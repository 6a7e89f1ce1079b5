/**
 * Sealing of API keys at rest, AES-256-GCM, so that an owner can be shown the key again.
 *
 *   ┌─────────┬───────────────┬──────────┬────────────┬────────┐
 *   │ version │ master key id │ nonce    │ ciphertext │ tag    │
 *   │ 1 byte  │ 4 bytes       │ 12 bytes │            │ 16     │
 *   └─────────┴───────────────┴──────────┴────────────┴────────┘
 *
 * The first five bytes and the caller's context (account and key id) are authenticated too, so
 * a sealed key moved to another account doesn't open. Nonces are random: 2^32 seals under one
 * master key would be the limit, and each key ever made is one seal.
 */

import { createCipheriv, createDecipheriv } from 'node:crypto';
import type { Random } from '../../core/random.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import type { MasterKey } from './master-key.ts';

const version = 1;
const keyIdLength = 4;
const headerLength = 1 + keyIdLength;
const nonceLength = 12;
const tagLength = 16;
const cipherName = 'aes-256-gcm';

/** `context` binds the seal to its place, such as `<account id>/<key id>`. */
export function seal(
  masterKey: MasterKey,
  random: Random,
  context: string,
  plaintext: string,
): Uint8Array {
  const header = Buffer.concat([Uint8Array.of(version), masterKey.id]);
  const nonce = random.bytes(nonceLength);
  const cipher = createCipheriv(cipherName, masterKey.secret, nonce, {
    authTagLength: tagLength,
  });
  cipher.setAAD(authenticated(header, context));
  const body = Buffer.concat([cipher.update(plaintext, 'utf8'), cipher.final()]);
  return Buffer.concat([header, nonce, body, cipher.getAuthTag()]);
}

/** The plaintext; `internal` when it was sealed under another master key, moved or altered. */
export function open(masterKey: MasterKey, context: string, sealed: Uint8Array): Result<string> {
  if (sealed.length < headerLength + nonceLength + tagLength || sealed[0] !== version) {
    return fail('internal', 'the sealed key has an unknown format');
  }
  const header = sealed.subarray(0, headerLength);
  if (Buffer.compare(header.subarray(1), masterKey.id) !== 0) {
    return fail('internal', 'the key was sealed under another master key');
  }
  const bodyStart = headerLength + nonceLength;
  const bodyEnd = sealed.length - tagLength;
  const decipher = createDecipheriv(
    cipherName,
    masterKey.secret,
    sealed.subarray(headerLength, bodyStart),
    { authTagLength: tagLength },
  );
  decipher.setAAD(authenticated(header, context));
  decipher.setAuthTag(sealed.subarray(bodyEnd));
  const start = decipher.update(sealed.subarray(bodyStart, bodyEnd));
  try {
    return ok(Buffer.concat([start, decipher.final()]).toString('utf8'));
  } catch {
    return fail('internal', 'the sealed key was altered or belongs to another account');
  }
}

/** The header has a fixed length, so header and context can't run into one another. */
function authenticated(header: Uint8Array, context: string): Uint8Array {
  return Buffer.concat([header, Buffer.from(context, 'utf8')]);
}
