/**
 * The number of the data format, and the steps that lead an older store to it.
 *
 * Invariants: a store with a newer number is refused before anything else of it is read, by the
 * server and by every command (a program of format 1 refuses a newer one too: it compares the same
 * row). Nothing of an older store is read before all steps are done. Steps are only ever added at
 * the end of the list; a store keeps how many of them it has seen, so a step runs once.
 */

import { OperatorError } from '../core/errors.ts';
import { metaRowKey } from './keys.ts';
import type { Table, Tables } from './lmdb-tables.ts';
import { mailDomainSteps } from './migrations/mail-domains.ts';
import { ownedKeySteps } from './migrations/owned-keys.ts';
import type { MigrationStep } from './migrations/step.ts';

/** The format that this program writes. A store without a number has format 1. */
export const dataFormat = 3;

/** In the order they run. Add at the end; never change, move or remove one that was released. */
export const migrationSteps: readonly MigrationStep[] = [...mailDomainSteps, ...ownedKeySteps];

/** The progress of a store: `done` counts finished steps, `after` is the last row done of the next one. */
export interface MigrationPlace {
  readonly done: number;
  readonly after: Uint8Array | undefined;
}

export interface StoreFormatOptions {
  readonly steps: readonly MigrationStep[];
  /** Refuse a store that has steps to go: for those who can't run them. */
  readonly refuseOlder: boolean;
}

/**
 * Synchronous, at each open: the first process writes the number into an empty store, all others
 * compare. Throws an OperatorError when the store is newer, or older with `refuseOlder`.
 */
export function checkFormat(tables: Tables, { steps, refuseOlder }: StoreFormatOptions): void {
  const { meta } = tables;
  const found = formatOf(meta) ?? meta.transactionSync(() => claimEmpty(tables, steps.length));
  const { done } = migrationPlace(meta);
  if (found > dataFormat || done > steps.length) {
    throw new OperatorError(
      `the data directory has data format ${found}, this program knows ${dataFormat}: start the newer version again, or restore a backup made before the update`,
    );
  }
  if (refuseOlder && (found < dataFormat || done < steps.length)) {
    throw new OperatorError(
      `the data directory has data format ${found} and its update to ${dataFormat} is not finished: start the server once, it goes on from there`,
    );
  }
}

export function isUpToDate({ meta }: Tables, steps: readonly MigrationStep[]): boolean {
  return formatOf(meta) === dataFormat && migrationPlace(meta).done === steps.length;
}

export function formatOf(meta: Pick<Table, 'get'>): number | undefined {
  const row = meta.get(metaRowKey('format'));
  if (row === undefined) return undefined;
  if (row.length === 4) return row.readUInt32BE(0);
  throw new OperatorError('the row of the data format is damaged: restore a backup');
}

/** From the first batch on the number is the new one, so that an older program stays out. */
export function writeFormat(meta: Table): void {
  const row = Buffer.alloc(4);
  row.writeUInt32BE(dataFormat);
  meta.putSync(metaRowKey('format'), row);
}

/** Row: done u32, then the place inside the next step. A store of format 1 has none. */
export function migrationPlace(meta: Table): MigrationPlace {
  const row = meta.get(metaRowKey('migration'));
  if (row === undefined) return { done: 0, after: undefined };
  return { done: row.readUInt32BE(0), after: row.length > 4 ? row.subarray(4) : undefined };
}

export function writeMigrationPlace(meta: Table, { done, after }: MigrationPlace): void {
  const row = Buffer.alloc(4 + (after?.length ?? 0));
  row.writeUInt32BE(done);
  if (after !== undefined) row.set(after, 4);
  meta.putSync(metaRowKey('migration'), row);
}

/** In one transaction with the look: two processes may meet in an empty directory. */
function claimEmpty(tables: Tables, steps: number): number {
  const { meta } = tables;
  const there = formatOf(meta);
  if (there !== undefined) return there;
  const { entries, journal, eventIds, expiry } = tables;
  const isEmpty = [entries, journal, eventIds, expiry, meta].every(
    (table) => [...table.getKeys({ limit: 1 })].length === 0,
  );
  if (!isEmpty) return 1;
  writeFormat(meta);
  writeMigrationPlace(meta, { done: steps, after: undefined });
  return dataFormat;
}
