/**
 * A person: the account (src/access has its record), its credentials, and the tombstone of its deletion. One
 * loader for all of sign-on, with the versions that a change must check.
 */

import { type AccountRecord, decodeAccount, findAccountId } from '../access/accounts/records.ts';
import { browserHash } from '../contracts/visitor.ts';
import type { Clock } from '../core/clock.ts';
import { type Language, languages } from '../core/language.ts';
import { readKnownAddress } from '../core/mail-address.ts';
import { newToken, type Random } from '../core/random.ts';
import { dayMs, hourMs } from '../core/time.ts';
import { createWriter, decode } from '../storage/codec.ts';
import { accountByEmailKey, accountKey, credentialsKey, erasureKey } from '../storage/keys.ts';
import {
  bytes,
  type Decoded,
  group,
  list,
  oneOf,
  record,
  text,
  time,
  varint,
} from '../storage/record.ts';
import type { RowCheck, SetRow, Store } from '../storage/store.ts';

export type Credentials = Decoded<typeof decodeCredentials>;

export interface FormerEmail {
  readonly email: string;
  /** Milliseconds since 1970. */
  readonly until: number;
}

export interface Person {
  readonly id: string;
  readonly account: AccountRecord;
  readonly accountVersion: number;
  readonly credentials: Credentials;
  /** Null: not written yet. The operator made the account. */
  readonly credentialsVersion: number | null;
}

const browsersMax = 20;

export const noCredentials: Credentials = {
  passwordHash: '',
  passwordChangedAt: 0,
  epoch: 0,
  language: 'en',
  browsers: [],
  factors: 0,
  reviewSince: 0,
  formerEmails: [],
};

export function openPeople(store: Store) {
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
    /** Returns whether the account exists, is verified and not disabled. */
    async isActiveAccount(id: string): Promise<boolean> {
      const row = await store.get(accountKey(id));
      const account = row && decodeAccount(row.value);
      return account !== undefined && isActive({ account });
    },
    async byEmail(email: string): Promise<Person | undefined> {
      const normal = readKnownAddress(email);
      const row = normal === undefined ? undefined : await store.get(accountByEmailKey(normal));
      return row && (await byId(Buffer.from(row.value).toString('utf8')));
    },
    /** Finds the person by what is typed to sign in: address or id (`findAccountId`). */
    async byName(typed: string): Promise<Person | undefined> {
      const id = await findAccountId(store, typed);
      return id === undefined ? undefined : byId(id);
    },
  };
}

export type People = ReturnType<typeof openPeople>;

export function isVerified(person: Pick<Person, 'account'>): boolean {
  return person.account.pendingUntil === 0;
}

export function isActive(person: Pick<Person, 'account'>): boolean {
  return isVerified(person) && !person.account.disabled;
}

/** Returns the checks that nobody has changed the person since it was loaded. */
export function versionChecks(person: Person): RowCheck[] {
  return [
    { key: accountKey(person.id), version: person.accountVersion },
    { key: credentialsKey(person.id), version: person.credentialsVersion },
  ];
}

/** Returns the credentials' row; it expires with an account that is never verified. */
export function credentialsRow(
  { id, account }: Pick<Person, 'id' | 'account'>,
  credentials: Credentials,
): SetRow {
  const row = { key: credentialsKey(id), value: encodeCredentials(credentials) };
  return account.pendingUntil === 0 ? row : { ...row, expiresAt: account.pendingUntil };
}

/**
 * Returns credentials that know no browser but this one, and this one only if it was known: under a new cookie, as a
 * copy of the old one must not pass for it. `browser` is the value of that cookie, undefined if the browser was not
 * known.
 */
export function withBrowserAlone(
  person: Person,
  browser: string | undefined,
  random: Random,
): { credentials: Credentials; browser: string | undefined } {
  const { credentials, id } = person;
  if (browser === undefined || !knowsBrowser(person, browserHash(id, browser))) {
    return { credentials: { ...credentials, browsers: [] }, browser: undefined };
  }
  const next = newToken(random).text;
  return { credentials: { ...credentials, browsers: [browserHash(id, next)] }, browser: next };
}

