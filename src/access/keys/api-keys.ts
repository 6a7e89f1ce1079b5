/**
 * API keys of accounts. One without a name is the account's own: it may check and report, its text can
 * be shown again, and a new one replaces it, with a day for the former. Keys with a name are for
 * bouncers and other programs that keep their key for years: each says what it may be used for, and
 * none is touched when the one without a name is replaced.
 *
 * Bounds: two keys without a name; `perAccountMax` with one, and `totalMax` of those in all, of which
 * operators have a share to themselves. All hold whoever races. At a bound none is made.
 *
 * An owner names keys by account and id: a key of somebody else is `unknown_key`, as one that never was.
 */

import { capacities } from '../../config.ts';
import type { Clock } from '../../core/clock.ts';
import type { Random } from '../../core/random.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import { dayMs } from '../../core/time.ts';
import {
  type CommitAddition,
  checksOf,
  commitInOrder,
  commitOnce,
  holdBounds,
  retryOnConflict,
  withValue,
} from '../../storage/change.ts';
import { createEventId } from '../../storage/journal/define-event.ts';
import {
  accountKey,
  apiKeyByAccountKey,
  apiKeyByAccountPrefix,
  apiKeyKey,
  apiKeyPrefix,
  apiKeyUseKey,
  type Key,
  ownedApiKeyKey,
  ownedApiKeyPrefix,
  readTexts,
} from '../../storage/keys.ts';
import { type Decoded, f64, record, text, time } from '../../storage/record.ts';
import { pagesUnder, type RowCheck, type SetRow, type Store } from '../../storage/store.ts';
import { findVouched } from '../accounts/account-row.ts';
import { type Accounts, accountRow } from '../accounts/accounts.ts';
import { accountVouched, keyCreated, keyRevoked } from '../accounts/events.ts';
import {
  type AccountRecord,
  decodeAccount,
  decodeKey,
  encodeKeyRecord,
  type KeyRecord,
  labelId,
  plainKey,
  type Role,
  roleOf,
  roomFor,
} from '../accounts/records.ts';
import { claimSlot } from '../accounts/slots.ts';
import { hashKey, type KeyScope, keyScopeBits, makeKey } from './key-format.ts';
import { type MasterKey, open, sealWithKey } from './master-key.ts';

// Keys as durable records: look-up, walk and revocation.
//
// Invariant: each key has its row in the index of its account from the commit that makes it to the one
// that removes it, also while it is revoked.

// The last use of a key and, for a bouncer's, its program, address and counts. They have rows of
// their own: they change often and are worth less than the key's record. Two nodes that write at
// once keep the later use; counts are added under a check.
//
//   layout u8 | lastUsedAt f64 | agent text | address text | processed f64 | dropped f64

export type KeyUse = Decoded<typeof rows.decode>;

export type KeyUseChange = Pick<KeyUse, 'lastUsedAt'> & Partial<KeyUse>;

const rows = record(1, {
  /** Milliseconds since 1970. */
  lastUsedAt: time,
  /** Program and version as it calls itself; empty for a key that no bouncer used. */
  agent: text,
  /** The address of the bouncer's last request. */
  address: text,
  /** Requests or packets that its bouncers saw and stopped, as they say. */
  processed: f64,
  dropped: f64,
});
const rowsPerCommit = 200;
/** A key that somebody else notes at the same time is tried again so often. */
const triesMax = 4;
const unused: KeyUse = { lastUsedAt: 0, agent: '', address: '', processed: 0, dropped: 0 };

async function readRow(store: Store, keyId: string): Promise<{ use: KeyUse; check: RowCheck }> {
  const key = apiKeyUseKey(keyId);
  const row = await store.get(key);
  const read = row && rows.decode(row.value);
  return { use: read ?? unused, check: { key, version: row?.version ?? null } };
}

export async function readKeyUse(store: Store, keyId: string): Promise<KeyUse | undefined> {
  const { use, check } = await readRow(store, keyId);
  return check.version === null ? undefined : use;
}

