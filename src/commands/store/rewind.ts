/**
 * `restore --to`: what the journal says of reputation ends at an earlier position. Events of accounts,
 * keys and sign-ins stay, all of them: their rows are those of the backup, and a key that was revoked must
 * not work again.
 *
 * Rows outside the journal follow: reports that were added since go, rules of the allowlist and manual
 * entries are those of the position, a list that was loaded since is unknown until it is loaded
 * anew, and what agents found since is banned no more. What was removed since, such as the comment
 * of a report that was taken back, is in no backup made after it.
 */

import { journalEvent } from '../../app/journal-events.ts';
import { OperatorError } from '../../core/errors.ts';
import type { About } from '../../storage/backup/content.ts';
import { cutJournal, reachOf } from '../../storage/backup/cut.ts';
import type { RewoundRows } from '../../storage/define-event.ts';
import { feedHeadKey, feedsBehindKey, type Key } from '../../storage/keys.ts';
import { type LedgerTable, readLedger } from '../../storage/ledger.ts';
import type { Tables } from '../../storage/lmdb-tables.ts';
import { pagesUnder } from '../../storage/pages.ts';
import type { Commit, Store, StoreEvent } from '../../storage/store.ts';

/** Takes an event back in the rows beside the journal. */
export type Undo = (rows: RewoundRows) => Promise<void>;

/** @throws OperatorError which says how far the backup reaches */
export function checkReach(about: About, to: number): void {
  const least = reachOf(about);
  if (to >= least && to <= about.seq) return;
  throw new OperatorError(
    `--to ${to} is beyond this backup: it reaches from journal position ${least} to ${about.seq}`,
  );
}

/** @returns what takes back the rows of the events that went, oldest event first */
export function retract(tables: Tables, to: number): Undo[] {
  const dropped: Undo[] = [];
  cutJournal(
    tables,
    to,
    (event) => journalEvent(event)?.undo === 'kept',
    (event) => dropped.push(undoOf(event)),
  );
  return dropped;
}

export function undoOf(event: Pick<StoreEvent, 'kind' | 'version' | 'body'>): Undo {
  const { undo, decode } = journalEvent(event) ?? {};
  const facts = typeof undo === 'function' ? decode?.(event.version, event.body) : undefined;
  return async (rows) => {
    if (typeof undo === 'function' && facts !== undefined) await undo(rows, facts);
  };
}

/** @param dropped oldest event first */
export async function forget(store: Store, dropped: readonly Undo[]): Promise<void> {
  if (dropped.length > 0) await setFeedsBehind(store);
  const seen = new Set<string>();
  const changed = new Map<LedgerTable, Key>();
  const rows: RewoundRows = {
    store,
    isFirst: (key) => seen.size < seen.add(String(key)).size,
    put: (key, value) => write(store, { set: [{ key, value }] }),
    remove: (...del) => write(store, { del }),
    write: (commit) => write(store, commit),
    recount: (table, under) => changed.set(table, under),
  };
  for (const undo of dropped) await undo(rows);
  for (const [table, under] of changed) await countAnew(store, table, under);
}

/** Counts the rows of an operator's table anew, because the changes before went uncounted. */
async function countAnew(store: Store, table: LedgerTable, under: Key): Promise<void> {
  let rows = 0;
  for await (const page of pagesUnder(store, under)) rows += page.length;
  await write(store, { set: [(await readLedger(store, table)).set(rows)] });
}

/** The next start builds them anew; their versions go on, for who reads changes. */
async function setFeedsBehind(store: Store): Promise<void> {
  const head = await store.get(feedHeadKey());
  if (head === undefined) return;
  await write(store, { set: [{ key: feedsBehindKey(), value: head.value }] });
}

export async function write(store: Store, commit: Commit): Promise<void> {
  const done = await store.commit(commit);
  if (!done.ok) throw new OperatorError(`the restored store can't be written: ${done.error}`);
}
