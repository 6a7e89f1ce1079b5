/**
 * Write transactions of LMDB, with its ways of failing made plain: a transaction resolves when it
 * is on disk, or rejects with the cause and has changed nothing. No rejection is left unhandled.
 */

import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../core/clock.ts';
import type { Log } from '../core/log.ts';
import type { Transactor } from './group-commit.ts';
import { metaRowKey } from './keys.ts';
import { rowsOf } from './lmdb-commit.ts';
import { type TableCounters, type Tables, writeCounters } from './lmdb-tables.ts';

const probeBytes = 64 * 1024;
/** As in lmdb.h. */
const lmdbPanic = -30_795;

export type LmdbContext = ReturnType<typeof rowsOf>;

export function createTransactor(tables: Tables, clock: Clock, log: Log): Transactor<LmdbContext> {
  const { root, meta } = tables;
  const loss = createLossWatch(tables);

  async function transact(body: (context: LmdbContext) => void): Promise<void> {
    let thrown: { error: unknown } | undefined;
    let checked: LmdbContext | undefined;
    const committed = root.transaction(() => {
      const context = rowsOf(tables, clock.now());
      try {
        loss.check(context.counters);
        checked = context;
        body(context);
        if (context.writes > 0) writeCounters(meta, context.counters);
      } catch (error) {
        thrown = { error };
        if (context.writes > 0) assertDoomed(error, log);
        throw error;
      }
    });
    try {
      await committed;
      if (checked !== undefined) loss.acknowledge(checked.counters, checked.writes > 0);
    } catch (error) {
      const cause = await commitCause(error);
      throw thrown === undefined ? cause : thrown.error;
    }
  }

  return {
    transact,
    writes: (context) => context.writes,
    async probe() {
      const key = metaRowKey('probe');
      const row = Buffer.alloc(probeBytes);
      await transact(() => void meta.put(key, row));
      await transact(() => void meta.remove(key));
    },
    isFatal: (error) => error instanceof LostCommitsError || codeOf(error) === lmdbPanic,
  };
}

function codeOf(error: unknown): unknown {
  return (error as { code?: unknown } | null)?.code;
}

/** Acknowledged writes are gone from the store: whatever is written now would be built on less. */
export class LostCommitsError extends Error {
  override readonly name = 'LostCommitsError';
}

/**
 * Watches that nothing goes back that was acknowledged: neither the journal, nor the rows'
 * versions, nor the number of the last transaction in the file, and that the file is still the one
 * at its path. LMDB itself keeps the number in its lock file, and reads it there alone.
 */
function createLossWatch({ file }: Tables) {
  let lastSeq = 0;
  let lastVersion = 0;
  let lastTransaction = 0n;

  /** Returns what of the acknowledged is gone; undefined when nothing is. */
  function lossIn(found: TableCounters): string | undefined {
    if (found.lastSeq < lastSeq || found.lastVersion < lastVersion) {
      return `its journal ends at ${found.lastSeq} and did at ${lastSeq}`;
    }
    if (file.isReplaced()) return 'its file was removed or replaced';
    const transaction = file.lastTransaction();
    if (transaction === undefined) return 'its file is no store any more';
    if (transaction < lastTransaction) {
      return `its last transaction is ${transaction} and was ${lastTransaction}`;
    }
    lastTransaction = transaction;
    return undefined;
  }

  return {
    /** Inside a transaction, before its first write. @throws LostCommitsError */
    check(found: TableCounters): void {
      const loss = lossIn(found);
      if (loss === undefined) return;
      throw new LostCommitsError(
        `commits that were acknowledged are gone from the store: ${loss}; ` +
          'something else wrote to its file. Stop that, run portcullis verify, and restore a backup',
      );
    },
    /** @param wrote whether the transaction that was checked last wrote anything: then it has a number */
    acknowledge(done: TableCounters, wrote: boolean): void {
      lastSeq = done.lastSeq;
      lastVersion = done.lastVersion;
      if (wrote) lastTransaction += 1n;
    },
  };
}

/**
 * An error of LMDB itself has made the transaction fail already. Any other one is a bug between
 * two writes of a commit, and lmdb would commit what was written so far: a dead process is the
 * only way left to keep the commit atomic.
 */
function assertDoomed(error: unknown, log: Log): void {
  if (typeof codeOf(error) === 'number') return;
  log.fatal({ err: error }, 'store: a commit broke off half-way');
  process.abort();
}

/**
 * lmdb rejects a failed commit with a generic error whose `commitError` is a second promise,
 * rejected with the cause. Left alone that one ends the process as an unhandled rejection.
 */
async function commitCause(error: unknown): Promise<unknown> {
  const second = (error as { commitError?: unknown } | null)?.commitError;
  if (!(second instanceof Promise)) return error;
  const cause = second.then(
    () => error,
    (reason: unknown) => reason,
  );
  return Promise.race([cause, delay(1_000, error, { ref: false })]);
}
