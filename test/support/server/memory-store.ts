/**
 * A store for tests that must stop it anywhere: the entries of one process in a map, with the
 * moment of failure chosen by commit number. Only what projections use.
 */

import type { Key } from '../../../src/storage/keys.ts';
import type { Commit, Store, StoredRow } from '../../../src/storage/store.ts';

type Behaviour = 'works' | 'unavailable';

export interface MemoryStore extends Pick<Store, 'commit' | 'get' | 'scan'> {
  /** Commits that took effect. */
  readonly commits: () => number;
  /** Largest commit so far: rows. */
  readonly rowsMax: () => number;
  /** Commits from this number on (0-based, counted from now) fail and change nothing. */
  failFrom(commit: number | undefined): void;
  /** The entries as they are, for a store that goes on from there. */
  copy(): MemoryStore;
  keys(): string[];
  set(key: string, value: Uint8Array): void;
  value(key: string): Uint8Array | undefined;
  /** Runs before each commit takes effect, as other work does while a disk is slow. */
  beforeCommit: () => void;
}

export function createMemoryStore(from?: ReadonlyMap<string, Uint8Array>): MemoryStore {
  const entries = new Map(from);
  let commits = 0;
  let failing: number | undefined;
  let rowsMax = 0;
  const hex = (key: Uint8Array) => Buffer.from(key).toString('hex');

  async function commit({ set = [], del = [] }: Commit): ReturnType<Store['commit']> {
    // The disk takes its time: others run in between.
    await new Promise(setImmediate);
    store.beforeCommit();
    const behaviour: Behaviour =
      failing !== undefined && commits >= failing ? 'unavailable' : 'works';
    if (behaviour === 'unavailable') {
      return { ok: false, error: 'store_unavailable', seq: 0n, detail: 'told to fail' };
    }
    commits++;
    rowsMax = Math.max(rowsMax, set.length + del.length);
    for (const { key, value } of set) entries.set(hex(key), Uint8Array.from(value));
    for (const key of del) entries.delete(hex(key));
    return { ok: true, seq: 0n, duplicate: false, versions: set.map(() => 1) };
  }

  const store: MemoryStore = {
    commit,
    async get(key) {
      const value = entries.get(hex(key));
      return value && { value, version: 1 };
    },
    async scan(prefix, { after, limit }) {
      const start = hex(prefix);
      const behind = after === undefined ? '' : hex(after);
      return [...entries.keys()]
        .filter((key) => key.startsWith(start) && key > behind)
        .sort()
        .slice(0, Math.min(limit, 7))
        .map((key): StoredRow => {
          return {
            key: Buffer.from(key, 'hex') as unknown as Key,
            value: entries.get(key)!,
            version: 1,
          };
        });
    },
    commits: () => commits,
    rowsMax: () => rowsMax,
    failFrom(count) {
      failing = count === undefined ? undefined : commits + count;
    },
    copy: () => createMemoryStore(entries),
    keys: () => [...entries.keys()].sort(),
    set: (key, value) => entries.set(key, value),
    value: (key) => entries.get(key),
    beforeCommit: () => {},
  };
  return store;
}
