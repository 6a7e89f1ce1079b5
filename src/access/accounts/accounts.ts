/**
 * Accounts as durable records: what the operator's commands and an owner's own pages do. Each change
 * is one commit of the records and the journal event, so the tables in memory follow it wherever it
 * was made. Their keys are in keys/api-keys.ts.
 */

import { domainToUnicode } from 'node:url';
import type { Clock } from '../../core/clock.ts';
import { domainOf, readKnownAddress, readMailAddress } from '../../core/mail-address.ts';
import { type Random, randomToken } from '../../core/random.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import { commitOnce, retryOnConflict, withValue } from '../../storage/change.ts';
import { createEventId } from '../../storage/journal/define-event.ts';
import {
  accountByEmailKey,
  accountKey,
  accountPrefix,
  apiKeyByAccountPrefix,
  apiKeyKey,
  erasureKey,
} from '../../storage/keys.ts';
import {
  type NewEvent,
  pagesUnder,
  type RowCheck,
  type SetRow,
  type Store,
} from '../../storage/store.ts';
import type { Voucher } from '../quota/points.ts';
import { findVouched, vouchedRow } from './account-row.ts';
import { perMinuteMax } from './accounts-table.ts';
import {
  accountCreated,
  accountDisabled,
  accountQuotas,
  accountVouched,
  keepQuota,
} from './events.ts';
import {
  type AccountInfo,
  type AccountRecord,
  decodeAccount,
  decodeKey,
  encodeAccount,
  findAccountId,
  isAccountId,
  otherOperator,
  type Role,
  roleOf,
  roleRow,
} from './records.ts';
import { changeFacts } from './slots.ts';

interface KeyQuotas {
  readonly readPerMinute?: number | undefined;
  readonly writePerMinute?: number | undefined;
}

