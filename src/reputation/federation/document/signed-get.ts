/**
 * A GET signed by a peer's key: HTTP message signatures (RFC 9421) in the one form that peers use, so that there is
 * no secret that both sides keep. Which components are signed, in which order, and the algorithm are fixed: a
 * signature over less is none.
 */

import { sign, verify } from 'node:crypto';
import { minuteMs } from '../../../core/time.ts';
import type { FederationKey, SigningKey } from './key.ts';

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
  /** Without its question mark; empty: none. */
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
  /** As `keyIdOf` gives it. */
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
