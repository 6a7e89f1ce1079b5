/**
 * An authorization code at rest: live, or the tombstone that it leaves until it would have expired.
 * The row lies under the code's SHA-256; the code itself is nowhere.
 */

import { createWriter, decode, type Reader } from '../../store/codec.ts';
import { type Scope, scopeBits, scopesOf } from './scopes.ts';

/** What a code stands for. */
export interface CodeGrant {
  readonly accountId: string;
  /** Session in which it was issued; the code ends with it. */
  readonly sessionId: string;
  readonly clientId: string;
  /** As the client sent it. */
  readonly redirectUri: string;
  readonly origin: string;
  /** Of the consent it was issued under. */
  readonly grantId: Uint8Array;
  readonly scopes: readonly Scope[];
  /** Undefined when none was sent. */
  readonly codeChallenge: string | undefined;
}

export type CodeRow =
  | { readonly kind: 'live'; readonly expiresAt: number; readonly grant: CodeGrant }
  | { readonly kind: 'tombstone'; readonly clientId: string; readonly claimedAt: number };

const grantIdBytes = 16;
/** First byte: what the row is, and its layout. */
const liveLayout = 1;
const tombstoneLayout = 2;

export function encodeLiveCode(grant: CodeGrant, expiresAt: number): Uint8Array {
  return createWriter(256)
    .u8(liveLayout)
    .f64(expiresAt)
    .text(grant.accountId)
    .text(grant.sessionId)
    .text(grant.clientId)
    .text(grant.redirectUri)
    .text(grant.origin)
    .raw(grant.grantId)
    .u8(scopeBits(grant.scopes))
    .text(grant.codeChallenge ?? '')
    .finish();
}

/** Says nothing of the person: only what a line in the log needs. */
export function encodeTombstone(clientId: string, claimedAt: number): Uint8Array {
  return createWriter(64).u8(tombstoneLayout).text(clientId).f64(claimedAt).finish();
}

export function decodeCode(bytes: Uint8Array): CodeRow | undefined {
  return decode(bytes, (input): CodeRow => {
    const kind = input.u8();
    if (kind === tombstoneLayout) {
      return { kind: 'tombstone', clientId: input.text(), claimedAt: input.f64() };
    }
    if (kind !== liveLayout) input.reject();
    return { kind: 'live', expiresAt: input.f64(), grant: readGrant(input) };
  });
}

function readGrant(input: Reader): CodeGrant {
  const grant = {
    accountId: input.text(),
    sessionId: input.text(),
    clientId: input.text(),
    redirectUri: input.text(),
    origin: input.text(),
    grantId: input.raw(grantIdBytes),
    scopes: scopesOf(input.u8()),
  };
  const codeChallenge = input.text();
  return { ...grant, codeChallenge: codeChallenge === '' ? undefined : codeChallenge };
}
