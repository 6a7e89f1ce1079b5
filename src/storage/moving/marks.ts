/**
 * Records which side a store lives on while it is moved, and afterwards: in a file in the data
 * directory, and a row of the database. What was begun and not ended, and what was left, is opened
 * by nobody.
 */

import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import * as v from 'valibot';
import { OperatorError } from '../../core/errors.ts';
import type { Random } from '../../core/random.ts';
import { makeFileOnce, syncPath } from '../files.ts';
import type { PostgresSession } from '../postgres/connection.ts';

const files = { begun: 'moving-to-postgres', done: 'moved-to-postgres' } as const;

/** @throws OperatorError when the store of this directory is on its way, or gone */
export function refuseMoved(dataDir: string): void {
  if (existsSync(join(dataDir, files.done))) {
    throw new OperatorError(
      `the store in ${dataDir} was moved to PostgreSQL: set DATABASE_URL. What lies here is of the day of the move`,
    );
  }
  if (existsSync(join(dataDir, files.begun))) {
    throw new OperatorError(
      `the move of the store in ${dataDir} to PostgreSQL is not finished: run \`portcullis migrate ` +
        `embedded-to-postgres\` again. To stay with this store, remove ${join(dataDir, files.begun)}`,
    );
  }
}

/** Returns true if the whole store was moved away: a node may use the directory. */
export function isMoved(dataDir: string): boolean {
  return existsSync(join(dataDir, files.done));
}

/**
 * Marks the move as begun, which keeps others from opening the store. @returns false if it was marked before
 */
export function markBegun(dataDir: string, random: Random): boolean {
  const path = join(dataDir, files.begun);
  if (existsSync(path)) return false;
  makeFileOnce(path, '', random);
  return true;
}

export function markMoved(dataDir: string, random: Random): void {
  makeFileOnce(join(dataDir, files.done), '', random);
  rmSync(join(dataDir, files.begun), { force: true });
}

/** Removes the marks: the directory has a store of its own again. */
export function unmark(dataDir: string): void {
  for (const name of Object.values(files)) rmSync(join(dataDir, name), { force: true });
  syncPath(dataDir);
}

const markSchema = v.object({
  to: v.picklist(['postgres', 'embedded']),
  /** The id of the move, which the other side has too. */
  id: v.string(),
  isDone: v.boolean(),
  place: v.optional(v.object({ fingerprint: v.string(), part: v.number(), after: v.string() })),
});

const markRow = { name: 'move', text: "select value from meta where name = 'move'" };

export type Mark = v.InferOutput<typeof markSchema>;

export async function readMark(session: PostgresSession): Promise<Mark | undefined> {
  const [row] = await session.query<{ value: Buffer }>(markRow);
  if (row === undefined) return undefined;
  return v.parse(v.pipe(v.string(), v.parseJson(), markSchema), row.value.toString());
}

/** As a statement, so that it can be part of a transaction. */
export function markQuery(mark: Mark) {
  return {
    name: 'mark move',
    text: `insert into meta values ('move', $1)
           on conflict (name) do update set value = excluded.value`,
    values: [Buffer.from(JSON.stringify(mark))],
  };
}

/** @throws OperatorError when the database is being filled or emptied, or was left */
export async function refuseMovedDatabase(session: PostgresSession): Promise<void> {
  const mark = await readMark(session);
  if (mark === undefined || (mark.to === 'postgres' && mark.isDone)) return;
  const name = mark.to === 'postgres' ? 'embedded-to-postgres' : 'postgres-to-embedded';
  throw new OperatorError(
    mark.isDone
      ? 'the database was moved to an embedded store: start the server without DATABASE_URL'
      : `a move (\`portcullis migrate ${name}\`) is not finished: run it again before a node starts`,
  );
}
