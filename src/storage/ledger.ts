/**
 * Counts the entries of a bounded table where every process can read it: in a row that each commit
 * which adds or removes one changes along with what it is about, under a check. So what a command
 * reads before it writes holds when it has written, with a running server or without one.
 *
 * The tables themselves lie in the server's memory and follow the journal. Of accounts and lists the server
 * compares both at its start and now and then, and mends the row.
 */

import { createWriter, decode } from './codec.ts';
import { ledgerKey } from './keys.ts';
import type { Store } from './store.ts';

export type LedgerTable = 'account_slots' | 'lists' | 'allow_rules' | 'own_entries';

export async function readLedger(store: Store, table: LedgerTable) {
  const key = ledgerKey(table);
  const row = await store.get(key);
  const used = row && decode(row.value, (input) => input.varint());
  return {
    used: used ?? 0,
    /** The commit checks this: the row must be as it was read. */
    check: { key, version: row?.version ?? null },
    /** The same commit sets this. */
    set: (next: number) => ({ key, value: createWriter().varint(Math.max(0, next)).finish() }),
  };
}
