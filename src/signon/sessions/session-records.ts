/** The stored form of a session, and the walk over an account's sessions. */

import { sha256 } from '../../core/digest.ts';
import {
  type Key,
  sessionByAccountKey,
  sessionByAccountPrefix,
  sessionKey,
} from '../../storage/keys.ts';
import { pagesUnder } from '../../storage/pages.ts';
import { bytes, oneOf, record, text, time, varint } from '../../storage/record.ts';
import type { Store } from '../../storage/store.ts';

/** The proofs of identity of a sign-in. The order is on disk. */
export const sessionMethods = [
  'password',
  'password+totp',
  'passkey',
  'link',
  'link+totp',
] as const;
export type SessionMethod = (typeof sessionMethods)[number];

export interface SessionRecord {
  readonly account: string;
  readonly secretHash: Uint8Array;
  readonly epoch: number;
  readonly createdAt: number;
  readonly lastSeenAt: number;
  readonly authenticatedAt: number;
  readonly method: SessionMethod;
  readonly agent: string;
  readonly country: string;
  /** The last proof of identity. */
  readonly proof: SessionMethod;
  /** The credentials' `factors` at that proof. */
  readonly factors: number;
}

/** A session as its owner sees it. */
export interface SessionInfo {
  readonly id: string;
  readonly createdAt: number;
  readonly lastSeenAt: number;
  readonly agent: string;
  readonly country: string;
  readonly method: SessionMethod;
  readonly current: boolean;
}

const idBytes = 16;

export const { encode: encodeSession, decode: decodeSession } = record<SessionRecord>(2, {
  account: text,
  secretHash: bytes,
  epoch: varint,
  createdAt: time,
  lastSeenAt: time,
  authenticatedAt: time,
  method: oneOf(sessionMethods),
  agent: text,
  country: text,
  proof: oneOf(sessionMethods),
  factors: varint,
});

/** Returns the ids of an account's sessions, all or at most `limit`; some may be over. */
export async function sessionIdsOf(
  store: Store,
  accountId: string,
  limit = Number.POSITIVE_INFINITY,
): Promise<string[]> {
  const ids: string[] = [];
  for await (const page of pagesUnder(store, sessionByAccountPrefix(accountId))) {
    for (const { key } of page) {
      ids.push(Buffer.from(key.subarray(-idBytes)).toString('base64url'));
    }
    if (ids.length >= limit) return ids.slice(0, limit);
  }
  return ids;
}

/** Returns the keys of both rows of a session. */
export function sessionKeysOf(accountId: string, id: string): Key[] {
  const bytes = Buffer.from(id, 'base64url');
  return [sessionKey(bytes), sessionByAccountKey(accountId, bytes)];
}

/** Returns the form token of a session: only the holder of the cookie's secret knows it, and it does not reveal it. */
export function csrfOf(secret: string): string {
  return Buffer.from(sha256(`form token ${secret}`)).toString('base64url');
}

/** The new cookies after a change: the session's, and the browser's if it stays a known one. */
export interface Renewed {
  readonly token: string;
  readonly browser?: string | undefined;
}
