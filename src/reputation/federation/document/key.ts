/**
 * Keys of servers that lend each other a vote: Ed25519 with a name, in the form of C2SP's signed notes, which
 * Go's packages read too: `name+id+key`. The id is made of name and key, so a key under another name is
 * another key.
 */

import {
  createHash,
  createPrivateKey,
  createPublicKey,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto';
import type { Random } from '../../../core/random.ts';

/** A host with or without a port: the name stands between blanks and before a plus sign. */
const nameShape = /^[A-Za-z0-9[][A-Za-z0-9.:\]-]{0,254}$/;
const lineShape = /^([^+\s]{1,255})\+([0-9a-f]{8})\+([A-Za-z0-9+/]{44})$/;
/** C2SP's number for Ed25519. */
const algorithm = 1;
const idBytes = 4;
const keyBytes = 32;
/** Algorithm and key in base64, at the end of a line. */
const keyChars = 44;
const signatureBytes = 64;
/** The DER of a private key ends with its 32 bytes. */
const derBefore = Buffer.from('302e020100300506032b657004220420', 'hex');

export interface FederationKey {
  readonly name: string;
  /** Eight hexadecimal digits. */
  readonly id: string;
  /** `name+id+key`: what operators hand to one another. */
  readonly line: string;
  readonly publicKey: KeyObject;
}

export type SigningKey = FederationKey & {
  readonly privateKey: KeyObject;
  /** 32 bytes. Secret. */
  readonly seed: Uint8Array;
};

export function isSigningKeyName(text: string): boolean {
  return nameShape.test(text);
}

function keyOf(name: string, raw: Uint8Array): FederationKey {
  const body = Buffer.concat([Uint8Array.of(algorithm), raw]);
  const id = createHash('sha256').update(`${name}\n`).update(body).digest('hex').slice(0, 8);
  const x = Buffer.from(raw).toString('base64url');
  const publicKey = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  return { name, id, line: `${name}+${id}+${body.toString('base64')}`, publicKey };
}

/** Returns undefined for a text that is no key line, or whose id is not that of its name and key. */
export function parseKeyLine(text: string): FederationKey | undefined {
  const found = lineShape.exec(text);
  if (found === null || !isSigningKeyName(found[1]!)) return undefined;
  const body = Buffer.from(found[3]!, 'base64');
  if (body.length !== 1 + keyBytes || body[0] !== algorithm) return undefined;
  const key = keyOf(found[1]!, body.subarray(1));
  // Another spelling of the same bytes is no key line either.
  return key.line === text ? key : undefined;
}

/** Returns whether two lines have one key: whoever holds it speaks under both names. */
export function hasKeyOf(line: string, other: string): boolean {
  return line.slice(-keyChars) === other.slice(-keyChars);
}

/** @param name as `isSigningKeyName` takes it */
export function signingKey(name: string, seed: Uint8Array): SigningKey {
  if (!isSigningKeyName(name) || seed.length !== keyBytes)
    throw new RangeError('not a name and a seed');
  const der = Buffer.concat([derBefore, seed]);
  const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  const { x } = createPublicKey(privateKey).export({ format: 'jwk' });
  return { ...keyOf(name, Buffer.from(x!, 'base64url')), privateKey, seed };
}

export function makeSigningKey(name: string, random: Random): SigningKey {
  return signingKey(name, random.bytes(keyBytes));
}

/** Signs a text: 4 bytes of the key's id and the signature, as a signature line has them. */
export function signatureOf(key: SigningKey, text: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from(key.id, 'hex'), sign(null, text, key.privateKey)]);
}

/** @param signature as `signatureOf` makes it */
export function isSignatureOf(
  key: FederationKey,
  text: Uint8Array,
  signature: Uint8Array,
): boolean {
  if (signature.length !== idBytes + signatureBytes) return false;
  if (!Buffer.from(key.id, 'hex').equals(signature.subarray(0, idBytes))) return false;
  return verify(null, text, key.publicKey, signature.subarray(idBytes));
}
