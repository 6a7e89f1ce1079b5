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
import type { RowCheck, SetRow, Store } from './store.ts';

export type LedgerTable = 'account_slots' | 'lists' | 'allow_rules' | 'own_entries';

export interface LedgerEntry {
  readonly used: number;
  /** For the commit: the row must be as it was read. */
  readonly check: RowCheck;
  /** For the same commit. */
  set(used: number): SetRow;
}

export async function readLedger(store: Store, table: LedgerTable): Promise<LedgerEntry> {
  const key = ledgerKey(table);
  const row = await store.get(key);
  const used = row && decode(row.value, (input) => input.varint());
  return {
    used: used ?? 0,
    check: { key, version: row?.version ?? null },
    set: (next) => ({ key, value: createWriter().varint(Math.max(0, next)).finish() }),
  };
}
