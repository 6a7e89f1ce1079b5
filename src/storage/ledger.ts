/**
 * Counts the entries of a bounded table where every process can read it: in a row that each commit
 * which adds or removes one changes along with what it is about, under a check. So what a command
 * reads before it writes holds when it has written, with a running server or without one.
 *
 * The tables themselves lie in the server's memory and follow the journal. Of accounts and lists the server
 * compares both at its start and now and then, and mends the row; an older version's store has none until then.
 */

import { createWriter, decode } from './codec.ts';
import { checkpointKey, ledgerKey } from './keys.ts';
import type { RowCheck, SetRow, Store } from './store.ts';

export type LedgerTable = 'account_slots' | 'lists' | 'allow_rules' | 'own_entries';

/** The state's name among the projections. */
const projectionName = 'state';

export interface LedgerEntry {
  readonly used: number;
  /** Undefined: the server has to run once, for nobody has counted yet. */
  readonly known: boolean;
  /** For the commit: the row must be as it was read. */
  readonly check: RowCheck;
  /** For the same commit. */
  set(used: number): SetRow;
}

export async function readLedger(store: Store, table: LedgerTable): Promise<LedgerEntry> {
  const key = ledgerKey(table);
  const row = await store.get(key);
  const used = row && decode(row.value, (input) => input.varint());
  const isNew = row === undefined && (await store.get(checkpointKey(projectionName))) === undefined;
  return {
    used: used ?? 0,
    known: used !== undefined || isNew,
    check: { key, version: row?.version ?? null },
    set: (next) => ({ key, value: createWriter().varint(Math.max(0, next)).finish() }),
  };
}

/** The message of a command that finds no count. */
export const notCounted =
  'this data directory was last used by an older version: start the server once, then try again';