export function withBrowser(credentials: Credentials, browser: Uint8Array): Credentials {
  const others = credentials.browsers.filter((b) => Buffer.compare(b, browser) !== 0);
  return { ...credentials, browsers: [...others, browser].slice(-browsersMax) };
}

export function knowsBrowser({ credentials }: Person, browser: Uint8Array): boolean {
  return credentials.browsers.some((b) => Buffer.compare(b, browser) === 0);
}

export const { encode: encodeCredentials, decode: decodeCredentials } = record(2, {
  /** A PHC string; empty: no password was set yet. */
  passwordHash: text,
  /** Ms since 1970; 0: never. */
  passwordChangedAt: time,
  /** Sessions of another epoch are invalid. Increasing it ends all of them in one commit. */
  epoch: varint,
  language: oneOf(languages),
  /** The browsers that signed in (`browserHash`), newest last. */
  browsers: list(bytes),
  /** Grows with each change of a factor: a proof of identity from before is stale. */
  factors: varint,
  /** The time since which the review after a reset is due, ms since 1970; 0: none is. */
  reviewSince: time,
  /** The addresses that the account had lately, oldest first: they get mails about changes too. */
  formerEmails: list(group<FormerEmail>({ email: text, until: time })),
});

// The row of a deletion, under the account's id, from its first commit on. It has four states. `notify` and `silent`:
// the account is closed and its rows are being deleted; at the end the person gets a deletion notice (`notify`) or
// not. `notice_due`: only what this notice needs is left. `over`: nothing is left.
//
// Every commit that adds a row for an account checks that there is no such row (`erasureCheck`), so a request
// under way when the deletion began can't leave anything. That is why `over` outlives the requests; it names a
// random id that leads to nobody.

type ErasureTombstone =
  | { readonly state: 'notify' | 'silent' | 'over' }
  | { readonly state: 'notice_due'; readonly email: string; readonly language: Language };

/** A mail that could not be sent in a day is no news any more. */
const deletionNoticeLifeMs = dayMs;
/** The time is longer than any request takes. */
const overLifeMs = hourMs;

/** The order is on disk; the rows of `notify` and `silent` are the byte alone. */
const states = ['silent', 'notify', 'notice_due', 'over'] as const;

/** Returns the check for every commit that writes rows of an account without a check of the account's own row. */
export function erasureCheck(accountId: string): RowCheck {
  return { key: erasureKey(accountId), version: null };
}

/** Returns whether a deletion has begun, or ended less than an hour ago; for what is no row of the store. */
export async function isErased(store: Pick<Store, 'get'>, accountId: string): Promise<boolean> {
  return (await store.get(erasureKey(accountId))) !== undefined;
}

export function tombstoneRow(accountId: string, tombstone: ErasureTombstone, clock: Clock): SetRow {
  const key = erasureKey(accountId);
  const out = createWriter(64).u8(states.indexOf(tombstone.state));
  switch (tombstone.state) {
    case 'notify':
    case 'silent':
      return { key, value: out.finish() };
    case 'over':
      return { key, value: out.finish(), expiresAt: Math.floor(clock.now()) + overLifeMs };
    case 'notice_due': {
      const value = out.u8(languages.indexOf(tombstone.language)).text(tombstone.email).finish();
      return { key, value, expiresAt: Math.floor(clock.now()) + deletionNoticeLifeMs };
    }
    default:
      tombstone satisfies never;
      throw new TypeError('no such state');
  }
}

/** Returns undefined for a damaged row. */
export function readTombstone(value: Uint8Array): ErasureTombstone | undefined {
  return decode<ErasureTombstone>(value, (input) => {
    const state = states[input.u8()];
    if (state === undefined) input.reject();
    if (state !== 'notice_due') return { state: state ?? 'over' };
    const language = languages[input.u8()] ?? 'en';
    return { state, language, email: input.text() };
  });
}
