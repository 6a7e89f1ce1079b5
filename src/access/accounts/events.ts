/**
 * The journal events of accounts and API keys. They hold ids, hashes and numbers; the mail address of an account
 * and the sealed text of a key live under store keys that can be deleted. All stay in a journal that is taken
 * back: a key that was revoked must not work again.
 */

import { defineEvent } from '../../storage/journal/define-event.ts';
import {
  bytes,
  checked,
  flag,
  group,
  mapped,
  onlySince,
  text,
  u8,
  u32,
} from '../../storage/record.ts';
import { allScopes } from '../keys/key-format.ts';
import type { Voucher } from '../quota/points.ts';
import { readFacts, readVouched, vouchedNumber } from './account-row.ts';
import { perMinuteMax } from './accounts-table.ts';

/** The accounts in memory, as the events change them. */
export interface AccountsInMemory {
  create(account: CreatedAccount, at: number): void;
  disable(account: string, disabled: boolean): void;
  vouch(account: string, vouched: Voucher): void;
  setQuotas(quotas: SetQuotas): void;
  release(account: string): void;
  addKey(key: CreatedKey, at: number): void;
  revokeKey(account: string, key: string): void;
}

interface CreatedAccount {
  readonly account: string;
  /** Somebody vouches for it, the operator or an answered mail. */
  readonly verified: boolean;
  /** `now` is what older versions wrote; today each account takes a slot with its first key. */
  readonly slot: 'now' | 'first_key';
}

/** Quotas that an operator sets. 0 gives the quota back to trust, `keepQuota` leaves it unchanged. */
interface SetQuotas {
  readonly account: string;
  readonly readPerMinute: number;
  readonly writePerMinute: number;
}

export interface CreatedKey {
  readonly account: string;
  readonly key: string;
  readonly hash: Uint8Array;
  /**
   * What an account that holds no slot brings into one, as account-row.ts writes it; empty for one that
   * holds a slot already.
   */
  readonly facts: Uint8Array;
  /** Bits of key-format.ts; undefined for a key without a name. */
  readonly scopes?: number | undefined;
}

/** SHA-256. */
const hashBytes = 32;
/** A quota of `account.quotas` that leaves the present one as it is. */
export const keepQuota = 0xffff_ffff;
/**
 * The scopes of a body of version 3 and of version 4, with `mail`; with `manage` among them it is one of
 * version 5.
 */
const scopesOf = { 3: 15, 4: 31 } as const;
const versionOfScopes = (bits: number) => (bits <= scopesOf[3] ? 3 : bits <= scopesOf[4] ? 4 : 5);

const strictFlag = mapped<boolean, number>(
  checked(u8, (byte) => byte <= 1),
  Number,
  (byte) => byte === 1,
);
/** A quota that the shared tables would refuse is none. */
const quota = checked(u32, (perMinute) => perMinute <= perMinuteMax || perMinute === keepQuota);

export const accountCreated = defineEvent({
  kind: 'account.created',
  since: { 2: 1 },
  fields: group<CreatedAccount>({
    account: text,
    verified: flag,
    slot: mapped(
      strictFlag,
      (slot) => slot === 'now',
      (isNow) => (isNow ? 'now' : 'first_key'),
    ),
  }),
  apply: (accounts: AccountsInMemory, account, at) => accounts.create(account, at),
  undo: 'kept',
});

export const accountDisabled = defineEvent({
  kind: 'account.disabled',
  since: { 1: 1 },
  fields: group<{ readonly account: string; readonly disabled: boolean }>({
    account: text,
    disabled: strictFlag,
  }),
  apply: (accounts: AccountsInMemory, { account, disabled }) => accounts.disable(account, disabled),
  undo: 'kept',
});

/** The operator's word for it, which holds until the next. */
export const accountVouched = defineEvent({
  kind: 'account.vouched',
  since: { 1: 1 },
  fields: group<{ readonly account: string; readonly vouched: Voucher }>({
    account: text,
    vouched: { write: (out, vouched) => out.u8(vouchedNumber(vouched)), read: readVouched },
  }),
  apply: (accounts: AccountsInMemory, { account, vouched }) => accounts.vouch(account, vouched),
  undo: 'kept',
});

export const accountQuotas = defineEvent({
  kind: 'account.quotas',
  since: { 1: 1 },
  fields: group<SetQuotas>({ account: text, readPerMinute: quota, writePerMinute: quota }),
  apply: (accounts: AccountsInMemory, quotas) => accounts.setQuotas(quotas),
  undo: 'kept',
});

/** Nothing of the account is left in its slot: others may have it. */
export const accountReleased = defineEvent({
  kind: 'account.released',
  since: { 1: 1 },
  fields: group({ account: text }),
  apply: (accounts: AccountsInMemory, { account }) => accounts.release(account),
  undo: 'kept',
});

export const keyCreated = defineEvent({
  kind: 'key.created',
  since: { 2: 1, 3: 1, 4: 1, 5: 2 },
  fields: group<CreatedKey>({
    account: text,
    key: text,
    hash: checked(bytes, (hash) => hash.length === hashBytes),
    facts: checked(bytes, (facts) => facts.length === 0 || readFacts(facts) !== undefined),
    scopes: onlySince(
      3,
      checked(u8, (bits, version) => bits <= allScopes && versionOfScopes(bits) === version),
    ),
  }),
  versionOf: ({ scopes }) => (scopes === undefined ? 2 : versionOfScopes(scopes)),
  apply: (accounts: AccountsInMemory, key, at) => accounts.addKey(key, at),
  undo: 'kept',
});

export const keyRevoked = defineEvent({
  kind: 'key.revoked',
  since: { 1: 1 },
  fields: group<{ readonly account: string; readonly key: string }>({ account: text, key: text }),
  apply: (accounts: AccountsInMemory, { account, key }) => accounts.revokeKey(account, key),
  undo: 'kept',
});

export const accessEvents = [
  accountCreated,
  accountDisabled,
  accountVouched,
  accountQuotas,
  accountReleased,
  keyCreated,
  keyRevoked,
];