/**
 * Adds counts to those that are stored, and notes the later use.
 * @returns the ids that were not written: somebody else was faster each time
 */
export async function noteKeyUse(
  store: Store,
  changes: ReadonlyMap<string, KeyUseChange>,
): Promise<string[]> {
  let open = [...changes];
  for (let tries = 0; tries < triesMax && open.length > 0; tries++) {
    const left: typeof open = [];
    // One that is disturbed takes its neighbours along: alone from the second time on.
    const size = tries === 0 ? rowsPerCommit : 1;
    for (let i = 0; i < open.length; i += size) {
      const part = open.slice(i, i + size);
      if (!(await writePart(store, part))) left.push(...part);
    }
    open = left;
  }
  return open.map(([id]) => id);
}

async function writePart(store: Store, part: readonly [string, KeyUseChange][]): Promise<boolean> {
  const check: RowCheck[] = [];
  const set: SetRow[] = [];
  for (const [id, change] of part) {
    // The key of a deleted account is gone, and nothing is kept of it.
    const owner = {
      key: apiKeyKey(id),
      version: (await store.get(apiKeyKey(id)))?.version ?? null,
    };
    if (owner.version === null) continue;
    const row = await readRow(store, id);
    check.push(row.check, owner);
    set.push({ key: row.check.key, value: rows.encode(merged(row.use, change)) });
  }
  return set.length === 0 || (await store.commit({ check, set })).ok;
}

function merged(use: KeyUse, change: KeyUseChange): KeyUse {
  return {
    lastUsedAt: Math.max(use.lastUsedAt, change.lastUsedAt),
    agent: change.agent ?? use.agent,
    address: change.address ?? use.address,
    processed: use.processed + (change.processed ?? 0),
    dropped: use.dropped + (change.dropped ?? 0),
  };
}

export interface StoredKey {
  readonly id: string;
  readonly key: Key;
  readonly version: number;
  readonly record: KeyRecord;
}

/** Far longer than any id; what a person typed must not make a key too long for the store. */
const idLengthMax = 256;

/** The rows of a new key, for one commit. */
export function newKeyRows(id: string, record: KeyRecord): SetRow[] {
  return [
    { key: apiKeyKey(id), value: encodeKeyRecord(record) },
    { key: ownedApiKeyKey(record.account, id), value: new Uint8Array() },
  ];
}

/** Returns the keys of all rows of an API key, to be deleted in one commit when it is revoked. */
export function keysOfKeyRows(id: string, { account }: KeyRecord): Key[] {
  return [apiKeyKey(id), apiKeyUseKey(id), ownedApiKeyKey(account, id)];
}

