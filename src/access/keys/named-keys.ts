/**
 * Keys with a name, in addition to the account's own key: for bouncers and other programs that keep
 * their key for years. Each says what it may be used for, and none is touched when the account's
 * key is replaced.
 *
 * Bounds: `perAccountMax` of an account and `totalMax` in all, of which operators have a share to
 * themselves. Both hold whoever races. At the bound none is made.
 */

import type { Clock } from '../../core/clock.ts';
import type { Random } from '../../core/random.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import { holdBounds } from '../../storage/bounded-rows.ts';
import {
  type Also,
  checksOf,
  commitOnce,
  inTurn,
  untilUndisturbed,
  written,
} from '../../storage/change.ts';
import { createEventId } from '../../storage/event-id.ts';
import {
  accountKey,
  apiKeyByAccountKey,
  apiKeyByAccountPrefix,
  apiKeyKey,
  type Key,
} from '../../storage/keys.ts';
import { pagesUnder } from '../../storage/pages.ts';
import type { SetRow, Store } from '../../storage/store.ts';
import type { AccountInfo } from '../account-names.ts';
import { type Accounts, accountRow } from '../accounts/accounts.ts';
import { accountVouched, keyCreated } from '../accounts/events.ts';
import { decodeAccount, encodeKeyRecord, type KeyRecord, labelId } from '../accounts/records.ts';
import { type Role, roleOf, roomFor } from '../roles.ts';
import { claimSlot } from '../slots.ts';
import { findVouched } from '../vouching.ts';
import { hashKey, makeKey } from './key-format.ts';
import { createKeyRecords, newKeyRows } from './key-records.ts';
import { type KeyScope, scopeBits } from './key-scopes.ts';
import { type KeyUse, readKeyUse } from './key-use.ts';
import type { MasterKey } from './master-key.ts';
import { seal } from './seal.ts';

export const namedKeyBounds = { perAccountMax: 50, totalMax: 8_192 } as const;

/** Places in the table of keys: one may have a DNS label too. */
export const namedHashesMax = 2 * namedKeyBounds.totalMax;

const namePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

export function isKeyName(name: string): boolean {
  return namePattern.test(name);
}

/** A character that a name can't have. */
export interface StrangeCharacter {
  /** Empty: it is not seen. */
  readonly shown: string;
  /** The code point, such as `U+00E9`. */
  readonly code: string;
  /** The index from 1, in characters as people count them. */
  readonly place: number;
}

/** Returns the first character of a name that is none of those it may have: some only look like one. */
export function strangeIn(name: string): StrangeCharacter | undefined {
  const characters = [...name];
  const at = characters.findIndex(
    (one, i) => !(i === 0 ? /[A-Za-z0-9]/ : /[A-Za-z0-9._-]/).test(one),
  );
  const found = characters[at];
  if (found === undefined) return undefined;
  const hex = found.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0');
  const isSeen = !/[\p{C}\p{Z}\p{M}\p{Default_Ignorable_Code_Point}]/u.test(found);
  return { shown: isSeen ? found : '', code: `U+${hex}`, place: at + 1 };
}
const labelAlphabet = 'abcdefghijklmnopqrstuvwxyz234567';
const labelLength = 26;

export interface NamedKey extends Omit<KeyRecord, 'sealed'> {
  readonly id: string;
  /** Undefined: not used yet. */
  readonly use: KeyUse | undefined;
}

export interface NewNamedKey {
  readonly id: string;
  readonly text: string;
  /** The DNS label, shown this one time. */
  readonly label?: string;
}

export interface NamedKeys {
  /** `conflict` for a name that the account has; `capacity_exceeded` at a bound. */
  add(
    email: string,
    wanted: {
      readonly name: string;
      readonly scopes: readonly KeyScope[];
      readonly entriesMax?: number | undefined;
      readonly label?: boolean;
    },
    also?: Also,
  ): Promise<Result<NewNamedKey>>;
  /** Returns the account's living named keys, oldest first. */
  list(accountId: string): Promise<NamedKey[]>;
  /** Returns the living named keys of all accounts. */
  all(): Promise<NamedKey[]>;
  /** Its text stays. `conflict` for a name that another one has; `unknown_key` also for somebody else's. */
  rename(accountId: string, keyId: string, name: string): Promise<Result<void>>;
  /** `unknown_key` when the account has none of that name. */
  remove(email: string, name: string): Promise<Result<NamedKey>>;
  /** `unknown_key` also for somebody else's. @param also written in the commit that revokes it */
  removeOwn(accountId: string, keyId: string, also?: readonly SetRow[]): Promise<Result<void>>;
}

