/**
 * Checkpoints in the database, so that the journal can be pruned: a new node, or one that was away for longer than
 * the journal reaches back, copies the newest checkpoint and continues from there.
 *
 * Invariants: the two newest checkpoints are kept, and all events after the older one. No event is removed that a
 * node seen in the last hour still needs. A checkpoint is valid once its row in `checkpoints` exists, which is
 * written last; a copy once its record exists, which is written last too.
 */

import { randomUUID } from 'node:crypto';
import { OperatorError } from '../../core/errors.ts';
import type { Log } from '../../core/log.ts';
import { hourMs } from '../../core/time.ts';
import { checkpointRowKey, readCheckpointSeq, watermarkKey } from '../journal/projection.ts';
import { projectionPagePrefix, readProjectionPageKey, storedKey } from '../keys.ts';
import { LeaseLostError } from '../maintenance.ts';
import { byteaArray, type PostgresSession } from '../postgres/connection.ts';
import { nowMs } from '../postgres/schema.ts';
import { leaseClause, leaseValues, type PostgresStore } from '../postgres/store.ts';
import {
  type Commit,
  pagesUnder,
  type RowCheck,
  type Store,
  type StoredRow,
  storeLimits,
} from '../store.ts';

/** Events between two checkpoints at least; a large state waits until the journal is as large. */
const everyEventsDefault = 200_000;
const eventBytes = 40;
/** Events kept behind the slowest node. */
const keepEventsDefault = 10_000;
/** A node that was away for longer copies a checkpoint. */
const waitMs = hourMs;
const kept = 2;
const pageRows = 200;
/** The newest one may be replaced while it is copied. */
const copyTriesMax = 3;

export interface PruneOptions {
  readonly store: PostgresStore;
  readonly local: Store;
  /** The check of the lease that the work is done under. */
  readonly fence: RowCheck;
  /** Runs the work while the state on this machine's disk stays as it is. */
  readonly withoutCheckpoint: (work: () => Promise<void>) => Promise<void>;
  readonly signal: AbortSignal;
  readonly everyEvents?: number;
  readonly keepEvents?: number;
}

interface SavedCheckpoint {
  readonly id: string;
  readonly seq: bigint;
  readonly rows: number;
  readonly bytes: number;
}

const savedRows = {
  name: 'saved checkpoints',
  text: 'select id, seq, rows, bytes from checkpoints order by seq desc, at desc',
};
const savedPage = {
  name: 'rows of a checkpoint',
  text: `select key, value from (
     select key, value,
       sum(octet_length(value)) over (order by key) - octet_length(value) as before
     from checkpoint_rows where id = $1 and key > $2 order by key limit ${pageRows}) page
   where before <= ${storeLimits.pageBytesMax} order by key`,
};

/** Newest first. */
async function readSaved(session: PostgresSession): Promise<SavedCheckpoint[]> {
  const rows = await session.query<Record<keyof SavedCheckpoint, string>>(savedRows);
  return rows.map(({ id, seq, rows: count, bytes }) => {
    return { id, seq: BigInt(seq), rows: Number(count), bytes: Number(bytes) };
  });
}

/**
 * Saves a checkpoint when one is due, then removes events that nobody needs.
 * @returns the number of events removed
 */
export async function pruneJournal(options: PruneOptions): Promise<number> {
  const { store, local, fence, withoutCheckpoint } = options;
  const { everyEvents = everyEventsDefault, keepEvents = keepEventsDefault } = options;
  const session = await store.session();
  const [newest] = await readSaved(session);
  const grown = Number((await readCheckpointSeq(local)) - (newest?.seq ?? 0n));
  if (grown >= Math.max(everyEvents, (newest?.bytes ?? 0) / eventBytes)) {
    await withoutCheckpoint(() => save(session, options));
  }
  const oldest = (await readSaved(session)).slice(0, kept).at(-1);
  if (oldest === undefined) return 0;
  const [row] = await session.query<{ seq: string | null }>({
    text: `select min(checkpoint_seq) as seq from nodes where seen_at > ${nowMs} - ${waitMs}`,
  });
  const slowest = BigInt(row?.seq ?? 0) - BigInt(keepEvents);
  const through = slowest < oldest.seq ? slowest : oldest.seq;
  return through <= 0n ? 0 : store.pruneEvents(through, fence);
}

/** Runs a statement that begins with `with`; without the lease it does nothing. */
async function fenced(
  session: PostgresSession,
  fence: RowCheck,
  text: string,
  values: readonly unknown[],
): Promise<void> {
  const [, held] = await session.pipeline([
    { text: `with ${leaseClause('$1', '$2')} ${text}`, values: [...leaseValues(fence), ...values] },
    {
      text: `with ${leaseClause('$1', '$2')} select is_held from held`,
      values: leaseValues(fence),
    },
  ]);
  if ((held!.rows[0] as { is_held: boolean }).is_held) return;
  throw new LeaseLostError('another node prunes the journal now');
}

