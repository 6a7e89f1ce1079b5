/**
 * Format 2: mail domains as A-labels. Accounts, their profiles and the rows by address follow.
 *
 * Nobody's account is merged with another one, and none is removed. Where two verified accounts
 * claim one address after the change, or the old text could be read as somebody else's mailbox, the
 * account keeps its old spelling along with the new one: it is found by that and by its id, has no
 * row by its address, and its profile counts as not verified until its owner confirms the address
 * anew. A registration that nobody verified never takes an address from a verified account.
 *
 * Three steps: `claims` notes for each account whose text changes which address it claims, `apply`
 * changes the accounts by those notes, `tidy` removes the notes. The layouts are those of format 2
 * and never change here, whatever the program's own become.
 */

import { domainToASCII } from 'node:url';
import { readKnownAddress } from '../../core/names/mail-address.ts';
import { createWriter, decode } from '../codec.ts';
import {
  accountByEmailKey,
  accountBySpellingKey,
  accountKey,
  accountPrefix,
  addressClaimKey,
  addressClaimPrefix,
  type Key,
  profileKey,
} from '../keys.ts';
import type { Commit } from '../store.ts';
import type { MigrationReader, MigrationRow, MigrationStep } from './step.ts';

interface Account {
  readonly email: string;
  readonly formerEmail: string;
  readonly createdAt: number;
  readonly flags: number;
  readonly pendingUntil: number;
  readonly keys: readonly string[];
}

export const mailDomainSteps: readonly MigrationStep[] = [
  { name: 'mail domains: claims', format: 2, plan: noteClaims },
  { name: 'mail domains: apply', format: 2, plan: applyClaims },
  { name: 'mail domains: tidy', format: 2, plan: removeClaims },
];

function noteClaims(store: MigrationReader, after: Uint8Array | undefined, limit: number) {
  const { rows, last } = store.scan(accountPrefix(), after, limit);
  const set = rows.flatMap(({ key, value }) => {
    const [id = ''] = textsOf(key);
    const account = readAccount(value);
    if (account === undefined || account.formerEmail !== '') return [];
    const { email, isSame } = newAddress(account.email);
    if (isSame && email === account.email) return [];
    return [{ key: addressClaimKey(email, id), value: new Uint8Array() }];
  });
  return { commit: { set }, next: last };
}

function applyClaims(store: MigrationReader, after: Uint8Array | undefined, limit: number) {
  const { rows, last } = store.scan(addressClaimPrefix(), after, limit);
  const draft = createDraft(store);
  for (const { key } of rows) {
    const [email = '', id = ''] = textsOf(key);
    applyClaim(store, draft, email, id);
  }
  return { commit: draft.commit(), next: last };
}

function removeClaims(store: MigrationReader, after: Uint8Array | undefined, limit: number) {
  const { rows, last } = store.scan(addressClaimPrefix(), after, limit);
  return { commit: { del: rows.map(({ key }) => key) }, next: last };
}

function applyClaim(store: MigrationReader, draft: Draft, email: string, id: string): void {
  const row = draft.get(accountKey(id));
  const account = row && readAccount(row.value);
  if (!row || !account || account.formerEmail !== '') return;
  freeAddress(draft, account.email, id);
  const ownerId = ownerOf(draft, email) ?? '';
  const ownerAccount = draft.get(accountKey(ownerId));
  const owner = ownerAccount && readAccount(ownerAccount.value);
  // One that changed as well is no owner of before: the claims list it.
  const isHeld = owner !== undefined && owner.pendingUntil === 0;
  const isPending = account.pendingUntil !== 0;
  const others = verifiedClaims(store, email, id);
  if (owner !== undefined && !isPending) unsettle(draft, ownerAccount!, ownerId, owner);
  if (isHeld || others || !newAddress(account.email).isSame || (isPending && owner)) {
    unsettle(draft, row, id, account, email);
    return;
  }
  draft.set(row, writeAccount({ ...account, email }));
  draft.put(accountByEmailKey(email), Buffer.from(id), row.expiresAt);
  changeProfile(draft, id, email, true);
}

/** Returns whether another verified account claims the address. */
function verifiedClaims(store: MigrationReader, email: string, id: string): boolean {
  let after: Uint8Array | undefined;
  do {
    const { rows, last } = store.scan(addressClaimPrefix(email), after, 100);
    for (const { key } of rows) {
      const [, other = ''] = textsOf(key);
      const row = other === id ? undefined : store.get(accountKey(other));
      if (row !== undefined && readAccount(row.value)?.pendingUntil === 0) return true;
    }
    after = last;
  } while (after !== undefined);
  return false;
}

function ownerOf(draft: Draft, email: string): string | undefined {
  const row = draft.get(accountByEmailKey(email));
  return row && Buffer.from(row.value).toString('utf8');
}

