/**
 * The last use of a key and, for a bouncer's, its program, address and counts. They have rows of
 * their own: they change often and are worth less than the key's record. Two nodes that write at
 * once keep the later use; counts are added under a check.
 *
 *   layout u8 | lastUsedAt f64 | agent text | address text | processed f64 | dropped f64
 */

import { apiKeyKey, apiKeyUseKey } from '../../storage/keys.ts';
import { f64, record, text, time } from '../../storage/record.ts';
import type { RowCheck, SetRow, Store } from '../../storage/store.ts';

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
