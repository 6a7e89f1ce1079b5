/**
 * `portcullis migrate`: a move from one kind of store to the other, with both sides held so that nobody
 * else reads or writes them meanwhile. What was left stays as it was, and is opened by nobody.
 */

import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../core/clock.ts';
import { OperatorError } from '../../core/errors.ts';
import type { Log } from '../../core/log/log.ts';
import type { Random } from '../../core/random.ts';
import { claimDataDir } from '../claim.ts';
import { syncPath } from '../files.ts';
import { metaRowKey } from '../keys.ts';
import { openTables } from '../lmdb-environment.ts';
import { createConnection, isLost, type PostgresSession } from '../postgres/connection.ts';
import { migrate } from '../postgres/schema.ts';
import { hadStore, idFile, refuseLostStore, storePath } from '../presence.ts';
import { StoreUnavailableError } from '../store.ts';
import { openView } from '../view.ts';
import { embeddedSide, embeddedTarget } from './embedded.ts';
import { isMoved, markBegun, markMoved, markQuery, readMark, unmark } from './marks.ts';
import { type Moved, type MoveOptions, move } from './move.ts';
import { holdDatabase, postgresSide, postgresTarget } from './postgres.ts';
import type { Facts, Side } from './rows.ts';

export interface MoveRun extends Pick<MoveOptions, 'onProgress' | 'batchRows' | 'afterBatch'> {
  readonly dataDir: string;
  readonly databaseUrl: string;
  /** Names the key that is given: both sides are sealed with one. */
  readonly masterKeyId: Uint8Array;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** Undefined: it was done before. */
export type MoveResult = Moved | undefined;

/** SQLSTATE of a query on a table that is not there. */
const noSuchTable = '42P01';
/** In the data directory, until it is whole. */
const workFolder = 'moving';
const claimUse = 'migrate';

/** @throws OperatorError when somebody uses either side, or the target is not empty */
export async function moveToPostgres(run: MoveRun): Promise<MoveResult> {
  const { dataDir, random } = run;
  const path = storePath(dataDir);
  if (isMoved(dataDir)) return refuseOtherTarget(run);
  if (!hadStore(dataDir, path)) throw new OperatorError(`there is no store in ${dataDir}`);
  const claim = claimDataDir(dataDir, claimUse);
  try {
    refuseLostStore(dataDir, path);
    const tables = openTables(path);
    try {
      return await withDatabase(run, async (session) => {
        const identity = tables.meta.get(metaRowKey('identity'));
        if (identity === undefined) throw new OperatorError(`no server ever ran on ${dataDir}`);
        const id = asUuid(identity);
        const isFirst = markBegun(dataDir, random);
        const known = await readMark(session);
        if (!isFirst && known?.id === id && known.isDone) {
          markMoved(dataDir, random);
          return undefined;
        }
        let isWriting = false;
        const view = openView(tables);
        try {
          const target = await postgresTarget(session, id);
          const source = withKeyOf(embeddedSide(view), run);
          const watched = {
            ...target,
            clear() {
              isWriting = true;
              return target.clear();
            },
          };
          const moved = await move({ ...run, source, target: watched });
          await target.done();
          markMoved(dataDir, random);
          return moved;
        } catch (error) {
          // Nothing was written: the store is as free as before.
          if (isFirst && !isWriting) unmark(dataDir);
          throw error;
        } finally {
          view.release();
        }
      });
    } finally {
      await tables.root.close();
    }
  } finally {
    claim.release();
  }
}

/** Nodes may use the database by now. @throws OperatorError when it is not the one that the store was moved to */
async function refuseOtherTarget({ dataDir, databaseUrl: url, log }: MoveRun): Promise<undefined> {
  const connection = createConnection({ url, log });
  try {
    const known = await readMark(await connection.session()).catch((error: { code?: string }) => {
      if (error.code === noSuchTable) return undefined;
      throw error;
    });
    const own = readFileSync(join(dataDir, idFile), 'latin1').trim();
    if (known?.to === 'postgres' && known.isDone && known.id.replaceAll('-', '') === own) return;
  } catch (error) {
    throw new OperatorError(`DATABASE_URL: ${(error as Error).message}`);
  } finally {
    await connection.close();
  }
  throw new OperatorError(
    `the store in ${dataDir} was moved before, and not to the database of DATABASE_URL`,
  );
}

/** @throws OperatorError when a node runs, or the directory holds a store */
export async function moveToEmbedded(run: MoveRun): Promise<MoveResult> {
  const claim = claimDataDir(run.dataDir, claimUse);
  try {
    return await moveInto(run);
  } finally {
    claim.release();
  }
}

async function moveInto(run: MoveRun): Promise<MoveResult> {
  const { dataDir } = run;
  const path = storePath(dataDir);
  return withDatabase(run, async (session) => {
    const known = await readMark(session);
    if (known?.to === 'postgres' && !known.isDone) {
      throw new OperatorError('a move into this database is not finished: end that one first');
    }
    if (hadStore(dataDir, path)) {
      if (known?.to === 'embedded' && idOfStore(path) === known.id) {
        await session.pipeline([markQuery({ ...known, isDone: true })]);
        unmark(dataDir);
        return undefined;
      }
      throw new OperatorError(
        `${dataDir} holds a store, or what is left of one (store, store.id, index.snapshot): ` +
          'set another DATA_DIR, or put them away',
      );
    }
    if (known?.isDone && known.to === 'embedded') {
      throw new OperatorError('the database was moved to another directory before');
    }
    const id = known?.to === 'embedded' ? known.id : randomUUID();
    const work = join(dataDir, workFolder);
    const source = withKeyOf(postgresSide(session), run);
    const facts = await source.facts();
    if (facts.lastSeq === 0) throw new OperatorError('the database is empty');
    await session.pipeline([markQuery({ to: 'embedded', id, isDone: false })]);
    const target = embeddedTarget(work, id);
    let moved: Moved;
    try {
      moved = await move({ ...run, source, target });
    } finally {
      await target.close();
    }
    syncPath(join(work, 'data.mdb'));
    if (existsSync(path)) throw new OperatorError(`${path} was made meanwhile`);
    renameSync(work, path);
    unmark(dataDir);
    await session.pipeline([markQuery({ to: 'embedded', id, isDone: true })]);
    return moved;
  });
}

/** Returns the id of the move that made this store. */
function idOfStore(path: string): string | undefined {
  const tables = openTables(path);
  try {
    const row = tables.meta.get(metaRowKey('move'));
    return row && (JSON.parse(row.toString()) as { id: string }).id;
  } finally {
    tables.root.close();
  }
}

/** Refuses a side whose secrets the master key of the settings can't open. */
function withKeyOf(side: Side, { masterKeyId }: MoveRun): Side {
  async function facts(): Promise<Facts> {
    const found = await side.facts();
    const { masterKeyId: known } = found;
    if (known === undefined || known.equals(masterKeyId)) return found;
    const [own, given] = [known, Buffer.from(masterKeyId)].map((id) => id.toString('hex'));
    throw new OperatorError(
      `the master key is another one: what is to be moved is sealed with ${own}, the key given is ${given}`,
    );
  }
  return { ...side, facts };
}

/** With the database held, by one connection. */
async function withDatabase<T>(
  { databaseUrl: url, log }: MoveRun,
  work: (session: PostgresSession) => Promise<T>,
): Promise<T> {
  const connection = createConnection({ url, log });
  try {
    const session = await connection.session();
    await migrate(session);
    await holdDatabase(session);
    return await work(session);
  } catch (error) {
    if (error instanceof OperatorError) throw error;
    const { severity } = error as { severity?: string };
    const isDatabase = error instanceof StoreUnavailableError || severity !== undefined;
    if (!isDatabase && !/connection|timeout/i.test((error as Error).message)) throw error;
    const again = isLost(error) ? '; run the command again, it goes on from there' : '';
    throw new OperatorError(`DATABASE_URL: ${(error as Error).message}${again}`);
  } finally {
    await connection.close();
  }
}

function asUuid(bytes: Buffer): string {
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}
