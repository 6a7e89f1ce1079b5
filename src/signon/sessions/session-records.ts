/** The stored form of a session, and the walk over an account's sessions. */

import { sha256 } from '../../core/digest.ts';
import {
  type Key,
  sessionByAccountKey,
  sessionByAccountPrefix,
  sessionKey,
} from '../../store/keys.ts';
import { pagesUnder } from '../../store/pages.ts';
import { bytes, oneOf, record, since, text, time, varint } from '../../store/record.ts';
import type { Store } from '../../store/store.ts';

/** How the person proved who they are, at sign-in. In this order on disk. */
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
  /** How the person proved who they are the last time. */
  readonly proof: SessionMethod;
  /** The credentials' `factors` at that proof. */
  readonly factors: number;
}

/** As its owner sees it. */
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

/** The first layout did not tell the last proof from the sign-in. */
export const { encode: encodeSession, decode: decodeSession } = record<SessionRecord>(
  2,
  {
    account: text,
    secretHash: bytes,
    epoch: varint,
    createdAt: time,
    lastSeenAt: time,
    authenticatedAt: time,
    method: oneOf(sessionMethods),
    agent: text,
    country: text,
    proof: since(2, oneOf(sessionMethods), ({ method }) => method as SessionMethod),
    factors: since(2, varint, 0),
  },
  1,
);

/** Ids of an account's sessions, all or at most `limit`; some may be over. */
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

/** Both rows of a session. */
export function sessionKeysOf(accountId: string, id: string): Key[] {
  const bytes = Buffer.from(id, 'base64url');
  return [sessionKey(bytes), sessionByAccountKey(accountId, bytes)];
}

/** The form token of a session, by its cookie's secret. Known to whoever has the cookie and to nobody else; tells nothing of it. */
export function csrfOf(secret: string): string {
  return Buffer.from(sha256(`form token ${secret}`)).toString('base64url');
}

/** Cookies that a change brings: the session's, and that of a known browser which is one still. */
export interface Renewed {
  readonly token: string;
  readonly browser?: string | undefined;
}
