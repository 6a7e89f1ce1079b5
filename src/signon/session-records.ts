/** The stored form of a session, and the walk over an account's sessions. */

import { createWriter, decode } from '../store/codec.ts';
import { sessionByAccountPrefix } from '../store/keys.ts';
import type { Store } from '../store/store.ts';

/** How the person proved who they are, at sign-in. In this order on disk. */
export const sessionMethods = ['password', 'password+totp', 'passkey'] as const;
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
}

const layout = 1;
const idBytes = 16;

export function encodeSession(record: SessionRecord): Uint8Array {
  const out = createWriter(160).u8(layout).text(record.account).bytes(record.secretHash);
  out.varint(record.epoch).f64(record.createdAt).f64(record.lastSeenAt).f64(record.authenticatedAt);
  out.u8(sessionMethods.indexOf(record.method)).text(record.agent).text(record.country);
  return out.finish();
}

export function decodeSession(bytes: Uint8Array): SessionRecord | undefined {
  return decode(bytes, (input) => {
    if (input.u8() !== layout) input.reject();
    const account = input.text();
    const secretHash = Uint8Array.from(input.bytes());
    const epoch = input.varint();
    const [createdAt, lastSeenAt, authenticatedAt] = [input.f64(), input.f64(), input.f64()];
    const method = sessionMethods[input.u8()];
    if (method === undefined) input.reject();
    const [agent, country] = [input.text(), input.text()];
    const times = { createdAt, lastSeenAt, authenticatedAt };
    return { account, secretHash, epoch, ...times, method: method ?? 'password', agent, country };
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
