/**
 * Accounts and API keys as durable records: what the operator's commands and an owner's own
 * pages do. Each change is one commit of the records and the journal event, so the tables in
 * memory follow it wherever it was made.
 *
 * An account has one key, and a second one while the former lives on for 24 hours after it was
 * replaced. Key records outlive the key: the list shows what was revoked, never its text.
 */

import { capacities } from '../../config.ts';
import type { Clock } from '../../core/clock.ts';
import { readKnownAddress, readMailAddress } from '../../core/names/mail-address.ts';
import { type Random, randomToken } from '../../core/random.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import { dayMs } from '../../core/time.ts';
import {
  type Also,
  checksOf,
  commitOnce,
  inTurn,
  untilUndisturbed,
  written,
} from '../../storage/change.ts';
import { createEventId } from '../../storage/event-id.ts';
import { accountByEmailKey, accountKey, apiKeyKey, erasureKey } from '../../storage/keys.ts';
import type { NewEvent, RowCheck, SetRow, Store } from '../../storage/store.ts';
import {
  type AccountInfo,
  findAccountId,
  isAccountId,
  unconfirmedAccounts,
} from '../account-names.ts';
import { hashKey, makeKey } from '../keys/key-format.ts';
import { createKeyRecords, newKeyRows, type StoredKey } from '../keys/key-records.ts';
import type { MasterKey } from '../keys/master-key.ts';
import { open, seal } from '../keys/seal.ts';
import type { Vouched } from '../quota/points.ts';
import { roleOf } from '../roles.ts';
import { changeFacts, claimSlot } from '../slots.ts';
import { findVouched, vouchedRow } from '../vouching.ts';
import { perMinuteMax } from './accounts-table.ts';
import {
  accountCreated,
  accountDisabled,
  accountQuotas,
  accountVouched,
  keepQuota,
  keyCreated,
} from './events.ts';
import {
  type AccountRecord,
  decodeAccount,
  encodeAccount,
  encodeKeyRecord,
  type KeyRecord,
  plainKey,
} from './records.ts';

/** A replaced key goes on working for this long. */
const replacedKeyLifeMs = dayMs;

export interface KeyInfo extends Omit<KeyRecord, 'sealed'> {
  readonly id: string;
  readonly email: string;
  readonly state: 'active' | 'replaced' | 'revoked';
}

/** `email`: the address, its former spelling, or the account's id (`findAccountId`). */
export interface Accounts {
  /** `conflict` when the address has an account. @param vouched the operator's word for it */
  create(email: string, vouched?: Vouched): Promise<Result<AccountInfo>>;
  /** The operator's word, from now on. */
  vouch(email: string, vouched: Vouched): Promise<Result<AccountInfo>>;
  vouchedOf(accountId: string): Promise<Vouched>;
  /** `unknown_account` when there is none. */
  find(email: string): Promise<Result<AccountInfo>>;
  /** Accounts that sign in by their id or former spelling until their address is confirmed anew. */
  unconfirmed(): Promise<AccountInfo[]>;
  /** `conflict` when one that is being deleted is to be enabled: what it is given would be left. */
  setDisabled(email: string, disabled: boolean): Promise<Result<AccountInfo>>;
  /** Quotas by hand; undefined leaves one as it is, 0 gives it back to trust. */
  setQuotas(email: string, quotas: KeyQuotas): Promise<Result<AccountInfo>>;
  /**
   * Makes a key and shows its text, the only time that the text leaves sealed storage unasked.
   * `capacity_exceeded`: no room for another account with keys; nothing is made.
   */
  createKey(
    email: string,
    also?: Also,
  ): Promise<Result<{ id: string; text: string; replaces?: string }>>;
  revokeKey(keyId: string): Promise<Result<KeyInfo>>;
  listKeys(): Promise<KeyInfo[]>;
  /** Text of the account's newest live key. */
  revealKey(email: string): Promise<Result<string>>;
  /** Revokes replaced keys whose time is over. @returns how many */
  retireKeys(): Promise<number>;
}

export interface KeyQuotas {
  readonly readPerMinute?: number | undefined;
  readonly writePerMinute?: number | undefined;
}