function freeAddress(draft: Draft, email: string, id: string): void {
  if (ownerOf(draft, email) === id) draft.del(accountByEmailKey(email));
}

/** From now on found by its id and its old spelling; nothing of it goes to sites. */
function unsettle(
  draft: Draft,
  row: MigrationRow,
  id: string,
  account: Account,
  email = account.email,
): void {
  if (account.formerEmail !== '') return;
  const formerEmail = account.email;
  freeAddress(draft, formerEmail, id);
  draft.set(row, writeAccount({ ...account, email, formerEmail }));
  draft.put(accountBySpellingKey(formerEmail), Buffer.from(id), row.expiresAt);
  changeProfile(draft, id, email, false);
}

/**
 * The address under the rule of format 2. `isSame`: the old text named the same mailbox by any
 * reading; else its mail may have gone elsewhere, and the address is only a text to show.
 */
function newAddress(email: string): { readonly email: string; readonly isSame: boolean } {
  const known = readKnownAddress(email);
  if (known !== undefined) return { email: known, isSame: true };
  const at = email.lastIndexOf('@');
  const local = email.slice(0, at);
  const domain = email.slice(at + 1).replace(/\.+$/, '');
  // The function reads a host of an URL: of 'a/b' it would take the 'a'.
  const mapped = /[\x00-\x7f]/.test(domain.replace(/[a-z0-9._-]/g, ''))
    ? ''
    : domainToASCII(domain);
  const shown = readKnownAddress(`${local}@${mapped}`);
  // RFC 2606: no mail goes there, and nobody can register it.
  return { email: shown ?? `${local}@address.invalid`, isSame: false };
}

/** Undefined for a damaged row: it stays as it is, and as unusable as it was. */
function readAccount(bytes: Uint8Array): Account | undefined {
  return decode(bytes, (input) => {
    const layout = input.u8();
    if (layout < 1 || layout > 3) input.reject();
    const email = input.text();
    const createdAt = input.f64();
    const flags = input.u8();
    const pendingUntil = layout === 1 ? 0 : input.f64();
    const count = Math.min(input.varint(), input.remaining());
    const keys = Array.from({ length: count }, () => input.text());
    const formerEmail = layout < 3 ? '' : input.text();
    return { email, formerEmail, createdAt, flags, pendingUntil, keys };
  });
}

function writeAccount(account: Account): Uint8Array {
  const out = createWriter();
  out.u8(3).text(account.email).f64(account.createdAt).u8(account.flags);
  out.f64(account.pendingUntil).varint(account.keys.length);
  for (const key of account.keys) out.text(key);
  return out.text(account.formerEmail).finish();
}

/** Flag 1: the address is verified. Of its 13 texts the address is the sixth. */
function changeProfile(draft: Draft, id: string, email: string, keepsVerified: boolean): void {
  const row = draft.get(profileKey(id));
  const changed =
    row &&
    decode(row.value, (input) => {
      const out = createWriter(256);
      const layout = input.u8();
      if (layout !== 1) input.reject();
      const flags = input.u8();
      out.u8(layout).u8(keepsVerified ? flags : flags & ~1);
      for (let i = 0; i < 13; i++) {
        const text = input.text();
        out.text(i === 5 ? email : text);
      }
      return out.finish();
    });
  if (row && changed) draft.set(row, changed);
}

/** The changes of a batch over what is stored. A commit may name a key only once. */
interface Draft {
  get(key: Key): MigrationRow | undefined;
  set(row: MigrationRow, value: Uint8Array): void;
  put(key: Key, value: Uint8Array, expiresAt: number): void;
  del(key: Key): void;
  commit(): Commit;
}

function createDraft(store: MigrationReader): Draft {
  const rows = new Map<string, { key: Key; row: MigrationRow | undefined }>();
  const nameOf = (key: Key) => Buffer.from(key).toString('latin1');
  function put(key: Key, value: Uint8Array, expiresAt: number): void {
    rows.set(nameOf(key), { key, row: { key, value, expiresAt } });
  }
  return {
    get(key) {
      const drafted = rows.get(nameOf(key));
      return drafted === undefined ? store.get(key) : drafted.row;
    },
    set: ({ key, expiresAt }, value) => put(key, value, expiresAt),
    put,
    del: (key) => void rows.set(nameOf(key), { key, row: undefined }),
    commit() {
      const all = [...rows.values()];
      return {
        set: all
          .flatMap(({ row }) => row ?? [])
          .map(({ key, value, expiresAt }) =>
            expiresAt === 0 ? { key, value } : { key, value, expiresAt },
          ),
        del: all.filter(({ row }) => row === undefined).map(({ key }) => key),
      };
    },
  };
}

/** The parts of a key of texts; none of these texts holds the byte that ends one. */
function textsOf(key: Key): string[] {
  return Buffer.from(key.subarray(1)).toString('utf8').split('\0').slice(0, -1);
}
