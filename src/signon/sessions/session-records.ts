/** The stored form of a session, and the walk over an account's sessions. */

import { sha256 } from '../../core/digest.ts';
import { createWriter, decode } from '../../store/codec.ts';
import {
  type Key,
  sessionByAccountKey,
  sessionByAccountPrefix,
  sessionKey,
} from '../../store/keys.ts';
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

const layout = 2;
/** Of before the last proof was told from the sign-in. */
const layoutWithoutProof = 1;
const idBytes = 16;

export function encodeSession(record: SessionRecord): Uint8Array {
  const out = createWriter(160).u8(layout).text(record.account).bytes(record.secretHash);
  out.varint(record.epoch).f64(record.createdAt).f64(record.lastSeenAt).f64(record.authenticatedAt);
  out.u8(sessionMethods.indexOf(record.method)).text(record.agent).text(record.country);
  out.u8(sessionMethods.indexOf(record.proof)).varint(record.factors);
  return out.finish();
}

export function decodeSession(bytes: Uint8Array): SessionRecord | undefined {
  return decode(bytes, (input) => {
    const found = input.u8();
    if (found !== layout && found !== layoutWithoutProof) input.reject();
    const account = input.text();
    const secretHash = Uint8Array.from(input.bytes());
    const epoch = input.varint();
    const [createdAt, lastSeenAt, authenticatedAt] = [input.f64(), input.f64(), input.f64()];
    const method = sessionMethods[input.u8()];
    if (method === undefined) input.reject();
    const [agent, country] = [input.text(), input.text()];
    const times = { createdAt, lastSeenAt, authenticatedAt };
    const first = { account, secretHash, epoch, ...times, method: method ?? 'password' };
    if (found === layoutWithoutProof) {
      return { ...first, agent, country, proof: first.method, factors: 0 };
    }
    const proof = sessionMethods[input.u8()];
    if (proof === undefined) input.reject();
    return { ...first, agent, country, proof: proof ?? 'password', factors: input.varint() };
  });
}

/** Ids of an account's sessions, at most `limit`; some may be over. */
export async function sessionIdsOf(
  store: Store,
  accountId: string,
  limit: number,
): Promise<string[]> {
  const rows = await store.scan(sessionByAccountPrefix(accountId), { limit });
  return rows.map(({ key }) => Buffer.from(key.subarray(-idBytes)).toString('base64url'));
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
