/**
 * Every key encoding of the store, in one place; docs/STORAGE.md shows the same table.
 * A key is a namespace byte and then parts whose bytes sort as their values do: integers
 * big-endian, text escaped and ended by 0x00 (so `a` sorts before `aa` in any composite),
 * raw bytes only as the last part or at a fixed width.
 *
 * To add a key: take a free namespace number, write a builder here (and a prefix builder if it
 * is scanned), add a row to docs/STORAGE.md. Never reuse or change a number that was released.
 */

import { storeLimits } from './store.ts';

declare const keyBrand: unique symbol;
/** Made by this file only. */
export type Key = Uint8Array & { readonly [keyBrand]: 'key' };

/** First byte of a key. 0x01–0x0f: the store's own needs; 0x10–0xef: domains; 0xf0: tests and tools. */
export const namespaces = {
  serverLock: 0x01,
  checkpoint: 0x02,
  projectionPage: 0x03,
  account: 0x10,
  accountByEmail: 0x11,
  apiKey: 0x12,
  apiKeyByAccount: 0x13,
  allow: 0x20,
  reportByAddress: 0x30,
  reportById: 0x31,
  reportGuard: 0x32,
  feedHead: 0x50,
  feedStep: 0x51,
  feedBase: 0x52,
  profile: 0x60,
  consent: 0x61,
  consentUse: 0x62,
  consentTransaction: 0x63,
  authorizationCode: 0x64,
  avatar: 0x65,
  avatarOwner: 0x66,
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
  scratch: 0xf0,
} as const;

export type Namespace = (typeof namespaces)[keyof typeof namespaces];

/** A part of a key: its bytes, sorting as the value does. */
type Part = Uint8Array;

export function u8(value: number): Part {
  return Uint8Array.of(checkedInteger(value, 0xff));
}

export function u16(value: number): Part {
  const part = Buffer.alloc(2);
  part.writeUInt16BE(checkedInteger(value, 0xffff));
  return part;
}

export function u32(value: number): Part {
  const part = Buffer.alloc(4);
  part.writeUInt32BE(checkedInteger(value, 0xffff_ffff));
  return part;
}

export function u64(value: bigint): Part {
  const part = Buffer.alloc(8);
  part.writeBigUInt64BE(value);
  return part;
}

/** UTF-8, each 0x00 escaped as 0x00 0xff, ended by 0x00: sorts right also when parts follow. */
export function text(value: string): Part {
  const size = Buffer.byteLength(value, 'utf8');
  const ended = Buffer.allocUnsafe(size + 1);
  ended.write(value, 0, size, 'utf8');
  ended[size] = 0;
  if (ended.indexOf(0) === size) return ended;
  const bytes = ended.subarray(0, size);
  const out: number[] = [];
  for (const byte of bytes) {
    out.push(byte);
    if (byte === 0) out.push(0xff);
  }
  out.push(0);
  return Uint8Array.from(out);
}

/** Raw bytes: only as the last part, or where every key of the namespace has the same width here. */
export function raw(value: Uint8Array): Part {
  return value;
}

