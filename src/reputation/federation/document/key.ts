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
import { minuteMs } from '../../../core/time.ts';

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

// A GET signed by a peer's key: HTTP message signatures (RFC 9421) in the one form that peers use, so that there is
// no secret that both sides keep. Which components are signed, in which order, and the algorithm are fixed: a
// signature over less is none.

const components = '("@method" "@authority" "@path" "@query")';
const tag = 'portcullis';
/** The clocks of the two may differ by so much, and a request that was seen is good for no longer. */
const signedWithinMs = 5 * minuteMs;
const headerCharsMax = 600;

export const signatureHeaders = ['signature', 'signature-input'] as const;

/** The parts of a request that are signed. */
export interface SignedRequest {
  readonly method: string;
  /** Host with its port, if it is not that of the scheme, in small letters. */
  readonly authority: string;
  readonly path: string;
  /** The query without its question mark; empty: none. */
  readonly query: string;
}

/** Names a key in a signature: its name and id. */
export function signingKeyId({ name, id }: Pick<FederationKey, 'name' | 'id'>): string {
  return `${name}+${id}`;
}

function baseOf({ method, authority, path, query }: SignedRequest, parameters: string): Buffer {
  const lines = [
    `"@method": ${method}`,
    `"@authority": ${authority}`,
    `"@path": ${path}`,
    `"@query": ?${query}`,
    `"@signature-params": ${parameters}`,
  ];
  return Buffer.from(lines.join('\n'));
}

/** Returns the two headers that make a peer's GET of `url` known. */
export function signGet(url: URL, key: SigningKey, now: number): Record<string, string> {
  const created = Math.floor(now / 1_000);
  const parameters = `${components};created=${created};keyid="${signingKeyId(key)}";tag="${tag}"`;
  const { host, pathname, search } = url;
  const request = { method: 'GET', authority: host, path: pathname, query: search.slice(1) };
  const signature = sign(null, baseOf(request, parameters), key.privateKey);
  return {
    'signature-input': `peer=${parameters}`,
    signature: `peer=:${signature.toString('base64')}:`,
  };
}

interface ClaimedSignature {
  /** The id that `keyIdOf` gives. */
  readonly keyId: string;
  readonly parameters: string;
  readonly signature: Uint8Array;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
}

const inputShape =
  /^peer=(\("@method" "@authority" "@path" "@query"\);created=(\d{1,12});keyid="([^"\\\s]{1,264})";tag="portcullis")$/;
const signatureShape = /^peer=:([A-Za-z0-9+/]{86}==):$/;

/** Returns undefined without a signature of this form. It says who it claims to be, and proves nothing yet. */
export function readSignature(
  input: string | undefined,
  signature: string | undefined,
): ClaimedSignature | undefined {
  if (input === undefined || signature === undefined || input.length > headerCharsMax)
    return undefined;
  const found = inputShape.exec(input);
  const body = signatureShape.exec(signature);
  if (found === null || body === null) return undefined;
  return {
    keyId: found[3]!,
    parameters: found[1]!,
    signature: Buffer.from(body[1]!, 'base64'),
    createdAt: Number(found[2]) * 1_000,
  };
}

/** @param key the one that `keyId` names */
export function isSignedBy(
  key: FederationKey,
  claimed: ClaimedSignature,
  request: SignedRequest,
  now: number,
): boolean {
  if (claimed.keyId !== signingKeyId(key)) return false;
  if (Math.abs(now - claimed.createdAt) > signedWithinMs) return false;
  return verify(null, baseOf(request, claimed.parameters), key.publicKey, claimed.signature);
}
