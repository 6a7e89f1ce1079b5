/**
 * An authorization code at rest: live, or the tombstone that it leaves until it would have expired.
 * The row lies under the code's SHA-256; the code itself is nowhere.
 */

import { fixed, group, optionalText, record, text, time } from '../../storage/record.ts';
import { type Scope, scopesField } from './scopes.ts';

/** The grant that a code stands for. */
export interface CodeGrant {
  readonly accountId: string;
  /** The session in which it was issued; the code ends with it. */
  readonly sessionId: string;
  readonly clientId: string;
  /** The text that the client sent. */
  readonly redirectUri: string;
  readonly origin: string;
  /** The grant id of the consent under which it was issued. */
  readonly grantId: Uint8Array;
  readonly scopes: readonly Scope[];
  /** Undefined when no challenge was sent. */
  readonly codeChallenge: string | undefined;
}

export type CodeRow =
  | { readonly kind: 'live'; readonly expiresAt: number; readonly grant: CodeGrant }
  | ({ readonly kind: 'tombstone' } & CodeTombstone);

export interface CodeTombstone {
  readonly clientId: string;
  readonly claimedAt: number;
  /** The id of the event in whose commit it was written; undefined for a code that was burned. */
  readonly event: string | undefined;
}

const grantIdBytes = 16;

/** The first byte says what the row is, and its layout. */
const live = record<{ readonly expiresAt: number; readonly grant: CodeGrant }>(1, {
  expiresAt: time,
  grant: group<CodeGrant>({
    accountId: text,
    sessionId: text,
    clientId: text,
    redirectUri: text,
    origin: text,
    grantId: fixed(grantIdBytes),
    scopes: scopesField,
    codeChallenge: optionalText,
  }),
});
/** A tombstone holds nothing of the person, only what a line in the log needs. */
const tombstoneLayout = 2;
const tombstone = record<CodeTombstone>(tombstoneLayout, {
  clientId: text,
  claimedAt: time,
  event: optionalText,
});

export function encodeLiveCode(grant: CodeGrant, expiresAt: number): Uint8Array {
  return live.encode({ expiresAt, grant });
}

export function encodeTombstone(row: CodeTombstone): Uint8Array {
  return tombstone.encode(row);
}

export function decodeCode(bytes: Uint8Array): CodeRow | undefined {
  if (bytes[0] === tombstoneLayout) {
    const row = tombstone.decode(bytes);
    return row && { kind: 'tombstone', ...row };
  }
  const row = live.decode(bytes);
  return row && { kind: 'live', ...row };
}
