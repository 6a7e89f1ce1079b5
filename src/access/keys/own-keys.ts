/**
 * API keys as their owner sees them: by account id, never by an id that another account could name.
 * A key of somebody else is `unknown_key`, as one that never was.
 */

import { fail, ok, type Result } from '../../core/result.ts';
import type { Also } from '../../storage/change.ts';
import { accountKey } from '../../storage/keys.ts';
import type { SetRow, Store } from '../../storage/store.ts';
import type { Accounts } from '../accounts/accounts.ts';
import { decodeAccount } from '../accounts/records.ts';
import type { KeyRecords } from './key-records.ts';
import type { MasterKey } from './master-key.ts';
import { open } from './seal.ts';

export interface OwnKey {
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  /** The end of a replaced key, ms since 1970; 0 for one that was not replaced. */
  readonly endsAt: number;
}

export interface OwnKeys {
  /** Returns the account's working keys without a name, oldest first: at most two. */
  list(accountId: string): Promise<readonly OwnKey[]>;
  /** A first key, or one in place of the former, which lives on for a day. `conflict` with two. */
  create(accountId: string, also?: Also): Promise<Result<{ id: string; text: string }>>;
  /** `unknown_key` also for one that ended. */
  reveal(accountId: string, keyId: string): Promise<Result<string>>;
  /** @param also written in the commit that revokes it */
  revoke(accountId: string, keyId: string, also?: readonly SetRow[]): Promise<Result<void>>;
}

export function createOwnKeys(options: {
  store: Store;
  accounts: Pick<Accounts, 'createKey'>;
  records: KeyRecords;
  masterKey: MasterKey;
}): OwnKeys {
  const { store, accounts, records, masterKey } = options;

  async function accountOf(accountId: string) {
    const entry = await store.get(accountKey(accountId));
    return entry && decodeAccount(entry.value);
  }

  async function live(accountId: string) {
    const account = await accountOf(accountId);
    const found = await Promise.all((account?.keys ?? []).map(records.find));
    return found.filter(
      (key) =>
        key !== undefined &&
        key.record.account === accountId &&
        key.record.revokedAt === 0 &&
        !records.isOver(key.record),
    ) as NonNullable<(typeof found)[number]>[];
  }

  async function own(accountId: string, keyId: string) {
    return (await live(accountId)).find(({ id }) => id === keyId);
  }

  return {
    async list(accountId) {
      const keys = await live(accountId);
      return keys.map(({ id, record: { createdAt, endsAt } }) => ({ id, createdAt, endsAt }));
    },
    async create(accountId, also) {
      if ((await accountOf(accountId)) === undefined) return fail('unknown_account');
      return accounts.createKey(accountId, also);
    },
    async reveal(accountId, keyId) {
      const key = await own(accountId, keyId);
      if (key === undefined) return fail('unknown_key');
      return open(masterKey, `${accountId}/${keyId}`, key.record.sealed);
    },
    async revoke(accountId, keyId, also) {
      if ((await own(accountId, keyId)) === undefined) return fail('unknown_key');
      const revoked = await records.revoke(keyId, also);
      return revoked.ok ? ok(undefined) : revoked;
    },
  };
}
