/**
 * All accounts for those who run the service: found by a part of the address, in pages, each with its
 * role and standing; and the one way in which a role is given and taken. No secret leaves here.
 */

import { domainToUnicode } from 'node:url';
import { domainOf, readKnownAddress } from '../../core/mail-address.ts';
import { fail, type Result } from '../../core/result.ts';
import { commitOnce, untilUndisturbed, written } from '../../storage/change.ts';
import { accountKey, accountPrefix, erasureKey } from '../../storage/keys.ts';
import type { Store } from '../../storage/store.ts';
import type { Vouched } from '../quota/points.ts';
import { findVouched } from './account-row.ts';
import type { Accounts } from './accounts.ts';
import { type AccountRecord, decodeAccount } from './records.ts';
import { otherOperator, type Role, roleOf, roleRow } from './roles.ts';

export type ListedState = 'active' | 'disabled' | 'unverified';

export interface ListedAccount {
  readonly id: string;
  readonly email: string;
  readonly createdAt: number;
  readonly state: ListedState;
  readonly role: Role;
  readonly standing: Vouched;
  /** The number of keys that may still work. */
  readonly keys: number;
}

export interface AccountPage {
  readonly accounts: readonly ListedAccount[];
  /** Id to go on behind; undefined at the end. */
  readonly next: string | undefined;
}

export interface Directory {
  /**
   * Lists accounts in the order of ids. A page ends early when it has looked at 20,000 accounts.
   * @param part of the mail address in any spelling, or the id; all when it is empty
   */
  list(asked: {
    readonly part?: string;
    readonly after?: string | undefined;
    readonly limit: number;
  }): Promise<AccountPage>;
  find(id: string): Promise<ListedAccount | undefined>;
  /**
   * `conflict`: not verified, being deleted, or (with `keepsOne`) the last operator who can sign in.
   * @param email address or id
   */
  setRole(
    email: string,
    role: Role,
    options?: { readonly keepsOne?: boolean },
  ): Promise<Result<ListedAccount>>;
}

const pageRows = 200;
const lookedAtMax = 20_000;

function stateOfAccount(record: AccountRecord): ListedState {
  if (record.disabled) return 'disabled';
  return record.pendingUntil === 0 ? 'active' : 'unverified';
}

/** Returns the account's mail address; undefined when the account was deleted. */
export async function accountEmail(
  store: Pick<Store, 'get'>,
  id: string,
): Promise<string | undefined> {
  const row = await store.get(accountKey(id));
  return row && decodeAccount(row.value)?.email;
}

/**
 * Returns whether the account matches. As at the sign-in, the domain may be typed in its own letters or as
 * A-labels, whole or in part.
 * @param part lower case, composed
 */
function isMeant({ email }: AccountRecord, part: string): boolean {
  const text = email.toLowerCase();
  return text.includes(part) || (text.includes('xn--') && inLetters(text).includes(part));
}

function inLetters(address: string): string {
  const domain = domainOf(address);
  return address.slice(0, -domain.length) + domainToUnicode(domain);
}

export function createDirectory(options: {
  store: Store;
  accounts: Pick<Accounts, 'find'>;
}): Directory {
  const { store, accounts } = options;

  async function listed(id: string, record: AccountRecord): Promise<ListedAccount> {
    const [role, { vouched: standing }] = await Promise.all([
      roleOf(store, id),
      findVouched(store, id),
    ]);
    const { email, createdAt } = record;
    const keys = record.keys.length;
    return { id, email, createdAt, state: stateOfAccount(record), role, standing, keys };
  }

  async function list(asked: Parameters<Directory['list']>[0]): Promise<AccountPage> {
    const part = (asked.part ?? '').trim().toLowerCase().normalize('NFC');
    const whole = readKnownAddress(part);
    const found: ListedAccount[] = [];
    let last = asked.after;
    for (let seen = 0; seen < lookedAtMax; ) {
      const page = await store.scan(accountPrefix(), {
        limit: pageRows,
        ...(last === undefined ? {} : { after: accountKey(last) }),
      });
      if (page.length === 0) return { accounts: found, next: undefined };
      for (const { key, value } of page) {
        // The id is text, ended by a zero byte (see keys.ts).
        last = Buffer.from(key.subarray(1, -1)).toString('utf8');
        const record = decodeAccount(value);
        if (record === undefined) continue;
        const isNamed = record.email === whole || last.toLowerCase() === part;
        if (!isNamed && !isMeant(record, part)) continue;
        found.push(await listed(last, record));
        if (found.length >= asked.limit) return { accounts: found, next: last };
      }
      seen += page.length;
    }
    return { accounts: found, next: last };
  }

  function setRole(email: string, role: Role, { keepsOne = false } = {}) {
    return untilUndisturbed<ListedAccount>(async () => {
      const named = await accounts.find(email);
      if (!named.ok) return named;
      const { id } = named.value;
      const key = accountKey(id);
      const row = await store.get(key);
      const record = row && decodeAccount(row.value);
      if (!row || !record) return fail('unknown_account');
      if (role === 'operator' && record.pendingUntil !== 0) {
        return fail('conflict', `${record.email} has not verified its mail address yet`);
      }
      const mark = erasureKey(id);
      if ((await store.get(mark)) !== undefined) {
        return fail('conflict', `${record.email} is being deleted`);
      }
      const others = keepsOne && role === 'member' ? await otherOperator(store, id) : [];
      if (others === undefined) return fail('conflict', `${record.email} is the last operator`);
      const done = await commitOnce(store, {
        check: [{ key, version: row.version }, { key: mark, version: null }, ...others],
        ...roleRow(id, role),
      });
      return written(done, { ...(await listed(id, record)), role });
    });
  }

  async function find(id: string): Promise<ListedAccount | undefined> {
    const row = await store.get(accountKey(id));
    const record = row && decodeAccount(row.value);
    return record && listed(id, record);
  }

  return { list, find, setRole };
}
