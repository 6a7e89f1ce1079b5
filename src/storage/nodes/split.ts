/**
 * One Store out of two: rows that are about this machine alone lie on its own disk, all others in
 * the database that the nodes share. The key's namespace decides which is which.
 *
 * Invariants: a commit lies wholly on one side; events are shared, always.
 */

import { type Key, namespaces } from '../keys.ts';
import type { Commit, Store } from '../store.ts';

/** Namespaces of a node's own part: its saved memory and its counts. */
const ownNamespaces: ReadonlySet<number> = new Set([
  namespaces.checkpoint,
  namespaces.projectionPage,
  namespaces.tallies,
]);

export function splitStore(shared: Store, local: Store): Store {
  const of = (key: Key): Store => (ownNamespaces.has(key[0]!) ? local : shared);

  function sideOf({ check = [], set = [], del = [], events = [] }: Commit): Store {
    const keys = [...check, ...set].map(({ key }) => key).concat(del);
    const owns = keys.filter((key) => ownNamespaces.has(key[0]!)).length;
    if (owns === 0) return shared;
    if (owns === keys.length && events.length === 0) return local;
    throw new RangeError('a commit lies on this machine and in the database');
  }

  return {
    ...shared,
    tables: [
      ...shared.tables,
      ...local.tables.map((table) => ({ ...table, name: `node_${table.name}` })),
    ],
    async commit(commit) {
      return sideOf(commit).commit(commit);
    },
    get: (key) => of(key).get(key),
    scan: (prefix, options) => of(prefix).scan(prefix, options),
    async sweep(limit) {
      const swept = await local.sweep(limit);
      return swept === limit ? swept : swept + (await shared.sweep(limit - swept));
    },
    async close() {
      await shared.close();
      await local.close();
    },
  };
}

/** Stands for this machine's part where a command has none: nothing is in it, and nothing goes into it. */
export function absentStore(): Store {
  const writable = { available: true, fatal: false, detail: 'available' };
  return {
    async commit() {
      throw new RangeError("a command does not write to this machine's part of the store");
    },
    get: async () => undefined,
    scan: async () => [],
    read: async () => [],
    lastSeq: async () => 0n,
    onHint: () => () => undefined,
    onWriteState: () => () => undefined,
    writeState: () => writable,
    tables: [],
    pruneEvents: async () => 0,
    sweep: async () => 0,
    close: async () => undefined,
  };
}