export function createNamedKeys(options: {
  store: Store;
  clock: Clock;
  random: Random;
  masterKey: MasterKey;
  accounts: Pick<Accounts, 'find'>;
  /** Accounts that may have keys at one time. */
  slotsMax: number;
  /** `operator` when an operator makes the keys; the account itself when left out. */
  by?: 'operator';
  totalMax?: number;
}): NamedKeys {
  const { store, clock, random, masterKey, accounts, slotsMax } = options;
  const { perAccountMax, totalMax } = { ...namedKeyBounds, ...options };
  const records = createKeyRecords(options);

  async function idsUnder(prefix: Key): Promise<string[]> {
    const ids: string[] = [];
    for await (const page of pagesUnder(store, prefix)) {
      for (const { key } of page) ids.push(Buffer.from(key).toString('utf8', 1).split('\0')[1]!);
    }
    return ids;
  }

  async function load(ids: readonly string[]): Promise<NamedKey[]> {
    const keys: NamedKey[] = [];
    for (const id of ids) {
      const found = await records.find(id);
      if (found === undefined || found.record.revokedAt !== 0) continue;
      const { sealed: _sealed, ...rest } = found.record;
      keys.push({ id, ...rest, use: await readKeyUse(store, id) });
    }
    return keys.sort((a, b) => a.createdAt - b.createdAt);
  }

  const list = async (accountId: string) => load(await idsUnder(apiKeyByAccountPrefix(accountId)));

  /** A failure: why the account can have no such key now. */
  async function refusal(account: AccountInfo, name: string, role: Role): Promise<Result<void>> {
    const { email } = account;
    if (account.pendingUntil !== 0)
      return fail('conflict', `${email} has not verified its mail address yet`);
    if (account.disabled) return fail('conflict', `${email} is disabled`);
    const own = await list(account.id);
    if (own.some((key) => key.name === name)) {
      return taken(email, name);
    }
    if (own.length >= perAccountMax) {
      return fail(
        'capacity_exceeded',
        `${email} has ${perAccountMax} named keys, the most there may be`,
      );
    }
    const room = roomFor(role, totalMax);
    if ((await idsUnder(apiKeyByAccountPrefix())).length >= room) {
      return fail('capacity_exceeded', `there are ${room} named keys, the most there may be`);
    }
    return ok(undefined);
  }

  function add(
    email: string,
    wanted: Parameters<NamedKeys['add']>[1],
    also: Also = {},
  ): Promise<Result<NewNamedKey>> {
    const { name, scopes, entriesMax = 0, label: wantsLabel = false } = wanted;
    if (!isKeyName(name)) return Promise.resolve(noName(name));
    if (scopes.length === 0) return Promise.resolve(noScope);
    return inTurn(store, async () => {
      const found = await accounts.find(email);
      if (!found.ok) return found;
      const { id: account } = found.value;
      const row = await store.get(accountKey(account));
      const owner = row && decodeAccount(row.value);
      if (row === undefined || owner === undefined) return 'lost';
      const role = options.by ?? (await roleOf(store, account));
      const held = await holdBounds(store, [{ rows: 'named_keys' }]);
      const refused = await refusal({ id: account, ...owner }, name, role);
      if (!refused.ok) return refused;
      const about = { id: account, createdAt: owner.createdAt, hadKeys: owner.keys.length > 0 };
      const slot = await claimSlot(store, about, slotsMax, role);
      if (!slot.ok) return slot;
      const said = await findVouched(store, account);
      const more = await checksOf(also);
      if (!more.ok) return more;
      const { id, text } = makeKey(random);
      const label = wantsLabel ? makeLabel(random) : undefined;
      const record: KeyRecord = {
        account,
        createdAt: clock.now(),
        endsAt: 0,
        revokedAt: 0,
        name,
        entriesMax,
        sealed: seal(masterKey, random, `${account}/${id}`, text),
        scopes: scopeBits(scopes),
        hasLabel: label !== undefined,
      };
      const eventId = () => createEventId(clock, random);
      const { facts } = slot.value;
      const done = await commitOnce(store, {
        check: [
          { key: accountKey(account), version: row.version },
          { key: apiKeyKey(id), version: null },
          { key: said.key, version: said.version },
          ...slot.value.check,
          ...held.check,
          ...more.value,
        ],
        set: [
          ...newKeyRows(id, record),
          { key: apiKeyByAccountKey(account, id), value: new Uint8Array() },
          // The row is unchanged: of two commits that add at the same time the second reads the
          // names again.
          accountRow(account, owner),
          ...slot.value.set,
          ...held.set,
          ...(also.set ?? []),
        ],
        events: [
          keyCreated.encode(eventId(), {
            account,
            key: id,
            hash: hashKey(text),
            facts,
            scopes: record.scopes,
          }),
          ...(label === undefined
            ? []
            : [
                keyCreated.encode(eventId(), {
                  account,
                  key: labelId(id),
                  hash: hashKey(label),
                  facts: new Uint8Array(),
                  scopes: 0,
                }),
              ]),
          ...(said.version === null
            ? []
            : [accountVouched.encode(eventId(), { account, vouched: said.vouched })]),
        ],
      });
      return written(done, { id, text, ...(label === undefined ? {} : { label }) });
    });
  }

  /** A key that lives and is one of this account with a name. */
  async function own(accountId: string, keyId: string) {
    const found = await records.find(keyId);
    const { account, name, revokedAt } = found?.record ?? {};
    return account === accountId && name !== '' && revokedAt === 0 ? found : undefined;
  }

  function rename(accountId: string, keyId: string, name: string): Promise<Result<void>> {
    if (!isKeyName(name)) return Promise.resolve(noName(name));
    return untilUndisturbed(async () => {
      const key = accountKey(accountId);
      const row = await store.get(key);
      const owner = row && decodeAccount(row.value);
      const found = await own(accountId, keyId);
      if (row === undefined || owner === undefined || found === undefined) {
        return fail('unknown_key');
      }
      const others = (await list(accountId)).filter(({ id }) => id !== keyId);
      if (others.some((one) => one.name === name)) return taken(owner.email, name);
      const done = await commitOnce(store, {
        check: [
          { key, version: row.version },
          { key: found.key, version: found.version },
        ],
        set: [
          { key: found.key, value: encodeKeyRecord({ ...found.record, name }) },
          accountRow(accountId, owner),
        ],
      });
      return written(done, undefined);
    });
  }

  async function removeOwn(
    accountId: string,
    keyId: string,
    also: readonly SetRow[] = [],
  ): Promise<Result<void>> {
    if ((await own(accountId, keyId)) === undefined) return fail('unknown_key');
    const revoked = await records.revoke(keyId, also);
    return revoked.ok ? ok(undefined) : revoked;
  }

  async function remove(email: string, name: string): Promise<Result<NamedKey>> {
    const found = await accounts.find(email);
    if (!found.ok) return found;
    const key = (await list(found.value.id)).find((one) => one.name === name);
    if (key === undefined) {
      return fail('unknown_key', `${found.value.email} has no key of that name`);
    }
    const revoked = await records.revoke(key.id);
    return revoked.ok ? ok(key) : revoked;
  }

  const all = async () => load(await idsUnder(apiKeyByAccountPrefix()));
  return { add, list, all, rename, remove, removeOwn };
}

function noName(name: string) {
  const at = strangeIn(name);
  const strange = at === undefined ? '' : `, and no ${at.code} at character ${at.place}`;
  return fail(
    'invalid_parameter',
    `a name has 1 to 64 letters, digits, dots, dashes and underscores, a letter or digit first${strange}`,
  );
}
const noScope = fail('invalid_parameter', 'a key needs a scope at least');

function taken(email: string, name: string) {
  return fail('conflict', `${email} has a key named ${name}; remove it first`);
}

/** 130 bits; each byte gives five of them, so all characters are equally likely. */
function makeLabel(random: Random): string {
  return Array.from(random.bytes(labelLength), (byte) => labelAlphabet[byte & 31]).join('');
}
