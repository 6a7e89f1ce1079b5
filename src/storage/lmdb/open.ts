/**
 * Opens a store for the server or a command, and leads an older one to the present data format
 * first: step by step, batch by batch, each batch in one transaction with the place it reached.
 *
 * Invariants: nobody else has the store open while its rows change (its directory is claimed); the new
 * number is written before the first row, so a program of an older format stays out from then on; a kill at any
 * moment leaves a store that the next open leads on to the same end.
 */

import { join } from 'node:path';
import type { Random } from '../../core/random.ts';
import { applyCommit } from '../apply-commit.ts';
import { backUpTables, intoFile } from '../backup/write.ts';
import { type Key, prefixEnd, storedKey } from '../keys.ts';
import { isExpired, readEntry } from '../rows.ts';
import type { Store } from '../store.ts';
import { prepareCommit, rowsOf } from './commit.ts';
import { openTables } from './environment.ts';
import {
  type DataFormat,
  dataFormat,
  type FormatRow,
  formatIn,
  isUpToDate,
  type MigrationReader,
  type MigrationRow,
  type MigrationStep,
  writeFormat,
} from './format.ts';
import {
  claimMasterKey,
  claimPresence,
  type MasterKeyClaim,
  refuseHalfRestored,
  refuseLostStore,
} from './presence.ts';
import { createLmdbStore, type StoreParts } from './store.ts';
import { type Tables, writeCounters } from './tables.ts';

export interface StoreOpening extends StoreParts {
  readonly random: Random;
  /** The claim of the master key; missing for callers that read nothing that it seals. */
  readonly masterKey?: MasterKeyClaim | undefined;
  /** False: there is a backup of it already. Else an update begins with one, in `dataDir`. */
  readonly backsUp?: boolean;
  /** For tests: a format to come, smaller batches, a pause after each. */
  readonly format?: DataFormat;
  readonly batchRows?: number;
  readonly afterBatch?: () => Promise<void>;
}

export interface OpenStoreOptions extends StoreOpening {
  /** Directory of the database, made when it is missing. */
  readonly path: string;
  readonly dataDir: string;
}

/** Rows of one batch: some milliseconds of work, far below the bounds of a commit. */
const batchRowsDefault = 500;

/**
 * The store in the present format.
 * @throws OperatorError when it is newer, can't be opened, or is in use by another process
 */
export async function openStore(options: OpenStoreOptions): Promise<Store> {
  const { format = dataFormat } = options;
  refuseHalfRestored(options.dataDir, options.path);
  refuseLostStore(options.dataDir, options.path);
  const tables = openTables(options.path, format, true);
  const store = createLmdbStore(tables, options);
  try {
    const found = formatIn(tables.meta)!;
    if (!isUpToDate(found, format)) await update(tables, found, format, options);
    if (options.masterKey !== undefined) claimMasterKey(tables.meta, options.masterKey);
    claimPresence(tables.meta, options.dataDir, options.random);
    return store;
  } catch (error) {
    await store.close();
    throw error;
  }
}

async function update(
  tables: Tables,
  found: FormatRow,
  format: DataFormat,
  options: OpenStoreOptions,
): Promise<void> {
  const { number: to } = format;
  // Once: what was begun is no state to go back to.
  if (found.number !== to) await backUp(tables, to, options);
  // The new number first, so that an older program stays out from the first batch on.
  tables.file.assertRoom();
  tables.meta.transactionSync(() => writeFormat(tables.meta, { ...found, number: to }));
  const rows = await runSteps(tables, format, options);
  options.log.info({ from: found.number, to, rows }, 'store: migrated to the current data format');
}

async function backUp(tables: Tables, to: number, options: OpenStoreOptions): Promise<void> {
  const { dataDir, clock, random, log, backsUp = true } = options;
  if (!backsUp) return;
  const stamp = new Date(clock.now()).toISOString().replace(/[-:]|\.\d+/g, '');
  const file = join(dataDir, `before-format-${to}-${stamp}.backup`);
  const made = await intoFile(file, random, (write) => backUpTables(tables, { clock, write }));
  log.info({ file, rows: made.rows, bytes: made.bytes }, 'store: backed up before the update');
}

/** @returns how many rows were written */
async function runSteps(
  tables: Tables,
  { steps }: DataFormat,
  { clock, log, batchRows = batchRowsDefault, afterBatch }: OpenStoreOptions,
): Promise<number> {
  let rows = 0;
  for (;;) {
    const format = formatIn(tables.meta)!;
    const step = steps[format.done];
    if (step === undefined) return rows;
    if (format.after === undefined) log.info({ step: step.name }, 'store: a step of the update');
    const nowMs = clock.now();
    tables.file.assertRoom();
    rows += tables.root.transactionSync(() => runBatch(tables, step, format, nowMs, batchRows));
    await afterBatch?.();
    await new Promise(setImmediate);
  }
}

function runBatch(
  tables: Tables,
  step: MigrationStep,
  { number, done, after }: FormatRow,
  nowMs: number,
  limit: number,
): number {
  const context = rowsOf(tables, nowMs);
  const { commit, next } = step.plan(readerOf(tables, nowMs), after, limit);
  const result = applyCommit(context, prepareCommit(commit));
  if (!result.ok) throw new Error(`a batch of '${step.name}' was refused: ${result.error}`);
  if (context.writes > 0) writeCounters(tables.meta, context.counters);
  writeFormat(tables.meta, { number, done: next === undefined ? done + 1 : done, after: next });
  return context.writes;
}

function readerOf({ entries }: Tables, nowMs: number): MigrationReader {
  /** A copy: the row's bytes lie in the page that the batch is about to change. */
  function rowOf(key: Key, row: Buffer): MigrationRow | undefined {
    const entry = readEntry(key, row);
    if (isExpired(entry, nowMs)) return undefined;
    return { key, value: Uint8Array.from(entry.value), expiresAt: entry.expiresAt };
  }
  return {
    nowMs,
    get(key) {
      const row = entries.get(key);
      return row === undefined ? undefined : rowOf(key, row);
    },
    scan(prefix, after, limit) {
      const end = prefixEnd(prefix);
      const range = entries.getRange({
        start: after ?? prefix,
        exclusiveStart: after !== undefined,
        limit,
        ...(end === undefined ? {} : { end }),
      });
      const rows: MigrationRow[] = [];
      let seen = 0;
      let last: Key | undefined;
      for (const { key, value } of range) {
        seen += 1;
        last = storedKey(key);
        const row = rowOf(last, value);
        if (row !== undefined) rows.push(row);
      }
      return { rows, last: seen < limit ? undefined : last };
    },
  };
}
