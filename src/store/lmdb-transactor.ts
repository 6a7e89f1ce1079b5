/**
 * Write transactions of LMDB, with its ways of failing made plain: a transaction resolves when it
 * is on disk, or rejects with the cause and has changed nothing. No rejection is left unhandled.
 */

import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '../core/clock.ts';
import type { Log } from '../core/log/log.ts';
import type { Transactor } from './group-commit.ts';
import { metaRowKey } from './keys.ts';
import { rowsOf } from './lmdb-commit.ts';
import { type Tables, writeCounters } from './lmdb-tables.ts';

const probeBytes = 64 * 1024;
/** LMDB's own codes, lmdb.h; errors of the system are positive. */
const lmdbCodeMin = -30_799;
const lmdbCodeMax = -30_774;
const lmdbPanic = -30_795;

export type LmdbContext = ReturnType<typeof rowsOf>;

export function createTransactor(tables: Tables, clock: Clock, log: Log): Transactor<LmdbContext> {
  const { root, meta } = tables;

  async function transact(body: (context: LmdbContext) => void): Promise<void> {
    let thrown: { error: unknown } | undefined;
    const committed = root.transaction(() => {
      const context = rowsOf(tables, clock.now());
      try {
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
    isPassing: (error) => isPassing(codeOf(error)),
    isFatal: (error) => codeOf(error) === lmdbPanic,
  };
}

function codeOf(error: unknown): unknown {
  return (error as { code?: unknown } | null)?.code;
}

/**
 * LMDB builds a transaction in memory and meets errors of its own there; from the first write on
 * its errors are the system's. Seen: MDB_BAD_VALSIZE while the list of free pages was saved, see
 * docs/STORAGE.md.
 */
function isPassing(code: unknown): boolean {
  return (
    typeof code === 'number' && code >= lmdbCodeMin && code <= lmdbCodeMax && code !== lmdbPanic
  );
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
