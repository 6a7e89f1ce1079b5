/**
 * Accounts as durable records: what the operator's commands and an owner's own pages do. Each change
 * is one commit of the records and the journal event, so the tables in memory follow it wherever it
 * was made. Their keys are in keys/api-keys.ts.
 */

import type { Clock } from '../../core/clock.ts';
import { readKnownAddress, readMailAddress } from '../../core/mail-address.ts';
import { type Random, randomToken } from '../../core/random.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import { commitOnce, untilUndisturbed, written } from '../../storage/change.ts';
import { createEventId } from '../../storage/journal/define-event.ts';
import { accountByEmailKey, accountKey, erasureKey } from '../../storage/keys.ts';
import type { NewEvent, RowCheck, SetRow, Store } from '../../storage/store.ts';
import type { Vouched } from '../quota/points.ts';
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
  encodeAccount,
  findAccountId,
  isAccountId,
} from './records.ts';
import { changeFacts } from './slots.ts';

/** `email`: the address, or the account's id (`findAccountId`). */
export interface Accounts {
  /** `conflict` when the address has an account. @param vouched the operator's word for it */
  create(email: string, vouched?: Vouched): Promise<Result<AccountInfo>>;
  /** The operator's word, from now on. */
  vouch(email: string, vouched: Vouched): Promise<Result<AccountInfo>>;
  vouchedOf(accountId: string): Promise<Vouched>;
  /** `unknown_account` when there is none. */
  find(email: string): Promise<Result<AccountInfo>>;
  /** `conflict` when one that is being deleted is to be enabled: what it is given would be left. */
  setDisabled(email: string, disabled: boolean): Promise<Result<AccountInfo>>;
  /** Quotas by hand; undefined leaves one as it is, 0 gives it back to trust. */
  setQuotas(email: string, quotas: KeyQuotas): Promise<Result<AccountInfo>>;
}

export interface KeyQuotas {
  readonly readPerMinute?: number | undefined;
  readonly writePerMinute?: number | undefined;
}

export function createAccounts(options: {
  store: Store;
  clock: Clock;
  random: Random;
  /** Further rows to write in the commit that makes an account. */
  beside?: (accountId: string, email: string) => readonly SetRow[];
}): Accounts {
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

  async function create(email: string, vouched: Vouched = 'none'): Promise<Result<AccountInfo>> {
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

  return {
    create,
    find,
    vouch,
    vouchedOf: async (id) => (await findVouched(store, id)).vouched,
    setDisabled,
    setQuotas,
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
