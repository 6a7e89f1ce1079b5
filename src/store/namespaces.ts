/**
 * The kinds of rows and how a key is put together; keys.ts has a builder for each kind.
 */

import type { KeyPart } from './key-parts.ts';
import { storeLimits } from './store.ts';

declare const keyBrand: unique symbol;
/** Made by this file only. */
export type Key = Uint8Array & { readonly [keyBrand]: 'key' };

/** First byte of a key. 0x01–0x0f: the store's own needs; 0x10–0xef: domains; 0xf0: tests and tools. */
export const namespaces = {
  /** Nothing is written there any more: a server of before named itself in it. */
  formerLock: 0x01,
  checkpoint: 0x02,
  projectionPage: 0x03,
  ledger: 0x04,
  lease: 0x05,
  tallies: 0x06,
  bound: 0x07,
  account: 0x10,
  accountByEmail: 0x11,
  apiKey: 0x12,
  apiKeyByAccount: 0x13,
  accountBySpelling: 0x14,
  addressClaim: 0x0e,
  accountSlot: 0x15,
  accountStanding: 0x16,
  budgetsTold: 0x17,
  apiKeyUse: 0x18,
  accountRole: 0x19,
  agentBan: 0x1a,
  webhook: 0x1b,
  ownedApiKey: 0x1c,
  allow: 0x20,
  list: 0x21,
  subscription: 0x22,
  removal: 0x23,
  tip: 0x24,
  ownEntry: 0x25,
  reportByAddress: 0x30,
  reportById: 0x31,
  reportGuard: 0x32,
  reportByAccount: 0x33,
  reportsIndexed: 0x34,
  reportTail: 0x35,
  reportTailByAccount: 0x36,
  reportTailDue: 0x37,
  feedHead: 0x50,
  feedStep: 0x51,
  feedBase: 0x52,
  feedFollowed: 0x53,
  profile: 0x60,
  consent: 0x61,
  consentUse: 0x62,
  consentTransaction: 0x63,
  authorizationCode: 0x64,
  avatar: 0x65,
  avatarOwner: 0x66,
  usedSeal: 0x67,
  siteKey: 0x40,
  siteKeyByAccount: 0x41,
  usedReceipt: 0x42,
  credentials: 0x68,
  signonLink: 0x69,
  session: 0x6a,
  sessionByAccount: 0x6b,
  secondFactor: 0x6c,
  passkey: 0x6d,
  passkeyByAccount: 0x6e,
  passkeyChallenge: 0x6f,
  securityLog: 0x70,
  phoneCode: 0x71,
  erasure: 0x72,
  notice: 0x73,
  erased: 0x74,
  pendingAccount: 0x75,
  blockedSite: 0x76,
  signInLog: 0x78,
  audit: 0x79,
  sighting: 0x80,
  scratch: 0xf0,
} as const;

type Namespace = (typeof namespaces)[keyof typeof namespaces];
/** For a new namespace's builder; elsewhere use the typed builders below. */
export function encodeKey(namespace: Namespace, ...parts: KeyPart[]): Key {
  let length = 1;
  for (const part of parts) length += part.length;
  if (length > storeLimits.keyBytesMax) throw new RangeError(`key of ${length} bytes is too long`);
  const key = new Uint8Array(length);
  key[0] = namespace;
  let position = 1;
  for (const part of parts) {
    key.set(part, position);
    position += part.length;
  }
  return key as Key;
}

/** A key that came out of the store itself; checked for length only. */
export function storedKey(bytes: Uint8Array): Key {
  return bytes as Key;
}

/** The bytes after the last key of a prefix; undefined when there is none (all 0xff). */
export function prefixEnd(prefix: Uint8Array): Uint8Array | undefined {
  let length = prefix.length;
  while (length > 0 && prefix[length - 1] === 0xff) length--;
  if (length === 0) return undefined;
  const end = prefix.slice(0, length);
  end[length - 1]! += 1;
  return end;
}