/** `email`: the address, or the account's id (`findAccountId`). */
export function createAccounts(options: {
  store: Store;
  clock: Clock;
  random: Random;
  /** Further rows to write in the commit that makes an account. */
  extraRows?: (accountId: string, email: string) => readonly SetRow[];
}) {
  const { store, clock, random } = options;

  const eventId = () => createEventId(clock, random);

  const write = (check: RowCheck[], set: SetRow[], events: NewEvent[]) =>
    commitOnce(store, { check, set, events });

  async function load(email: string) {
    const id = await findAccountId(store, email);
    const key = id === undefined ? undefined : accountKey(id);
    const entry = key && (await store.get(key));
    const record = entry && decodeAccount(entry.value);
    if (id !== undefined && key && entry && record) {
      return ok({ id, key, version: entry.version, record });
    }
    const normal = readKnownAddress(email);
    if (normal === undefined && !isAccountId(email.trim()))
      return fail('invalid_parameter', `'${shown(email)}' is not a mail address`);
    return fail('unknown_account', `there is no account ${normal ?? email.trim()}`);
  }

  /**
   * Makes an account. `conflict`: the address has one already.
   * @param vouched how far the operator vouches for it
   */
  async function create(email: string, vouched: Voucher = 'none'): Promise<Result<AccountInfo>> {
    const normal = readMailAddress(email);
    if (normal === undefined)
      return fail('invalid_parameter', `'${shown(email)}' is not a mail address`);
    const id = randomToken(random, 12);
    const record: AccountRecord = {
      email: normal,
      createdAt: clock.now(),
      disabled: false,
      pendingUntil: 0,
      keys: [],
    };
    const byEmail = accountByEmailKey(normal);
    const done = await write(
      [{ key: byEmail, version: null }],
      [
        { key: byEmail, value: Buffer.from(id) },
        { key: accountKey(id), value: encodeAccount(record) },
        ...(vouched === 'none' ? [] : [vouchedRow(id, vouched)]),
        ...(options.extraRows?.(id, normal) ?? []),
      ],
      [accountCreated.encode(eventId(), { account: id, verified: true, slot: 'first_key' })],
    );
    if (done === 'conflict') return fail('conflict', `${normal} has an account already`);
    return done.ok ? ok({ id, ...record }) : done;
  }

  /** `unknown_account` when there is none. */
  async function find(email: string): Promise<Result<AccountInfo>> {
    const found = await load(email);
    return found.ok ? ok({ id: found.value.id, ...found.value.record }) : found;
  }

  /** Sets how far the operator vouches for the account. */
  function vouch(email: string, vouched: Voucher): Promise<Result<AccountInfo>> {
    return retryOnConflict(async () => {
      const found = await load(email);
      if (!found.ok) return found;
      const { id, key, version, record } = found.value;
      if (record.pendingUntil !== 0) return unverified(record);
      const done = await write(
        [{ key, version }],
        [vouchedRow(id, vouched)],
        [accountVouched.encode(eventId(), { account: id, vouched })],
      );
      return withValue(done, { id, ...record });
    });
  }

  /** Disables or enables an account. `conflict`: an account that is being deleted can't be enabled. */
  function setDisabled(
    email: string,
    disabled: boolean,
    also: (id: string) => readonly SetRow[] = () => [],
  ): Promise<Result<AccountInfo>> {
    return retryOnConflict(async () => {
      const found = await load(email);
      if (!found.ok) return found;
      const { id, key, version, record } = found.value;
      const changed = { ...record, disabled };
      const tombstoneKey = erasureKey(id);
      if (!disabled && (await store.get(tombstoneKey)) !== undefined) {
        return fail('conflict', `${record.email} is being deleted`);
      }
      const done = await write(
        [{ key, version }, ...(disabled ? [] : [{ key: tombstoneKey, version: null }])],
        [accountRow(id, changed), ...also(id)],
        record.pendingUntil !== 0
          ? []
          : [accountDisabled.encode(eventId(), { account: id, disabled })],
      );
      return withValue(done, { id, ...changed });
    });
  }

  /** Sets quotas by hand. Undefined leaves one unchanged, 0 gives it back to trust. */
  async function setQuotas(email: string, quotas: KeyQuotas): Promise<Result<AccountInfo>> {
    for (const quota of [quotas.readPerMinute, quotas.writePerMinute]) {
      if (quota === undefined) continue;
      if (Number.isInteger(quota) && quota >= 0 && quota <= perMinuteMax) continue;
      return fail('invalid_parameter', `a quota is a whole number from 0 to ${perMinuteMax}`);
    }
    return retryOnConflict(async () => {
      const found = await load(email);
      if (!found.ok) return found;
      const { id, record } = found.value;
      if (record.pendingUntil !== 0) return unverified(record);
      // Without a slot nobody counts for the account yet: its first key brings the quotas along.
      const waiting = await changeFacts(store, { id, createdAt: record.createdAt }, (facts) => {
        facts.readPerMinute = quotas.readPerMinute ?? facts.readPerMinute;
        facts.writePerMinute = quotas.writePerMinute ?? facts.writePerMinute;
      });
      const readPerMinute = quotas.readPerMinute ?? keepQuota;
      const writePerMinute = quotas.writePerMinute ?? keepQuota;
      const done = await write(waiting?.check ?? [], waiting?.set ?? [], [
        accountQuotas.encode(eventId(), { account: id, readPerMinute, writePerMinute }),
      ]);
      return withValue(done, { id, ...record });
    });
  }

  return {
    create,
    find,
    vouch,
    vouchedOf: async (id: string): Promise<Voucher> => (await findVouched(store, id)).vouched,
    setDisabled,
    setQuotas,
  };
}

export type Accounts = ReturnType<typeof createAccounts>;

/** The account's row as it must be written: one that is not verified expires. */
export function accountRow(id: string, record: AccountRecord): SetRow {
  const row = { key: accountKey(id), value: encodeAccount(record) };
  return record.pendingUntil === 0 ? row : { ...row, expiresAt: record.pendingUntil };
}

function unverified({ email }: AccountRecord) {
  return fail('conflict', `${email} has not verified its mail address yet`);
}

function shown(text: string): string {
  return text.slice(0, 80).replace(/\p{C}/gu, '?');
}