export function createKeyRecords(options: { store: Store; clock: Clock; random: Random }) {
  const { store, clock, random } = options;

  async function find(id: string): Promise<StoredKey | undefined> {
    if (id.length > idLengthMax) return undefined;
    const key = apiKeyKey(id);
    const entry = await store.get(key);
    const record = entry && decodeKey(entry.value);
    return entry && record ? { id, key, version: entry.version, record } : undefined;
  }

  /** Yields all keys in order of their ids. The event loop turns between the pages. */
  async function* all(): AsyncGenerator<StoredKey> {
    for await (const page of pagesUnder(store, apiKeyPrefix())) {
      for (const { key, value, version } of page) {
        const record = decodeKey(value);
        // The key id is text, ended by a zero byte (see keys.ts).
        const id = Buffer.from(key.subarray(1, -1)).toString('utf8');
        if (record !== undefined) yield { id, key, version, record };
      }
    }
  }

  /** Yields the account's keys in order of their ids, revoked ones too; reads nothing of other accounts. */
  async function* ofAccount(accountId: string): AsyncGenerator<StoredKey> {
    for await (const page of pagesUnder(store, ownedApiKeyPrefix(accountId))) {
      const found = await Promise.all(page.map(({ key }) => find(readTexts(key)[1]!)));
      yield* found.filter((key) => key !== undefined);
    }
  }

  /**
   * Revoking a revoked key is no error. `unknown_key` when there is none.
   * @param also written in the commit that revokes it
   */
  function revoke(id: string, also: readonly SetRow[] = []): Promise<Result<KeyRecord>> {
    return retryOnConflict(async () => {
      const found = await find(id);
      if (found === undefined) return fail('unknown_key', `there is no key ${shownId(id)}`);
      if (found.record.revokedAt !== 0) return ok(found.record);
      const record = { ...found.record, revokedAt: clock.now() };
      const done = await commitOnce(store, {
        check: [{ key: found.key, version: found.version }],
        set: [{ key: found.key, value: encodeKeyRecord(record) }, ...also],
        ...(record.name === '' ? {} : { del: [apiKeyByAccountKey(record.account, id)] }),
        events: (record.hasLabel ? [id, labelId(id)] : [id]).map((key) =>
          keyRevoked.encode(createEventId(clock, random), { account: record.account, key }),
        ),
      });
      return withValue(done, record);
    });
  }

  /** Replaced, its time over, and not revoked yet. */
  function isOver(record: KeyRecord): boolean {
    return record.revokedAt === 0 && record.endsAt !== 0 && record.endsAt <= clock.now();
  }

  /** Revokes replaced keys that have expired. @returns how many */
  async function retire(): Promise<number> {
    let retired = 0;
    for await (const { id, record } of all()) {
      if (isOver(record) && (await revoke(id)).ok) retired++;
    }
    return retired;
  }

  return { find, all, ofAccount, revoke, isOver, retire };
}

function shownId(id: string): string {
  return id.slice(0, 40).replace(/\p{C}/gu, '?');
}

export const namedKeyBounds = { perAccountMax: 50, totalMax: 8_192 } as const;

/** Places in the table of keys: one may have a DNS label too. */
export const namedHashesMax = 2 * namedKeyBounds.totalMax;

/** A replaced key goes on working for this long. */
const replacedKeyLifeMs = dayMs;

const namePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
export function isKeyName(name: string): boolean {
  return namePattern.test(name);
}

export interface ForbiddenCharacter {
  /** Empty: it is not seen. */
  readonly shown: string;
  /** The code point, such as `U+00E9`. */
  readonly code: string;
  /** The index from 1, in characters as people count them. */
  readonly position: number;
}

/** Returns the first character of a name that is none of those it may have: some only look like one. */
export function forbiddenCharacterIn(name: string): ForbiddenCharacter | undefined {
  const characters = [...name];
  const at = characters.findIndex(
    (one, i) => !(i === 0 ? /[A-Za-z0-9]/ : /[A-Za-z0-9._-]/).test(one),
  );
  const found = characters[at];
  if (found === undefined) return undefined;
  const hex = found.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0');
  const isSeen = !/[\p{C}\p{Z}\p{M}\p{Default_Ignorable_Code_Point}]/u.test(found);
  return { shown: isSeen ? found : '', code: `U+${hex}`, position: at + 1 };
}

const labelAlphabet = 'abcdefghijklmnopqrstuvwxyz234567';
const labelLength = 26;

type KeyFacts = Omit<KeyRecord, 'sealed'>;

export interface ApiKey extends KeyFacts {
  readonly id: string;
  /** Undefined: not used yet. */
  readonly use: KeyUse | undefined;
}

/** A key as the list of all shows it, also when it works no more. */
export interface KeyInfo extends KeyFacts {
  readonly id: string;
  readonly email: string;
  readonly state: 'active' | 'replaced' | 'revoked';
}

interface WantedKey {
  /** Absent: the account's own key. The rest is of a key with a name. */
  readonly name?: string | undefined;
  readonly scopes?: readonly KeyScope[];
  readonly entriesMax?: number | undefined;
  /** Makes a label for names of the DNS block list too. */
  readonly label?: boolean;
}

interface NewKey {
  readonly id: string;
  readonly text: string;
  /** The DNS label, shown this one time. */
  readonly label?: string | undefined;
  /** The id of the former key without a name, which ends in a day. */
  readonly replaces?: string | undefined;
}

