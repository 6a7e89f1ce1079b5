/**
 * A person: the account (src/access has its record) and the credentials beside it. One loader for
 * all of sign-on, with the versions that a change must check.
 */

import { normaliseEmail } from '../access/accounts.ts';
import { type AccountRecord, decodeAccount } from '../access/records.ts';
import { createWriter, decode } from '../store/codec.ts';
import { accountByEmailKey, accountKey, credentialsKey } from '../store/keys.ts';
import type { Check, SetRow, Store } from '../store/store.ts';
import type { Language } from './visitor.ts';

export interface Credentials {
  /** PHC string; empty: no password was set yet. */
  readonly passwordHash: string;
  /** Milliseconds since 1970; 0: never. */
  readonly passwordChangedAt: number;
  /** Sessions of another epoch are over. Growing it ends them all in one commit. */
  readonly epoch: number;
  readonly language: Language;
  /** Browsers that signed in (`browserHash`), newest last. */
  readonly browsers: readonly Uint8Array[];
}

export interface Person {
  readonly id: string;
  readonly account: AccountRecord;
  readonly accountVersion: number;
  readonly credentials: Credentials;
  /** Null: not written yet. The operator made the account. */
  readonly credentialsVersion: number | null;
}

export interface People {
  byEmail(email: string): Promise<Person | undefined>;
  byId(id: string): Promise<Person | undefined>;
}

export const browsersMax = 20;
const layout = 1;
const languages: readonly Language[] = ['en', 'fr'];

const noCredentials: Credentials = {
  passwordHash: '',
  passwordChangedAt: 0,
  epoch: 0,
  language: 'en',
  browsers: [],
};

export function openPeople(store: Store): People {
  async function byId(id: string): Promise<Person | undefined> {
    const [accountRow, credentialsRow] = await Promise.all([
      store.get(accountKey(id)),
      store.get(credentialsKey(id)),
    ]);
    const account = accountRow && decodeAccount(accountRow.value);
    if (!accountRow || !account) return undefined;
    const credentials = credentialsRow ? decodeCredentials(credentialsRow.value) : noCredentials;
    // Damaged credentials must not look like none: recovery would overwrite them unseen.
    if (credentials === undefined) throw new Error(`the credentials of account ${id} are damaged`);
    return {
      id,
      account,
      accountVersion: accountRow.version,
      credentials,
      credentialsVersion: credentialsRow?.version ?? null,
    };
  }

  return {
    byId,
    async byEmail(email) {
      const normal = normaliseEmail(email);
      const row = normal === undefined ? undefined : await store.get(accountByEmailKey(normal));
      return row && (await byId(Buffer.from(row.value).toString('utf8')));
    },
  };
}

export function isVerified(person: Person): boolean {
  return person.account.pendingUntil === 0;
}

/** Mail address verified and not disabled. */
export function isActive(person: Person): boolean {
  return isVerified(person) && !person.account.disabled;
}

/** The checks that nobody has changed the person since it was loaded. */
export function unchanged(person: Person): Check[] {
  return [
    { key: accountKey(person.id), version: person.accountVersion },
    { key: credentialsKey(person.id), version: person.credentialsVersion },
  ];
}

/** The credentials' row; it expires with an account that is never verified. */
export function credentialsRow(
  { id, account }: Pick<Person, 'id' | 'account'>,
  credentials: Credentials,
): SetRow {
  const row = { key: credentialsKey(id), value: encodeCredentials(credentials) };
  return account.pendingUntil === 0 ? row : { ...row, expiresAt: account.pendingUntil };
}

/** With this browser as the newest known one. */
export function withBrowser(credentials: Credentials, browser: Uint8Array): Credentials {
  const others = credentials.browsers.filter((b) => Buffer.compare(b, browser) !== 0);
  return { ...credentials, browsers: [...others, browser].slice(-browsersMax) };
}

export function knowsBrowser({ credentials }: Person, browser: Uint8Array): boolean {
  return credentials.browsers.some((b) => Buffer.compare(b, browser) === 0);
}

export function encodeCredentials(record: Credentials): Uint8Array {
  const out = createWriter(256);
  out.u8(layout).text(record.passwordHash).f64(record.passwordChangedAt).varint(record.epoch);
  out.u8(languages.indexOf(record.language)).varint(record.browsers.length);
  for (const browser of record.browsers) out.bytes(browser);
  return out.finish();
}

export function decodeCredentials(bytes: Uint8Array): Credentials | undefined {
  return decode(bytes, (input) => {
    if (input.u8() !== layout) input.reject();
    const passwordHash = input.text();
    const passwordChangedAt = input.f64();
    const epoch = input.varint();
    const language = languages[input.u8()];
    if (language === undefined) input.reject();
    const count = Math.min(input.varint(), input.remaining());
    const browsers = Array.from({ length: count }, () => Uint8Array.from(input.bytes()));
    return { passwordHash, passwordChangedAt, epoch, language: language ?? 'en', browsers };
  });
}