async function save(
  session: PostgresSession,
  { local, fence, signal }: PruneOptions,
): Promise<void> {
  const seq = await readCheckpointSeq(local);
  const record = await local.get(checkpointRowKey);
  if (record === undefined) return;
  const id = randomUUID();
  let [rows, bytes] = [0, 0];
  async function add(entries: readonly Pick<StoredRow, 'key' | 'value'>[]): Promise<void> {
    if (signal.aborted) throw new LeaseLostError('this node stops');
    await fenced(
      session,
      fence,
      `insert into checkpoint_rows (id, key, value)
       select $3::uuid, n.key, n.value from unnest($4::bytea[], $5::bytea[]) as n(key, value)
       where (select is_held from held)`,
      [
        id,
        byteaArray(entries.map(({ key }) => key)),
        byteaArray(entries.map(({ value }) => value)),
      ],
    );
    rows += entries.length;
    bytes += entries.reduce((sum, { value }) => sum + value.length, 0);
  }
  // Deletes checkpoints that a node left unfinished, and those that two newer ones replace.
  await fenced(
    session,
    fence,
    `, old as (delete from checkpoints where (select is_held from held) and id not in (
         select id from checkpoints order by seq desc, at desc limit ${kept - 1}) returning id)
     delete from checkpoint_rows where (select is_held from held)
       and id not in (select id from checkpoints except select id from old)`,
    [],
  );
  for await (const page of pagesUnder(local, projectionPagePrefix(), { limit: pageRows })) {
    const valid = page.filter(({ key }) => readProjectionPageKey(key).seq <= seq);
    if (valid.length > 0) await add(valid);
  }
  const watermark = await local.get(watermarkKey);
  if (watermark !== undefined) await add([{ key: watermarkKey, value: watermark.value }]);
  await add([{ key: checkpointRowKey, value: record.value }]);
  await fenced(
    session,
    fence,
    `insert into checkpoints (id, seq, at, rows, bytes)
     select $3::uuid, $4::int8, ${nowMs}, $5::int8, $6::int8 where (select is_held from held)`,
    [id, `${seq}`, rows, bytes],
  );
}

/**
 * Before the state is read: a node that the journal alone can't bring up to date copies the newest
 * checkpoint. So does a new one, for it is quicker.
 * @throws OperatorError when there is none that is whole
 */
export async function copyCheckpointIfBehind(
  store: PostgresStore,
  local: Store,
  log: Log,
): Promise<void> {
  const savedSeq = await readCheckpointSeq(local);
  for (let tries = 1; ; tries++) {
    const session = await store.session();
    const { prunedThrough } = await store.head();
    const [newest] = await readSaved(session);
    const isBehind = savedSeq < prunedThrough;
    if (!isBehind && (savedSeq > 0n || newest === undefined)) return;
    if (newest === undefined || newest.seq < prunedThrough || tries > copyTriesMax) {
      throw new OperatorError(
        `this node knows the journal up to ${savedSeq}, it is pruned up to ${prunedThrough}, ` +
          'and the database has no whole checkpoint from then on',
      );
    }
    const [saved, from] = [String(savedSeq), String(newest.seq)];
    log.info({ savedSeq: saved, checkpointSeq: from }, 'node: memory is copied from a checkpoint');
    if (await copy(session, local, newest)) return;
  }
}

/** @returns false when it was replaced meanwhile */
async function copy(
  session: PostgresSession,
  local: Store,
  { id, rows }: SavedCheckpoint,
): Promise<boolean> {
  await write(local, { del: [checkpointRowKey, watermarkKey] });
  for (;;) {
    const page = await local.scan(projectionPagePrefix(), { limit: storeLimits.scanLimitMax });
    if (page.length === 0) break;
    await write(local, { del: page.map(({ key }) => key) });
  }
  let copied = 0;
  let record: Buffer | undefined;
  for (let after: Buffer = Buffer.alloc(0); ; ) {
    const page = await session.query<{ key: Buffer; value: Buffer }>({
      ...savedPage,
      values: [id, after],
    });
    if (page.length === 0) break;
    after = page.at(-1)!.key;
    copied += page.length;
    record ??= page.find(({ key }) => key.equals(checkpointRowKey))?.value;
    const set = page
      .filter(({ key }) => !key.equals(checkpointRowKey))
      .map(({ key, value }) => ({ key: storedKey(key), value }));
    if (set.length > 0) await write(local, { set });
  }
  if (copied !== rows || record === undefined) return false;
  await write(local, { set: [{ key: checkpointRowKey, value: record }] });
  return true;
}

async function write(local: Store, commit: Commit): Promise<void> {
  const done = await local.commit(commit);
  if (!done.ok) throw new OperatorError(`a checkpoint can't be copied: ${done.error}`);
}