// The directory of all accounts, for operators: it finds accounts by a part of the address, in pages, with role and
// standing. It is also the only place that changes a role. It returns no secret.

type ListedState = 'active' | 'disabled' | 'unverified';

export interface ListedAccount {
  readonly id: string;
  readonly email: string;
  readonly createdAt: number;
  readonly state: ListedState;
  readonly role: Role;
  readonly standing: Voucher;
  readonly keys: number;
}

interface AccountPage {
  readonly accounts: readonly ListedAccount[];
  /** Id to go on behind; undefined at the end. */
  readonly next: string | undefined;
}

const pageRows = 200;
const rowsReadMax = 20_000;

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
function matchesPart({ email }: AccountRecord, part: string): boolean {
  const text = email.toLowerCase();
  return text.includes(part) || (text.includes('xn--') && withUnicodeDomain(text).includes(part));
}

function withUnicodeDomain(address: string): string {
  const domain = domainOf(address);
  return address.slice(0, -domain.length) + domainToUnicode(domain);
}

export function createDirectory(options: {
  store: Store;
  clock: Clock;
  accounts: Pick<Accounts, 'find'>;
}) {
  const { store, clock, accounts } = options;

  /** Counts the keys that work, named ones too. */
  async function workingKeys(id: string, keys: readonly string[]): Promise<number> {
    let count = 0;
    for (const row of await Promise.all(keys.map((key) => store.get(apiKeyKey(key))))) {
      const key = row && decodeKey(row.value);
      if (key?.revokedAt === 0 && (key.endsAt === 0 || key.endsAt > clock.now())) count++;
    }
    // A named key that is revoked has no row there.
    for await (const page of pagesUnder(store, apiKeyByAccountPrefix(id))) count += page.length;
    return count;
  }

  async function listed(id: string, record: AccountRecord): Promise<ListedAccount> {
    const [role, { vouched: standing }] = await Promise.all([
      roleOf(store, id),
      findVouched(store, id),
    ]);
    const { email, createdAt } = record;
    const keys = await workingKeys(id, record.keys);
    return { id, email, createdAt, state: stateOfAccount(record), role, standing, keys };
  }

  /**
   * Lists accounts in the order of ids. A page ends early when it has looked at 20,000 accounts.
   * @param asked.part of the mail address in any spelling, or the id; all when it is empty
   */
  async function list(asked: {
    readonly part?: string;
    readonly after?: string | undefined;
    readonly limit: number;
  }): Promise<AccountPage> {
    const part = (asked.part ?? '').trim().toLowerCase().normalize('NFC');
    const whole = readKnownAddress(part);
    const found: ListedAccount[] = [];
    let last = asked.after;
    for (let seen = 0; seen < rowsReadMax; ) {
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
        if (!isNamed && !matchesPart(record, part)) continue;
        found.push(await listed(last, record));
        if (found.length >= asked.limit) return { accounts: found, next: last };
      }
      seen += page.length;
    }
    return { accounts: found, next: last };
  }

  /**
   * `conflict`: not verified, being deleted, or (with `keepsOne`) the last operator who can sign in.
   * @param email address or id
   */
  function setRole(email: string, role: Role, { keepsOne = false } = {}) {
    return retryOnConflict<ListedAccount>(async () => {
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
      const tombstoneKey = erasureKey(id);
      if ((await store.get(tombstoneKey)) !== undefined) {
        return fail('conflict', `${record.email} is being deleted`);
      }
      const others = keepsOne && role === 'member' ? await otherOperator(store, id) : [];
      if (others === undefined) return fail('conflict', `${record.email} is the last operator`);
      const done = await commitOnce(store, {
        check: [{ key, version: row.version }, { key: tombstoneKey, version: null }, ...others],
        ...roleRow(id, role),
      });
      return withValue(done, { ...(await listed(id, record)), role });
    });
  }

  async function find(id: string): Promise<ListedAccount | undefined> {
    const row = await store.get(accountKey(id));
    const record = row && decodeAccount(row.value);
    return record && listed(id, record);
  }

  return { list, find, setRole };
}
