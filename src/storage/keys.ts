/**
 * Every key encoding of the store, in one place; docs/STORAGE.md shows the same table.
 * A key is a namespace byte and then parts whose bytes sort as their values do: integers
 * big-endian, text escaped and ended by 0x00 (so `a` sorts before `aa` in any composite),
 * raw bytes only as the last part or at a fixed width.
 *
 * To add a key: take a free number of `namespaces`, write a builder here (and a prefix builder if it
 * is scanned), add a row to docs/STORAGE.md. Never reuse or change a number that was released.
 */

import { writeAscii } from '../core/text.ts';

/** A part of a key: its bytes, sorting as the value does. */
type KeyPart = Uint8Array;

function u8(value: number): KeyPart {
  return Uint8Array.of(checkedInteger(value, 0xff));
}

function u16(value: number): KeyPart {
  const part = Buffer.alloc(2);
  part.writeUInt16BE(checkedInteger(value, 0xffff));
  return part;
}

function u32(value: number): KeyPart {
  const part = Buffer.alloc(4);
  part.writeUInt32BE(checkedInteger(value, 0xffff_ffff));
  return part;
}

function u64(value: bigint): KeyPart {
  const part = Buffer.alloc(8);
  part.writeBigUInt64BE(value);
  return part;
}

/** UTF-8, each 0x00 escaped as 0x00 0xff, ended by 0x00: sorts right also when parts follow. */
function text(value: string): KeyPart {
  const plain = new Uint8Array(value.length + 1);
  if (writeAscii(plain, 0, value) && !value.includes('\0')) return plain;
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

/** The texts of a key that is made of texts alone, none with a zero byte. */
export function readTexts(key: Uint8Array): string[] {
  return Buffer.from(key).toString('utf8', 1).split('\0').slice(0, -1);
}

/** Raw bytes: only as the last part, or where every key of the namespace has the same width here. */
function raw(value: Uint8Array): KeyPart {
  return value;
}

/** 48 bits, earlier times first. */
function time(ms: number): KeyPart {
  const part = Buffer.allocUnsafe(6);
  part.writeUIntBE(ms, 0, 6);
  return part;
}

/** 48 bits, later times first. */
const descendingTime = (ms: number): KeyPart => time(0xffff_ffff_ffff - ms);

function checkedInteger(value: number, max: number): number {
  if (!Number.isInteger(value) || value < 0 || value > max) {
    throw new RangeError(`${value} is not an integer from 0 to ${max}`);
  }
  return value;
}

export { raw, text, u8, u16, u32, u64 };

/** LMDB's bound. */
export const keyBytesMax = 1_978;

declare const keyBrand: unique symbol;
/** Made by this file only. */
export type Key = Uint8Array & { readonly [keyBrand]: 'key' };

/** First byte of a key. 0x01–0x0f: the store's own needs; 0x10–0xef: domains; 0xf0: tests and tools. */
export const namespaces = {
  /** Nothing is written there any more: an older server named itself in it. */
  formerLock: 0x01,
  checkpoint: 0x02,
  projectionPage: 0x03,
  ledger: 0x04,
  lease: 0x05,
  counters: 0x06,
  bound: 0x07,
  clock: 0x08,
  account: 0x10,
  accountByEmail: 0x11,
  apiKey: 0x12,
  apiKeyByAccount: 0x13,
  accountSlot: 0x15,
  accountStanding: 0x16,
  notifiedBudgets: 0x17,
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
  peer: 0x26,
  peerCursor: 0x27,
  sourceSecret: 0x28,
  peerNotes: 0x29,
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
  namedFeed: 0x54,
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
  siteAccess: 0x81,
  accountGroups: 0x82,
  siteNews: 0x83,
  siteNotice: 0x84,
  trustedBrowser: 0x85,
  siteDelivery: 0x86,
  federationKey: 0x90,
  federationPublication: 0x91,
  federationSegment: 0x92,
  federationSnapshot: 0x93,
  scratch: 0xf0,
} as const;

type Namespace = (typeof namespaces)[keyof typeof namespaces];
/** Serves a new namespace's builder; elsewhere use the typed builders below. */
export function encodeKey(namespace: Namespace, ...parts: KeyPart[]): Key {
  let length = 1;
  for (const part of parts) length += part.length;
  if (length > keyBytesMax) throw new RangeError(`key of ${length} bytes is too long`);
  const key = new Uint8Array(length);
  key[0] = namespace;
  let position = 1;
  for (const part of parts) {
    key.set(part, position);
    position += part.length;
  }
  return key as Key;
}

/** The first byte tells most keys of a commit apart: each kind of row has its own. */
export function isSameKey(a: Key, b: Key): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
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

/** 02 projection-name 00: what a projection was when it was last saved, with its seq. */
export const checkpointKey = (projection: string): Key =>
  encodeKey(namespaces.checkpoint, text(projection));

/** 03 page:u32 seq:u64 part:u8: versions of a page lie side by side, oldest checkpoint first. */
export const projectionPageKey = (page: number, seq: bigint, part: number): Key =>
  encodeKey(namespaces.projectionPage, u32(page), u64(seq), u8(part));
export const projectionPageVersions = (page: number): Key =>
  encodeKey(namespaces.projectionPage, u32(page));
export const projectionPagePrefix = (): Key => encodeKey(namespaces.projectionPage);
export function readProjectionPageKey(key: Uint8Array) {
  const view = viewOf(key);
  return { page: view.getUint32(1), seq: view.getBigUint64(5), part: view.getUint8(13) };
}

/**
 * 04 table-name 00: how many entries a bounded table has (ledger.ts), or that a restore left feeds
 * or what is published to peers behind.
 */
export const ledgerKey = (table: string): Key => encodeKey(namespaces.ledger, text(table));
export const feedsBehindKey = (): Key => ledgerKey('feeds_behind');
export const federationBehindKey = (): Key => ledgerKey('federation_behind');
/** Random bytes of the restore that made the store: what was signed before it for one use is good no more. */
export const restoredKey = (): Key => ledgerKey('restored');

/** 05 name 00: which node does a work that one does for all (nodes/lease.ts). */
export const leaseKey = (name: string): Key => encodeKey(namespaces.lease, text(name));

/** 06: what this machine's server did, counted (app/activity-counters.ts). */
export const activityKey = (): Key => encodeKey(namespaces.counters);

/** 07 rows-name 00 [account-id 00]: changed by each commit that adds a row under a bound (change.ts). */
export const boundKey = (rows: string, accountId?: string): Key =>
  encodeKey(namespaces.bound, text(rows), ...given(accountId));

/** 08: when what had expired could be removed last (maintenance.ts). */
export const trustedTimeKey = (): Key => encodeKey(namespaces.clock);

/** 10 account-id. */
export const accountKey = (id: string): Key => encodeKey(namespaces.account, text(id));
export const accountPrefix = (): Key => encodeKey(namespaces.account);

/** 11 normalised-e-mail. Its `check: null` is what makes an e-mail unique. */
export const accountByEmailKey = (email: string): Key =>
  encodeKey(namespaces.accountByEmail, text(email));

/** 12 key-id: the public id inside an API key. */
export const apiKeyKey = (keyId: string): Key => encodeKey(namespaces.apiKey, text(keyId));
export const apiKeyPrefix = (): Key => encodeKey(namespaces.apiKey);

/** 13 account-id 00 key-id 00: living keys that have a name. */
export const apiKeyByAccountKey = (accountId: string, keyId: string): Key =>
  encodeKey(namespaces.apiKeyByAccount, text(accountId), text(keyId));
export const apiKeyByAccountPrefix = (id?: string): Key =>
  encodeKey(namespaces.apiKeyByAccount, ...given(id));

/** 18 key-id 00: when and by whom it was used last. */
export const apiKeyUseKey = (keyId: string): Key => encodeKey(namespaces.apiKeyUse, text(keyId));

/** 15 account-id: whether the account holds a slot of the shared tables (access/accounts/slots.ts). */
export const accountSlotKey = (id: string): Key => encodeKey(namespaces.accountSlot, text(id));

/** 16 account-id: the operator's word for it (access/accounts/account-row.ts). */
export const accountStandingKey = (id: string) => encodeKey(namespaces.accountStanding, text(id));
/** 19 account-id: a role beyond that of a member (access/accounts/records.ts). */
export const accountRoleKey = (id: string): Key => encodeKey(namespaces.accountRole, text(id));
export const accountRolePrefix = (): Key => encodeKey(namespaces.accountRole);

/** 17: one row, who was notified that a budget of votes runs out (app/vote-budgets.ts). */
export const notifiedBudgetsKey = (): Key => encodeKey(namespaces.notifiedBudgets);

/** 1a account-id 00 address 00: a ban for the bouncers of an account (integrations/crowdsec/bans.ts). */
export const agentBanKey = (accountId: string, address: string): Key =>
  encodeKey(namespaces.agentBan, text(accountId), text(address));
export const agentBanPrefix = (id?: string): Key => encodeKey(namespaces.agentBan, ...given(id));

/** 1b account-id 00 id 00: a webhook of an account (reputation/webhooks/webhook-store.ts). */
export const webhookKey = (accountId: string, id: string): Key =>
  encodeKey(namespaces.webhook, text(accountId), text(id));
export const webhookPrefix = (id?: string): Key => encodeKey(namespaces.webhook, ...given(id));

/** 1c account-id 00 key-id 00: each key of an account, also those that were revoked. */
export const ownedApiKeyKey = (accountId: string, keyId: string): Key =>
  encodeKey(namespaces.ownedApiKey, text(accountId), text(keyId));
export const ownedApiKeyPrefix = (id: string): Key => encodeKey(namespaces.ownedApiKey, text(id));

/** 20 CIDR: a rule of the allowlist, in canonical text. */
export const allowKey = (cidr: string): Key => encodeKey(namespaces.allow, text(cidr));
export const allowPrefix = (): Key => encodeKey(namespaces.allow);

/** 21 kind 00 name 00: a third-party list that is known (reputation/lists/load-list.ts). */
export const listRowKey = (list: string, source: string): Key =>
  encodeKey(namespaces.list, text(list), text(source));
export const listPrefix = (): Key => encodeKey(namespaces.list);

/** 22 name 00: a list that the server fetches (reputation/lists/subscriptions/subscriptions.ts). */
export const subscriptionKey = (name: string) => encodeKey(namespaces.subscription, text(name));
export const subscriptionPrefix = (): Key => encodeKey(namespaces.subscription);

/** 28 name 00: what a source asks for, sealed (reputation/lists/subscriptions/subscriptions.ts). */
export const sourceSecretKey = (name: string) => encodeKey(namespaces.sourceSecret, text(name));
export const sourceSecretPrefix = (): Key => encodeKey(namespaces.sourceSecret);

/** 23 address 00: a request to take back what is said of it (reputation/requests/queue.ts). */
export const removalKey = (address: string): Key => encodeKey(namespaces.removal, text(address));
export const removalPrefix = (): Key => encodeKey(namespaces.removal);

/** 24 address 00: what a visitor says of it (reputation/requests/queue.ts). */
export const anonymousReportKey = (address: string): Key =>
  encodeKey(namespaces.tip, text(address));
export const anonymousReportPrefix = (): Key => encodeKey(namespaces.tip);

/** 25 CIDR: what the operator says of it by hand, in canonical text (reputation/ranges/operator-ranges.ts). */
export const manualEntryKey = (cidr: string): Key => encodeKey(namespaces.ownEntry, text(cidr));
export const manualEntryPrefix = (): Key => encodeKey(namespaces.ownEntry);

/** 26 number:u8: a server of another owner, its terms and what came of the last poll. */
export const peerKey = (peer: number): Key => encodeKey(namespaces.peer, u8(peer));
export const peerPrefix = (): Key => encodeKey(namespaces.peer);

/** 27 number:u8: how far a peer was read; without it the peer is read whole. */
export const peerCursorKey = (peer: number): Key => encodeKey(namespaces.peerCursor, u8(peer));

/** 29 number:u8: notices sent about a peer, and rows that wait (reputation/federation/subscribe/notices.ts). */
export const peerNotesKey = (peer: number): Key => encodeKey(namespaces.peerNotes, u8(peer));
export const peerNotesPrefix = (): Key => encodeKey(namespaces.peerNotes);

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
export const reportGuardPrefix = (): Key => encodeKey(namespaces.reportGuard);

/** 33 account-id 00 reported-at-descending:u48 id:16 — an account's reports, newest first. */
export const reportByAccountKey = (accountId: string, reportedAt: number, id: Uint8Array): Key =>
  encodeKey(namespaces.reportByAccount, text(accountId), descendingTime(reportedAt), raw(id));
export const reportByAccountPrefix = (id: string): Key =>
  encodeKey(namespaces.reportByAccount, text(id));

/** 34 account-id 00 — that all its reports are under 33; without an id: since when new ones are. */
export const reportsIndexedKey = (id: string): Key =>
  encodeKey(namespaces.reportsIndexed, text(id));

/** 35 address:17 account-id 00 — what is left of an account's reports of an address (reports/store/tails.ts). */
export const reportTailKey = (address: Uint8Array, accountId: string): Key =>
  encodeKey(namespaces.reportTail, raw(address), text(accountId));
export const reportTailPrefix = (address: Uint8Array): Key =>
  encodeKey(namespaces.reportTail, raw(address));

/** 36 account-id 00 address:17 — the addresses of an account's tails. */
export const reportTailByAccountKey = (accountId: string, address: Uint8Array): Key =>
  encodeKey(namespaces.reportTailByAccount, text(accountId), raw(address));
export const reportTailByAccountPrefix = (id: string): Key =>
  encodeKey(namespaces.reportTailByAccount, text(id));

/** 37 day:u16 address:17 — days since 1970 on which tails of the address have reports, oldest first. */
export const reportTailDueKey = (day: number, address: Uint8Array): Key =>
  encodeKey(namespaces.reportTailDue, u16(day), raw(address));
export const reportTailDuePrefix = (): Key => encodeKey(namespaces.reportTailDue);
export function readReportTailDueKey(key: Uint8Array): { day: number; address: Uint8Array } {
  return { day: viewOf(key).getUint16(1), address: key.slice(3, 20) };
}

/** 50: when each feed last changed, and which versions are known (reputation/blocklists/builder/history.ts). */
export const feedHeadKey = (): Key => encodeKey(namespaces.feedHead);

/** 51 version:u64: what a version of the list added and removed, oldest first. */
export const feedStepKey = (version: number): Key =>
  encodeKey(namespaces.feedStep, u64(BigInt(version)));
export const feedStepPrefix = (): Key => encodeKey(namespaces.feedStep);

/** 52 version:u64 part:u16: the whole list at a version, in parts. */
export const feedBaseKey = (version: number, part: number): Key =>
  encodeKey(namespaces.feedBase, u64(BigInt(version)), u16(part));
export const feedBasePrefix = (): Key => encodeKey(namespaces.feedBase);
/** Returns the feed version in the key of a step or of a part of a base. */
export const readFeedVersion = (key: Uint8Array): number => Number(viewOf(key).getBigUint64(1));

/** 53: somebody follows the changes on a node that does not build the feeds. */
export const feedFollowedKey = (): Key => encodeKey(namespaces.feedFollowed);

/** 54 name 00: a feed that the operator named (reputation/blocklists/named/named-feeds.ts). */
export const namedFeedKey = (name: string): Key => encodeKey(namespaces.namedFeed, text(name));
export const namedFeedPrefix = (): Key => encodeKey(namespaces.namedFeed);

/** 90: the key of this server among its peers, sealed (reputation/federation/publish/stored.ts). */
export const federationKeyKey = (): Key => encodeKey(namespaces.federationKey);

/** 91: how far this server has published, and the head as it was signed. */
export const federationPublicationKey = (): Key => encodeKey(namespaces.federationPublication);

/** 92 seq:u64: a segment of what this server publishes, oldest first. */
export const federationSegmentKey = (seq: number): Key =>
  encodeKey(namespaces.federationSegment, u64(BigInt(seq)));
export const federationSegmentPrefix = (): Key => encodeKey(namespaces.federationSegment);

/** 93 seq:u64 part:u16: a snapshot of it, in parts. */
export const federationSnapshotKey = (seq: number, part: number): Key =>
  encodeKey(namespaces.federationSnapshot, u64(BigInt(seq)), u16(part));
export const federationSnapshotPrefix = (seq?: number): Key =>
  encodeKey(namespaces.federationSnapshot, ...(seq === undefined ? [] : [u64(BigInt(seq))]));
/** Returns the number in the key of a segment or of a part of a snapshot. */
export const readFederationSeq = (key: Uint8Array): number => Number(viewOf(key).getBigUint64(1));

function viewOf(key: Uint8Array): DataView {
  return new DataView(key.buffer, key.byteOffset, key.byteLength);
}

/** 60 account-id. */
export const profileKey = (id: string): Key => encodeKey(namespaces.profile, text(id));

/** 61 account-id 00 client-id 00 redirect-origin 00. */
export const consentKey = (accountId: string, clientId: string, origin: string): Key =>
  encodeKey(namespaces.consent, text(accountId), text(clientId), text(origin));
export const consentPrefix = (accountId?: string, clientId?: string): Key =>
  encodeKey(namespaces.consent, ...given(accountId), ...given(clientId));

/** 62 account-id 00 client-id 00 redirect-origin 00: when a consent was last used. */
export const consentUseKey = (accountId: string, clientId: string, origin: string): Key =>
  encodeKey(namespaces.consentUse, text(accountId), text(clientId), text(origin));
export const consentUsePrefix = (): Key => encodeKey(namespaces.consentUse);

/** 63 holder-hash:16 number:u8 — a site's request that waits; a holder has a few of them, numbered. */
export const consentTransactionKey = (holderHash: Uint8Array, number: number): Key =>
  encodeKey(namespaces.consentTransaction, raw(holderHash), u8(number));
export const consentTransactionPrefix = (holderHash?: Uint8Array): Key =>
  encodeKey(namespaces.consentTransaction, ...(holderHash === undefined ? [] : [raw(holderHash)]));
/** Undefined for a row of format 1, which had another key. */
export function readConsentTransactionKey(key: Uint8Array) {
  return key.length === 18 ? { holderHash: key.slice(1, 17), number: key[17]! } : undefined;
}

/** 64 hash:32 — by the SHA-256 of the code. */
export const authorizationCodePrefix = (): Key => encodeKey(namespaces.authorizationCode);
export const authorizationCodeKey = (codeHash: Uint8Array): Key =>
  encodeKey(namespaces.authorizationCode, raw(codeHash));

/** 65 account-id 00 name 00: the picture of an account. */
export const avatarKey = (accountId: string, name: string): Key =>
  encodeKey(namespaces.avatar, text(accountId), text(name));
export const avatarPrefix = (id: string): Key => encodeKey(namespaces.avatar, text(id));

/** 66 name: whose picture has this name. */
export const avatarOwnerKey = (name: string): Key => encodeKey(namespaces.avatarOwner, text(name));

/** 67 id:16 — a sealed request that somebody signed in with. Its `check: null` makes it single-use. */
export const usedSealKey = (id: Uint8Array): Key => encodeKey(namespaces.usedSeal, raw(id));

/** 40 site-key-id. */
export const siteKeyKey = (id: string): Key => encodeKey(namespaces.siteKey, text(id));
export const siteKeyPrefix = (): Key => encodeKey(namespaces.siteKey);

/** 41 account-id 00 site-key-id 00. */
export const siteKeyByAccountKey = (accountId: string, siteKeyId: string): Key =>
  encodeKey(namespaces.siteKeyByAccount, text(accountId), text(siteKeyId));
export const siteKeyByAccountPrefix = (id: string): Key =>
  encodeKey(namespaces.siteKeyByAccount, text(id));

/** 42 id:16 — a CAPTCHA receipt that was redeemed. Its `check: null` makes it single-use. */
export const usedReceiptKey = (id: Uint8Array): Key => encodeKey(namespaces.usedReceipt, raw(id));

/** 80 hour:4 name:8: a mark of /connect that came with a request (access/marks.ts). */
export const sightingKey = (id: Uint8Array): Key => encodeKey(namespaces.sighting, raw(id));

/** 68 account-id: password hash, known browsers and the like. */
export const credentialsKey = (id: string): Key => encodeKey(namespaces.credentials, text(id));

/** 69 hash:32 — a link or ticket that works once, by the SHA-256 of its token. */
export const signonLinkKey = (hash: Uint8Array): Key => encodeKey(namespaces.signonLink, raw(hash));
export const signonLinkPrefix = (): Key => encodeKey(namespaces.signonLink);

/** 6a id:16. */
export const sessionKey = (id: Uint8Array): Key => encodeKey(namespaces.session, raw(id));

/** 6b account-id 00 session-id:16. */
export const sessionByAccountKey = (accountId: string, id: Uint8Array): Key =>
  encodeKey(namespaces.sessionByAccount, text(accountId), raw(id));
export const sessionByAccountPrefix = (id: string): Key =>
  encodeKey(namespaces.sessionByAccount, text(id));

/** 6c account-id. */
export const secondFactorKey = (id: string): Key => encodeKey(namespaces.secondFactor, text(id));

/** 6d credential-id: unique over all accounts by `check: null`. */
export const passkeyKey = (id: Uint8Array): Key => encodeKey(namespaces.passkey, raw(id));

/** 6e account-id 00 credential-id. */
export const passkeyByAccountKey = (accountId: string, credentialId: Uint8Array): Key =>
  encodeKey(namespaces.passkeyByAccount, text(accountId), raw(credentialId));
export const passkeyByAccountPrefix = (id: string): Key =>
  encodeKey(namespaces.passkeyByAccount, text(id));

/** 6f id:16 — a passkey ceremony whose right answer came. Its `check: null` makes it single-use. */
export const passkeyChallengeKey = (id: Uint8Array): Key =>
  encodeKey(namespaces.passkeyChallenge, raw(id));

/** 70 account-id 00 at-descending:u48 random:4 — newest first. */
export const securityLogKey = (accountId: string, at: number, random: Uint8Array): Key =>
  encodeKey(namespaces.securityLog, text(accountId), descendingTime(at), raw(random));
export const securityLogPrefix = (id: string): Key => encodeKey(namespaces.securityLog, text(id));

/** 71 account-id: the code that was sent to a phone. */
export const phoneCodeKey = (id: string): Key => encodeKey(namespaces.phoneCode, text(id));

/** 72 account-id: how far the deletion of the account is; see signon/people.ts. */
export const erasureKey = (id: string): Key => encodeKey(namespaces.erasure, text(id));
export const erasurePrefix = (): Key => encodeKey(namespaces.erasure);

/** 73 account-id 00 random:8 — a mail about a change that was not sent yet (signon/mail/notices.ts). */
export const noticeKey = (accountId: string, id: Uint8Array): Key =>
  encodeKey(namespaces.notice, text(accountId), raw(id));
export const noticePrefix = (id?: string): Key => encodeKey(namespaces.notice, ...given(id));

/** 74 account-id: an account that was deleted, for good (storage/backup/erased.ts). */
export const erasedKey = (id: string): Key => encodeKey(namespaces.erased, text(id));
export const erasedPrefix = (): Key => encodeKey(namespaces.erased);

/** 75 account-id: an account that waits for its verification (signon/people/pending.ts). */
export const pendingAccountKey = (id: string) => encodeKey(namespaces.pendingAccount, text(id));
export const pendingAccountPrefix = (): Key => encodeKey(namespaces.pendingAccount);

/** 76 domain 00: a site that the operator blocks (signon/sites/site-list.ts). */
export const blockedSiteKey = (domain: string) => encodeKey(namespaces.blockedSite, text(domain));
export const blockedSitePrefix = (): Key => encodeKey(namespaces.blockedSite);

/** 81 domain 00: who may use a site (signon/sites/groups.ts). */
export const siteAccessKey = (domain: string) => encodeKey(namespaces.siteAccess, text(domain));
export const siteAccessPrefix = (): Key => encodeKey(namespaces.siteAccess);

/** 82 account-id 00: the groups of an account. */
export const accountGroupsKey = (id: string): Key => encodeKey(namespaces.accountGroups, text(id));
export const accountGroupsPrefix = (): Key => encodeKey(namespaces.accountGroups);

/** 83 account-id 00 kind:1 — notices due to the sites of an account (signon/sites/site-news.ts). */
export const siteNewsKey = (accountId: string, kind: number): Key =>
  encodeKey(namespaces.siteNews, text(accountId), u8(kind));
export const siteNewsPrefix = (): Key => encodeKey(namespaces.siteNews);
export const readSiteNewsKey = (key: Uint8Array): string => readTexts(key)[0]!;

/** 85 account-id 00 id:16 — a browser that is trusted (signon/proofs/trusted-browsers.ts). */
export const trustedBrowserKey = (accountId: string, id: Uint8Array): Key =>
  encodeKey(namespaces.trustedBrowser, text(accountId), raw(id));
export const trustedBrowserPrefix = (id: string): Key =>
  encodeKey(namespaces.trustedBrowser, text(id));

/** 84 domain 00 client-id 00 origin 00 service-id 00 kind:1 — a notice to a site. */
export const siteNoticeKey = (site: readonly string[], subject: string, kind: number): Key =>
  encodeKey(namespaces.siteNotice, ...site.map(text), text(subject), u8(kind));
export const siteNoticePrefix = (...site: readonly string[]): Key =>
  encodeKey(namespaces.siteNotice, ...site.map(text));
/** The place behind all notices of a site: no text begins with this byte. */
export const siteNoticeEnd = (...site: readonly string[]): Key =>
  encodeKey(namespaces.siteNotice, ...site.map(text), u8(0xff));

/** 86 client-id 00 origin 00 — how a site takes its notices (signon/sites/site-news.ts). */
export const siteDeliveryKey = (clientId: string, origin: string): Key =>
  encodeKey(namespaces.siteDelivery, text(clientId), text(origin));
export const siteDeliveryPrefix = (): Key => encodeKey(namespaces.siteDelivery);

/** 78 at:u48 random:4: an entry of the log of sign-ins, oldest first. */
export const signInLogKey = (at: number, random: Uint8Array): Key =>
  encodeKey(namespaces.signInLog, time(at), raw(random));
export const signInLogPrefix = (): Key => encodeKey(namespaces.signInLog);

/** 79 at:u48 random:4: a command in the audit log, oldest first. */
export const auditKey = (at: number, random: Uint8Array): Key =>
  encodeKey(namespaces.audit, time(at), raw(random));
export const auditPrefix = (): Key => encodeKey(namespaces.audit);

/** f0 parts: for tests and tools; nothing in production. */
export const scratchKey = (...parts: KeyPart[]): Key => encodeKey(namespaces.scratch, ...parts);

const given = (id?: string): KeyPart[] => (id === undefined ? [] : [text(id)]);

/*
 * Keys of the LMDB tables next to `entries` (lmdb/tables.ts). Each table has one kind of key, so they need no
 * namespace byte. Times and versions have 48 bits: enough until the year 10889.
 */

/** `journal`: seq:u64. */
export function journalRowKey(seq: number): Uint8Array {
  const key = Buffer.allocUnsafe(8);
  key.writeUInt32BE(Math.floor(seq / 0x1_0000_0000), 0);
  key.writeUInt32BE(seq >>> 0, 4);
  return key;
}

/** `event_ids`: the id as UTF-8. */
export function eventIdRowKey(id: string): Uint8Array {
  const plain = Buffer.allocUnsafe(id.length);
  return writeAscii(plain, 0, id) ? plain : Buffer.from(id, 'utf8');
}

/** `expiry`: expires-at:u48 version:u48. The version tells entries of one moment apart. */
export function expiryRowKey(expiresAt: number, version: number): Uint8Array {
  const key = Buffer.allocUnsafe(12);
  key.writeUIntBE(expiresAt, 0, 6);
  key.writeUIntBE(version, 6, 6);
  return key;
}

/** `meta`: a name. */
export const metaRowKey = (
  name: 'format' | 'counters' | 'probe' | 'identity' | 'master_key',
): Uint8Array => Buffer.from(name, 'utf8');