/** The rows that change for a new key besides its own. */
interface Room {
  readonly check: readonly RowCheck[];
  readonly set: readonly SetRow[];
  readonly replaces?: string | undefined;
}

export function createApiKeys(options: {
  store: Store;
  clock: Clock;
  random: Random;
  masterKey: MasterKey;
  accounts: Pick<Accounts, 'find'>;
  /** Accounts that may have keys at one time. */
  slotsMax?: number;
  /** `operator` when an operator makes the keys; the account itself when left out. */
  by?: 'operator';
  totalMax?: number;
}) {
  const { store, clock, random, masterKey, accounts, slotsMax = capacities.accounts } = options;
  const { perAccountMax, totalMax } = { ...namedKeyBounds, ...options };
  const records = createKeyRecords(options);

  const eventId = () => createEventId(clock, random);

  async function ownerOf(accountId: string) {
    const row = await store.get(accountKey(accountId));
    const owner = row && decodeAccount(row.value);
    return row && owner && { version: row.version, owner };
  }

  async function namedIds(prefix: Key): Promise<string[]> {
    const ids: string[] = [];
    for await (const page of pagesUnder(store, prefix)) {
      for (const { key } of page) ids.push(Buffer.from(key).toString('utf8', 1).split('\0')[1]!);
    }
    return ids;
  }

  async function notRevoked(ids: readonly string[]): Promise<StoredKey[]> {
    const keys: StoredKey[] = [];
    for (const id of ids) {
      const key = await records.find(id);
      if (key?.record.revokedAt === 0) keys.push(key);
    }
    return keys;
  }

  async function shown(keys: readonly StoredKey[]): Promise<ApiKey[]> {
    const all: ApiKey[] = [];
    for (const { id, record } of keys) {
      const { sealed: _sealed, ...rest } = record;
      all.push({ id, ...rest, use: await readKeyUse(store, id) });
    }
    return all;
  }

  const byAge = (a: ApiKey, b: ApiKey) => a.createdAt - b.createdAt;

  async function named(prefix: Key): Promise<ApiKey[]> {
    return (await shown(await notRevoked(await namedIds(prefix)))).sort(byAge);
  }

  /** Returns the account's working keys, those without a name first, each kind oldest first. */
  async function list(accountId: string): Promise<ApiKey[]> {
    const found = await ownerOf(accountId);
    const plain = (await notRevoked(found?.owner.keys ?? [])).filter(
      ({ record }) => record.account === accountId && !records.isOver(record),
    );
    return [...(await shown(plain)), ...(await named(apiKeyByAccountPrefix(accountId)))];
  }

  const allNamed = (): Promise<ApiKey[]> => named(apiKeyByAccountPrefix());

  /** Makes room for a key without a name: the former one, if any, gets an end. */
  async function makeRoomForUnnamed({
    email,
    keys,
  }: AccountRecord): Promise<Result<Room> | 'conflict'> {
    const live = await notRevoked(keys);
    const over = live.find(({ record }) => records.isOver(record));
    if (over !== undefined) {
      // Its time ended and nobody has retired it yet: it must not count as a second key.
      const revoked = await records.revoke(over.id);
      return revoked.ok ? 'conflict' : revoked;
    }
    if (live.length > 1) {
      const ids = live.map((key) => key.id).join(', ');
      return fail('conflict', `${email} has two keys; revoke one first: ${ids}`);
    }
    const [former] = live;
    if (former === undefined) return ok({ check: [], set: [] });
    // One that was replaced before keeps its end: its successor was revoked since.
    const endsAt = former.record.endsAt || clock.now() + replacedKeyLifeMs;
    return ok({
      check: [{ key: former.key, version: former.version }],
      set: [{ key: former.key, value: encodeKeyRecord({ ...former.record, endsAt }) }],
      replaces: former.id,
    });
  }

  /** Makes room for one more named key. */
  async function makeRoomForNamed(
    account: string,
    email: string,
    name: string,
    role: Role,
  ): Promise<Result<Room>> {
    const held = await holdBounds(store, [{ rows: 'named_keys' }]);
    const own = await named(apiKeyByAccountPrefix(account));
    if (own.some((key) => key.name === name)) return taken(email, name);
    if (own.length >= perAccountMax) {
      return full(`${email} has ${perAccountMax} named keys, the most there may be`);
    }
    const room = roomFor(role, totalMax);
    if ((await namedIds(apiKeyByAccountPrefix())).length >= room) {
      return full(`there are ${room} named keys, the most there may be`);
    }
    return ok({ check: held.check, set: held.set });
  }

  /**
   * Makes a key and shows its text. `conflict` for a name that the account has, for a third key without
   * one, and for an account that can have none; `capacity_exceeded` at a bound.
   * @param email the address or the account's id
   */
  function create(
    email: string,
    wanted: WantedKey = {},
    also: CommitAddition = {},
  ): Promise<Result<NewKey>> {
    const { name, scopes = [], entriesMax = 0, label: wantsLabel = false } = wanted;
    if (name !== undefined) {
      if (!isKeyName(name)) return Promise.resolve(noName(name));
      if (scopes.length === 0) return Promise.resolve(noScope);
    }
    return commitInOrder(store, async () => {
      const found = await accounts.find(email);
      if (!found.ok) return found;
      const { id: account } = found.value;
      const row = await ownerOf(account);
      if (row === undefined) return 'conflict';
      const { owner } = row;
      if (owner.pendingUntil !== 0) {
        return fail('conflict', `${owner.email} has not verified its mail address yet`);
      }
      if (owner.disabled) return fail('conflict', `${owner.email} is disabled`);
      const role = options.by ?? (await roleOf(store, account));
      const room = await (name === undefined
        ? makeRoomForUnnamed(owner)
        : makeRoomForNamed(account, owner.email, name, role));
      if (room === 'conflict' || !room.ok) return room;
      const { replaces } = room.value;
      const slot = await claimSlot(
        store,
        { id: account, createdAt: owner.createdAt },
        slotsMax,
        role,
      );
      if (!slot.ok) return slot;
      const said = await findVouched(store, account);
      const more = await checksOf(also);
      if (!more.ok) return more;
      const { id, text } = makeKey(random);
      const label = wantsLabel && name !== undefined ? makeLabel(random) : undefined;
      const kind =
        name === undefined
          ? plainKey
          : { name, scopes: keyScopeBits(scopes), entriesMax, hasLabel: label !== undefined };
      const record: KeyRecord = {
        account,
        createdAt: clock.now(),
        endsAt: 0,
        revokedAt: 0,
        sealed: sealWithKey(masterKey, random, `${account}/${id}`, text),
        ...kind,
      };
      const former = replaces === undefined ? [] : [replaces];
      const keys = name === undefined ? [...former, id] : owner.keys;
      const index = { key: apiKeyByAccountKey(account, id), value: none };
      const done = await commitOnce(store, {
        check: [
          { key: accountKey(account), version: row.version },
          { key: apiKeyKey(id), version: null },
          { key: said.key, version: said.version },
          ...slot.value.check,
          ...room.value.check,
          ...more.value,
        ],
        set: [
          ...newKeyRows(id, record),
          ...(name === undefined ? [] : [index]),
          // Written also where it is unchanged: of two commits that add at the same time the second
          // reads the names again.
          accountRow(account, { ...owner, keys }),
          ...slot.value.set,
          ...room.value.set,
          ...(also.set ?? []),
        ],
        events: [
          keyCreated.encode(eventId(), {
            account,
            key: id,
            hash: hashKey(text),
            facts: slot.value.facts,
            scopes: name === undefined ? undefined : record.scopes,
          }),
          ...(label === undefined
            ? []
            : [
                keyCreated.encode(eventId(), {
                  account,
                  key: labelId(id),
                  hash: hashKey(label),
                  facts: none,
                  scopes: 0,
                }),
              ]),
          ...(said.version === null
            ? []
            : [accountVouched.encode(eventId(), { account, vouched: said.vouched })]),
        ],
      });
      return withValue(done, {
        id,
        text,
        label,
        replaces,
      });
    });
  }

  async function own(accountId: string, keyId: string): Promise<StoredKey | undefined> {
    const [found] = await notRevoked([keyId]);
    return found?.record.account === accountId && !records.isOver(found.record) ? found : undefined;
  }

  /** Its text stays. `conflict` for a name that another one has; `unknown_key` for one without a name. */
  function rename(accountId: string, keyId: string, name: string): Promise<Result<void>> {
    if (!isKeyName(name)) return Promise.resolve(noName(name));
    return retryOnConflict(async () => {
      const row = await ownerOf(accountId);
      const found = await own(accountId, keyId);
      if (row === undefined || found === undefined || found.record.name === '') {
        return fail('unknown_key');
      }
      const others = await named(apiKeyByAccountPrefix(accountId));
      if (others.some((one) => one.id !== keyId && one.name === name)) {
        return taken(row.owner.email, name);
      }
      const done = await commitOnce(store, {
        check: [
          { key: accountKey(accountId), version: row.version },
          { key: found.key, version: found.version },
        ],
        set: [
          { key: found.key, value: encodeKeyRecord({ ...found.record, name }) },
          accountRow(accountId, row.owner),
        ],
      });
      return withValue(done, undefined);
    });
  }

  /** Returns the text of a key without a name; those of others are shown once. */
  async function reveal(accountId: string, keyId: string): Promise<Result<string>> {
    const key = await own(accountId, keyId);
    if (key === undefined || key.record.name !== '') return fail('unknown_key');
    return open(masterKey, `${accountId}/${keyId}`, key.record.sealed);
  }

  /** @param also written in the commit that revokes it */
  async function revokeOwn(
    accountId: string,
    keyId: string,
    also: readonly SetRow[] = [],
  ): Promise<Result<void>> {
    if ((await own(accountId, keyId)) === undefined) return fail('unknown_key');
    const revoked = await records.revoke(keyId, also);
    return revoked.ok ? ok(undefined) : revoked;
  }

  async function info(id: string, { sealed: _sealed, ...record }: KeyRecord): Promise<KeyInfo> {
    const found = await ownerOf(record.account);
    const state = record.revokedAt !== 0 ? 'revoked' : record.endsAt !== 0 ? 'replaced' : 'active';
    return { id, email: found?.owner.email ?? '', state, ...record };
  }

  /** Revokes a key of any account. Revoking a revoked key is no error. */
  async function revoke(keyId: string): Promise<Result<KeyInfo>> {
    const revoked = await records.revoke(keyId);
    return revoked.ok ? ok(await info(keyId, revoked.value)) : revoked;
  }

  /** Returns the keys of all accounts, also those that work no more, oldest first. */
  async function all(): Promise<KeyInfo[]> {
    const found: KeyInfo[] = [];
    for await (const { id, record } of records.all()) found.push(await info(id, record));
    return found.sort((a, b) => a.createdAt - b.createdAt);
  }

  return { create, list, allNamed, all, rename, reveal, revoke, revokeOwn, retire: records.retire };
}

export type ApiKeys = ReturnType<typeof createApiKeys>;

const none = new Uint8Array();
const noScope = fail('invalid_parameter', 'a key needs a scope at least');
const full = (detail: string) => fail('capacity_exceeded', detail);

function noName(name: string) {
  const at = forbiddenCharacterIn(name);
  const strange = at === undefined ? '' : `, and no ${at.code} at character ${at.position}`;
  return fail(
    'invalid_parameter',
    `a name has 1 to 64 letters, digits, dots, dashes and underscores, a letter or digit first${strange}`,
  );
}

function taken(email: string, name: string) {
  return fail('conflict', `${email} has a key named ${name}; remove it first`);
}

/** 130 bits; each byte gives five of them, so all characters are equally likely. */
function makeLabel(random: Random): string {
  return Array.from(random.bytes(labelLength), (byte) => labelAlphabet[byte & 31]).join('');
}