/** For a new namespace's builder; elsewhere use the typed builders below. */
export function encodeKey(namespace: Namespace, ...parts: Part[]): Key {
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

/** 01: holder of the data directory (lock.ts). */
export const serverLockKey = (): Key => encodeKey(namespaces.serverLock);

/** 02 projection-name 00: what a projection was when it was last saved, with its seq. */
export const checkpointKey = (projection: string): Key =>
  encodeKey(namespaces.checkpoint, text(projection));

/** 03 page:u32 seq:u64 part:u8: versions of a page lie side by side, oldest checkpoint first. */
export const projectionPageKey = (page: number, seq: bigint, part: number): Key =>
  encodeKey(namespaces.projectionPage, u32(page), u64(seq), u8(part));
export const projectionPagePrefix = (): Key => encodeKey(namespaces.projectionPage);
export function readProjectionPageKey(key: Uint8Array): {
  page: number;
  seq: bigint;
  part: number;
} {
  const view = new DataView(key.buffer, key.byteOffset, key.byteLength);
  return { page: view.getUint32(1), seq: view.getBigUint64(5), part: view.getUint8(13) };
}

/** 10 account-id. */
export const accountKey = (accountId: string): Key =>
  encodeKey(namespaces.account, text(accountId));
export const accountPrefix = (): Key => encodeKey(namespaces.account);

/** 11 normalised-e-mail. Its `check: null` is what makes an e-mail unique. */
export const accountByEmailKey = (normalisedEmail: string): Key =>
  encodeKey(namespaces.accountByEmail, text(normalisedEmail));

/** 12 key-id: the public id inside an API key. */
export const apiKeyKey = (keyId: string): Key => encodeKey(namespaces.apiKey, text(keyId));
export const apiKeyPrefix = (): Key => encodeKey(namespaces.apiKey);

/** 13 account-id 00 key-id 00. */
export const apiKeyByAccountKey = (accountId: string, keyId: string): Key =>
  encodeKey(namespaces.apiKeyByAccount, text(accountId), text(keyId));
export const apiKeyByAccountPrefix = (accountId: string): Key =>
  encodeKey(namespaces.apiKeyByAccount, text(accountId));

/** 20 CIDR: a rule of the allowlist, in canonical text. */
export const allowKey = (cidr: string): Key => encodeKey(namespaces.allow, text(cidr));
export const allowPrefix = (): Key => encodeKey(namespaces.allow);

/** 30 address:17 reported-at-descending:u48 id:16 — an address's reports, newest first. */
export const reportByAddressKey = (address: Uint8Array, reportedAt: number, id: Uint8Array): Key =>
  encodeKey(namespaces.reportByAddress, raw(address), descendingTime(reportedAt), raw(id));
export const reportByAddressPrefix = (address: Uint8Array): Key =>
  encodeKey(namespaces.reportByAddress, raw(address));

/** 31 id:16 — reports by id; an id begins with its report's time, so they lie oldest first. */
export const reportByIdKey = (id: Uint8Array): Key => encodeKey(namespaces.reportById, raw(id));
export const reportByIdPrefix = (): Key => encodeKey(namespaces.reportById);

/** 32 account-id 00 address:17 — there while the account may not report the address again. */
export const reportGuardKey = (accountId: string, address: Uint8Array): Key =>
  encodeKey(namespaces.reportGuard, text(accountId), raw(address));

/** 50: when each feed last changed, and which versions are known (feeds/stored.ts). */
export const feedHeadKey = (): Key => encodeKey(namespaces.feedHead);

/** 51 version:u64: what a version of the list added and removed, oldest first. */
export const feedStepKey = (version: number): Key =>
  encodeKey(namespaces.feedStep, u64(BigInt(version)));
export const feedStepPrefix = (): Key => encodeKey(namespaces.feedStep);
export function readFeedStepKey(key: Uint8Array): { version: number } {
  return { version: Number(viewOf(key).getBigUint64(1)) };
}

/** 52 version:u64 part:u16: the whole list at a version, in parts. */
export const feedBaseKey = (version: number, part: number): Key =>
  encodeKey(namespaces.feedBase, u64(BigInt(version)), u16(part));
export const feedBasePrefix = (): Key => encodeKey(namespaces.feedBase);
export function readFeedBaseKey(key: Uint8Array): { version: number; part: number } {
  const view = viewOf(key);
  return { version: Number(view.getBigUint64(1)), part: view.getUint16(9) };
}

function viewOf(key: Uint8Array): DataView {
  return new DataView(key.buffer, key.byteOffset, key.byteLength);
}

/** 60 account-id. */
export const profileKey = (accountId: string): Key =>
  encodeKey(namespaces.profile, text(accountId));

/** 61 account-id 00 client-id 00 redirect-origin 00. */
export const consentKey = (accountId: string, clientId: string, origin: string): Key =>
  encodeKey(namespaces.consent, text(accountId), text(clientId), text(origin));
export const consentPrefix = (accountId: string, clientId?: string): Key =>
  encodeKey(
    namespaces.consent,
    text(accountId),
    ...(clientId === undefined ? [] : [text(clientId)]),
  );

/** 62 account-id 00 client-id 00 redirect-origin 00: when a consent was last used. */
export const consentUseKey = (accountId: string, clientId: string, origin: string): Key =>
  encodeKey(namespaces.consentUse, text(accountId), text(clientId), text(origin));

/** 63 hash:32 — a consent form that waits for its answer, by the SHA-256 of its id. */
export const consentTransactionKey = (idHash: Uint8Array): Key =>
  encodeKey(namespaces.consentTransaction, raw(idHash));

/** 64 hash:32 — by the SHA-256 of the code. */
export const authorizationCodeKey = (codeHash: Uint8Array): Key =>
  encodeKey(namespaces.authorizationCode, raw(codeHash));

/** 65 account-id 00 name 00: the picture of an account. */
export const avatarKey = (accountId: string, name: string): Key =>
  encodeKey(namespaces.avatar, text(accountId), text(name));
export const avatarPrefix = (accountId: string): Key =>
  encodeKey(namespaces.avatar, text(accountId));

/** 66 name: whose picture has this name. */
export const avatarOwnerKey = (name: string): Key => encodeKey(namespaces.avatarOwner, text(name));

/** 40 site-key-id. */
export const siteKeyKey = (siteKeyId: string): Key =>
  encodeKey(namespaces.siteKey, text(siteKeyId));
export const siteKeyPrefix = (): Key => encodeKey(namespaces.siteKey);

/** 41 account-id 00 site-key-id 00. */
export const siteKeyByAccountKey = (accountId: string, siteKeyId: string): Key =>
  encodeKey(namespaces.siteKeyByAccount, text(accountId), text(siteKeyId));
export const siteKeyByAccountPrefix = (accountId: string): Key =>
  encodeKey(namespaces.siteKeyByAccount, text(accountId));

/** 42 id:16 — a CAPTCHA receipt that was redeemed. Its `check: null` makes it single-use. */
export const usedReceiptKey = (id: Uint8Array): Key => encodeKey(namespaces.usedReceipt, raw(id));

/** 68 account-id: password hash, known browsers and the like. */
export const credentialsKey = (accountId: string): Key =>
  encodeKey(namespaces.credentials, text(accountId));

/** 69 hash:32 — a link or ticket that works once, by the SHA-256 of its token. */
export const signonLinkKey = (tokenHash: Uint8Array): Key =>
  encodeKey(namespaces.signonLink, raw(tokenHash));

export const signonLinkPrefix = (): Key => encodeKey(namespaces.signonLink);

/** 6a id:16. */
export const sessionKey = (id: Uint8Array): Key => encodeKey(namespaces.session, raw(id));

/** 6b account-id 00 session-id:16. */
export const sessionByAccountKey = (accountId: string, id: Uint8Array): Key =>
  encodeKey(namespaces.sessionByAccount, text(accountId), raw(id));
export const sessionByAccountPrefix = (accountId: string): Key =>
  encodeKey(namespaces.sessionByAccount, text(accountId));

/** 6c account-id. */
export const secondFactorKey = (accountId: string): Key =>
  encodeKey(namespaces.secondFactor, text(accountId));

/** 6d credential-id: unique over all accounts by `check: null`. */
export const passkeyKey = (credentialId: Uint8Array): Key =>
  encodeKey(namespaces.passkey, raw(credentialId));

/** 6e account-id 00 credential-id. */
export const passkeyByAccountKey = (accountId: string, credentialId: Uint8Array): Key =>
  encodeKey(namespaces.passkeyByAccount, text(accountId), raw(credentialId));
export const passkeyByAccountPrefix = (accountId: string): Key =>
  encodeKey(namespaces.passkeyByAccount, text(accountId));

/** 6f hash:32 — an open passkey ceremony, by the SHA-256 of its challenge. */
export const passkeyChallengeKey = (challengeHash: Uint8Array): Key =>
  encodeKey(namespaces.passkeyChallenge, raw(challengeHash));

export const passkeyChallengePrefix = (): Key => encodeKey(namespaces.passkeyChallenge);

/** 70 account-id 00 at-descending:u48 random:4 — newest first. */
export const securityLogKey = (accountId: string, at: number, random: Uint8Array): Key =>
  encodeKey(namespaces.securityLog, text(accountId), descendingTime(at), raw(random));
export const securityLogPrefix = (accountId: string): Key =>
  encodeKey(namespaces.securityLog, text(accountId));

/** 71 account-id: the code that was sent to a phone. */
export const phoneCodeKey = (accountId: string): Key =>
  encodeKey(namespaces.phoneCode, text(accountId));

/** 72 account-id: how far the deletion of the account is; see signon/erasure-mark.ts. */
export const erasureKey = (accountId: string): Key =>
  encodeKey(namespaces.erasure, text(accountId));
export const erasurePrefix = (): Key => encodeKey(namespaces.erasure);

/** 48 bits, later times first. */
function descendingTime(ms: number): Part {
  const part = Buffer.allocUnsafe(6);
  part.writeUIntBE(0xffff_ffff_ffff - ms, 0, 6);
  return part;
}

/** f0 parts: for tests and tools; nothing in production. */
export const scratchKey = (...parts: Part[]): Key => encodeKey(namespaces.scratch, ...parts);

// Keys of the LMDB tables beside `entries` (lmdb-tables.ts). Each table has one kind of key, so
// they need no namespace byte. Times and versions are 48-bit: enough until the year 10889.

/** `journal`: seq:u64. */
export function journalRowKey(seq: number): Uint8Array {
  const key = Buffer.allocUnsafe(8);
  key.writeUInt32BE(Math.floor(seq / 0x1_0000_0000), 0);
  key.writeUInt32BE(seq >>> 0, 4);
  return key;
}

/** `event_ids`: the id as UTF-8. */
export const eventIdRowKey = (id: string): Uint8Array => Buffer.from(id, 'utf8');

/** `expiry`: expires-at:u48 version:u48. The version tells entries of one moment apart. */
export function expiryRowKey(expiresAt: number, version: number): Uint8Array {
  const key = Buffer.allocUnsafe(12);
  key.writeUIntBE(expiresAt, 0, 6);
  key.writeUIntBE(version, 6, 6);
  return key;
}

/** `meta`: a name. */
export const metaRowKey = (name: 'format' | 'counters' | 'probe'): Uint8Array =>
  Buffer.from(name, 'utf8');

function checkedInteger(value: number, max: number): number {
  if (!Number.isInteger(value) || value < 0 || value > max) {
    throw new RangeError(`${value} is not an integer from 0 to ${max}`);
  }
  return value;
}
