/**
 * API keys as durable records: look-up, walk and revocation. What needs the master key, making
 * and showing a key, is in accounts.ts.
 *
 * Invariant: each key has its row in the index of its account from the commit that makes it to the one
 * that removes it, also while it is revoked.
 */

import type { Clock } from '../../core/clock.ts';
import type { Random } from '../../core/random.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import { commitOnce, untilUndisturbed, written } from '../../storage/change.ts';
import { createEventId } from '../../storage/journal/define-event.ts';
import {
  apiKeyByAccountKey,
  apiKeyKey,
  apiKeyPrefix,
  apiKeyUseKey,
  type Key,
  ownedApiKeyKey,
  ownedApiKeyPrefix,
  readTexts,
} from '../../storage/keys.ts';
import { f64, record, text, time } from '../../storage/record.ts';
import { pagesUnder, type RowCheck, type SetRow, type Store } from '../../storage/store.ts';
import { keyRevoked } from '../accounts/events.ts';
import { decodeKey, encodeKeyRecord, type KeyRecord, labelId } from '../accounts/records.ts';

// The last use of a key and, for a bouncer's, its program, address and counts. They have rows of
// their own: they change often and are worth less than the key's record. Two nodes that write at
// once keep the later use; counts are added under a check.
//
//   layout u8 | lastUsedAt f64 | agent text | address text | processed f64 | dropped f64

export interface KeyUse {
  /** Milliseconds since 1970. */
  readonly lastUsedAt: number;
  /** Program and version as it calls itself; empty for a key that no bouncer used. */
  readonly agent: string;
  /** The address of the bouncer's last request. */
  readonly address: string;
  /** Requests or packets that its bouncers saw and stopped, as they say. */
  readonly processed: number;
  readonly dropped: number;
}

/** The changed fields of a key's use. */
export type KeyUseChange = Pick<KeyUse, 'lastUsedAt'> & Partial<KeyUse>;

const rows = record<KeyUse>(1, {
  lastUsedAt: time,
  agent: text,
  address: text,
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

/** Returns undefined for a key that was never used. */
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

export interface KeyRecords {
  find(id: string): Promise<StoredKey | undefined>;
  /** Yields all keys in order of their ids. The event loop turns between the pages. */
  all(): AsyncGenerator<StoredKey>;
  /** Yields the account's keys in order of their ids, revoked ones too; reads nothing of other accounts. */
  ofAccount(accountId: string): AsyncGenerator<StoredKey>;
  /**
   * Revoking a revoked key is no error. `unknown_key` when there is none.
   * @param also written in the commit that revokes it
   */
  revoke(id: string, also?: readonly SetRow[]): Promise<Result<KeyRecord>>;
  /** Replaced, its time over, and not revoked yet. */
  isOver(record: KeyRecord): boolean;
  /** Revokes replaced keys whose time is over. @returns how many */
  retire(): Promise<number>;
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

export function createKeyRecords(options: {
  store: Store;
  clock: Clock;
  random: Random;
}): KeyRecords {
  const { store, clock, random } = options;

  async function find(id: string): Promise<StoredKey | undefined> {
    if (id.length > idLengthMax) return undefined;
    const key = apiKeyKey(id);
    const entry = await store.get(key);
    const record = entry && decodeKey(entry.value);
    return entry && record ? { id, key, version: entry.version, record } : undefined;
  }

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

  async function* ofAccount(accountId: string): AsyncGenerator<StoredKey> {
    for await (const page of pagesUnder(store, ownedApiKeyPrefix(accountId))) {
      const found = await Promise.all(page.map(({ key }) => find(readTexts(key)[1]!)));
      yield* found.filter((key) => key !== undefined);
    }
  }

  function revoke(id: string, also: readonly SetRow[] = []): Promise<Result<KeyRecord>> {
    return untilUndisturbed(async () => {
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
      return written(done, record);
    });
  }

  function isOver(record: KeyRecord): boolean {
    return record.revokedAt === 0 && record.endsAt !== 0 && record.endsAt <= clock.now();
  }

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