export function createAccounts(options: {
  store: Store;
  clock: Clock;
  random: Random;
  masterKey: MasterKey;
  /** Accounts that may have keys at one time. */
  slotsMax?: number;
  /** `operator` when an operator makes the keys; the account itself when left out. */
  by?: 'operator';
  /** Further rows to write in the commit that makes an account. */
  beside?: (accountId: string, email: string) => readonly SetRow[];
}): Accounts {
  const { store, clock, random, masterKey, slotsMax = capacities.accounts } = options;
  const keys = createKeyRecords(options);

  const eventId = () => createEventId(clock, random);

  const write = (check: RowCheck[], set: SetRow[], events: NewEvent[]) =>
    commitOnce(store, { check, set, events });

  async function unconfirmedAt(email: string) {
    return (await unconfirmedAccounts(store)).filter((claim) => claim.email === email);
  }

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
    const claims = normal === undefined ? [] : await unconfirmedAt(normal);
    const ids = claims.map((claim) => claim.id).join(', ');
    return claims.length === 0
      ? fail('unknown_account', `there is no account ${normal ?? email.trim()}`)
      : fail('unknown_account', `${normal} must be confirmed anew by its owner; use an id: ${ids}`);
  }

  async function create(email: string, vouched: Vouched = 'none'): Promise<Result<AccountInfo>> {
    const normal = readMailAddress(email);
    if (normal === undefined)
      return fail('invalid_parameter', `'${shown(email)}' is not a mail address`);
    const id = randomToken(random, 12);
    const record: AccountRecord = {
      email: normal,
      formerEmail: '',
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
        ...(options.beside?.(id, normal) ?? []),
      ],
      [accountCreated.encode(eventId(), { account: id, verified: true, slot: 'first_key' })],
    );
    if (done === 'lost') return fail('conflict', `${normal} has an account already`);
    return done.ok ? ok({ id, ...record }) : done;
  }

  async function find(email: string): Promise<Result<AccountInfo>> {
    const found = await load(email);
    return found.ok ? ok({ id: found.value.id, ...found.value.record }) : found;
  }

  function vouch(email: string, vouched: Vouched): Promise<Result<AccountInfo>> {
    return untilUndisturbed(async () => {
      const found = await load(email);
      if (!found.ok) return found;
      const { id, key, version, record } = found.value;
      if (record.pendingUntil !== 0) return unverified(record);
      const done = await write(
        [{ key, version }],
        [vouchedRow(id, vouched)],
        [accountVouched.encode(eventId(), { account: id, vouched })],
      );
      return written(done, { id, ...record });
    });
  }

  function setDisabled(email: string, disabled: boolean): Promise<Result<AccountInfo>> {
    return untilUndisturbed(async () => {
      const found = await load(email);
      if (!found.ok) return found;
      const { id, key, version, record } = found.value;
      const changed = { ...record, disabled };
      const mark = erasureKey(id);
      if (!disabled && (await store.get(mark)) !== undefined) return beingDeleted(record);
      const done = await write(
        [{ key, version }, ...(disabled ? [] : [{ key: mark, version: null }])],
        [accountRow(id, changed)],
        record.pendingUntil !== 0
          ? []
          : [accountDisabled.encode(eventId(), { account: id, disabled })],
      );
      return written(done, { id, ...changed });
    });
  }

  async function setQuotas(email: string, quotas: KeyQuotas): Promise<Result<AccountInfo>> {
    for (const quota of [quotas.readPerMinute, quotas.writePerMinute]) {
      if (quota === undefined) continue;
      if (Number.isInteger(quota) && quota >= 0 && quota <= perMinuteMax) continue;
      return fail('invalid_parameter', `a quota is a whole number from 0 to ${perMinuteMax}`);
    }
    return untilUndisturbed(async () => {
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
      return written(done, { id, ...record });
    });
  }

  /** The account's keys that still work, oldest first. */
  async function liveKeys(record: AccountRecord) {
    const found = await Promise.all(record.keys.map(keys.find));
    return found.filter((k): k is StoredKey => k !== undefined && k.record.revokedAt === 0);
  }

  function createKey(
    email: string,
    also: Also = {},
  ): Promise<Result<{ id: string; text: string; replaces?: string }>> {
    return inTurn(store, async () => {
      const found = await load(email);
      if (!found.ok) return found;
      const account = found.value;
      if (account.record.pendingUntil !== 0) return unverified(account.record);
      if (account.record.disabled) return fail('conflict', `${account.record.email} is disabled`);
      const live = await liveKeys(account.record);
      const over = live.find((k) => keys.isOver(k.record));
      if (over !== undefined) {
        // Its time ended and nobody has retired it yet: it must not count as a second key.
        const revoked = await keys.revoke(over.id);
        return revoked.ok ? 'lost' : revoked;
      }
      if (live.length > 1) {
        return fail(
          'conflict',
          `${account.record.email} has two keys; revoke one first: ${live.map((k) => k.id).join(', ')}`,
        );
      }
      const { createdAt } = account.record;
      const hadKeys = account.record.keys.length > 0;
      const role = options.by ?? (await roleOf(store, account.id));
      const slot = await claimSlot(store, { id: account.id, createdAt, hadKeys }, slotsMax, role);
      if (!slot.ok) return slot;
      const said = await findVouched(store, account.id);
      const more = await checksOf(also);
      if (!more.ok) return more;
      const made = makeKey(random);
      const record: KeyRecord = {
        account: account.id,
        createdAt: clock.now(),
        endsAt: 0,
        revokedAt: 0,
        sealed: seal(masterKey, random, `${account.id}/${made.id}`, made.text),
        ...plainKey,
      };
      const check: RowCheck[] = [
        { key: account.key, version: account.version },
        { key: apiKeyKey(made.id), version: null },
        ...slot.value.check,
        { key: said.key, version: said.version },
        ...more.value,
      ];
      const keyIds = [...live.map((k) => k.id), made.id];
      const set: SetRow[] = [
        ...newKeyRows(made.id, record),
        { key: account.key, value: encodeAccount({ ...account.record, keys: keyIds }) },
        ...slot.value.set,
        ...(also.set ?? []),
      ];
      const former = live[0];
      if (former !== undefined) {
        check.push({ key: former.key, version: former.version });
        // One that was replaced before keeps its end: its successor was revoked since.
        const endsAt = former.record.endsAt || clock.now() + replacedKeyLifeMs;
        set.push({ key: former.key, value: encodeKeyRecord({ ...former.record, endsAt }) });
      }
      const hash = hashKey(made.text);
      const { facts } = slot.value;
      const done = await write(check, set, [
        keyCreated.encode(eventId(), { account: account.id, key: made.id, hash, facts }),
        ...(said.version === null
          ? []
          : [accountVouched.encode(eventId(), { account: account.id, vouched: said.vouched })]),
      ]);
      const replaces = former ? { replaces: former.id } : {};
      return written(done, { id: made.id, text: made.text, ...replaces });
    });
  }

  async function revokeKey(keyId: string): Promise<Result<KeyInfo>> {
    const revoked = await keys.revoke(keyId);
    return revoked.ok ? ok(await info(keyId, revoked.value)) : revoked;
  }

  async function info(id: string, record: KeyRecord): Promise<KeyInfo> {
    const entry = await store.get(accountKey(record.account));
    const account = entry && decodeAccount(entry.value);
    const { sealed: _sealed, ...shownFields } = record;
    const state = record.revokedAt !== 0 ? 'revoked' : record.endsAt !== 0 ? 'replaced' : 'active';
    return { id, email: account?.email ?? '', state, ...shownFields };
  }

  async function listKeys(): Promise<KeyInfo[]> {
    const list: KeyInfo[] = [];
    for await (const { id, record } of keys.all()) list.push(await info(id, record));
    return list.sort((a, b) => a.createdAt - b.createdAt);
  }

  async function revealKey(email: string): Promise<Result<string>> {
    const found = await load(email);
    if (!found.ok) return found;
    const newest = (await liveKeys(found.value.record)).at(-1);
    if (newest === undefined) return fail('unknown_key', `${found.value.record.email} has no key`);
    return open(masterKey, `${found.value.id}/${newest.id}`, newest.record.sealed);
  }

  return {
    create,
    find,
    vouch,
    vouchedOf: async (id) => (await findVouched(store, id)).vouched,
    unconfirmed: () => unconfirmedAccounts(store),
    setDisabled,
    setQuotas,
    createKey,
    revokeKey,
    listKeys,
    revealKey,
    retireKeys: keys.retire,
  };
}

/** The account's row as it must be written: one that is not verified expires. */
export function accountRow(id: string, record: AccountRecord): SetRow {
  const row = { key: accountKey(id), value: encodeAccount(record) };
  return record.pendingUntil === 0 ? row : { ...row, expiresAt: record.pendingUntil };
}

function unverified({ email }: AccountRecord) {
  return fail('conflict', `${email} has not verified its mail address yet`);
}

function beingDeleted({ email }: AccountRecord) {
  return fail('conflict', `${email} is being deleted`);
}

function shown(text: string): string {
  return text.slice(0, 80).replace(/\p{C}/gu, '?');
}
