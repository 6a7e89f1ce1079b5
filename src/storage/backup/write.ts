/**
 * Writes a backup of a store that others may go on writing to.
 *
 * Invariants: all of it belongs to one position of the journal (view.ts). A row that is damaged ends it:
 * what was written so far has no last block and is no backup. One block is in memory at a time.
 *
 * The read transaction is held as long as the writing takes. Where the target is slow (a pipe to
 * another machine), the store's file grows meanwhile by what is written to it.
 */

import { createHash } from 'node:crypto';
import type { Clock } from '../../core/clock.ts';
import type { Random } from '../../core/random.ts';
import { formatOf } from '../format.ts';
import { type TableName, type Tables, tableNames } from '../lmdb-tables.ts';
import { checkpointRowKey, checkpointSeqIn } from '../projection.ts';
import { decodeEvent, readEntry } from '../rows.ts';
import { batchesOf, openView, type RawRow, type View } from '../view.ts';
import { blockBytes, sealBlock } from './blocks.ts';
import { type About, blockKinds, encodeJson, encodeRows } from './content.ts';
import { makeHeader } from './header.ts';

export interface BackupOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly write: (bytes: Buffer) => Promise<void>;
  readonly passphrase?: string | undefined;
  /** Goes into an encrypted backup, and into no other. */
  readonly masterKey?: Uint8Array | undefined;
  /**
   * A list of deleted accounts lies next to it (erased-file.ts), so that a restore misses one that
   * was taken away.
   */
  readonly hasListBeside?: boolean;
  /** Cheaper guesses, for tests. */
  readonly scryptN?: number;
  readonly onProgress?: (rows: number, rowsAbout: number) => void;
}

export interface BackupSummary {
  readonly seq: number;
  readonly rows: number;
  readonly bytes: number;
  readonly encrypted: boolean;
}

/** @throws DamagedRowError, and what `write` throws */
export async function writeBackup(tables: Tables, options: BackupOptions): Promise<BackupSummary> {
  const header = await makeHeader(options.passphrase, options.random, options.scryptN);
  const view = openView(tables);
  try {
    let bytes = 0;
    let place = 0;
    let rows = 0;
    const digest = createHash('sha256');
    async function send(content: Buffer, isLast = false): Promise<void> {
      const block = await sealBlock(header, place++, isLast, content);
      await options.write(block);
      bytes += block.length;
    }
    await options.write(header.bytes);
    bytes += header.bytes.length;
    const about = encodeJson(blockKinds.about, aboutOf(view, header.key !== undefined, options));
    digest.update(about);
    await send(about);
    for (const table of tableNames) {
      for (const batch of batchesOf(view, table, blockBytes)) {
        for (const row of batch) checkRow(table, row);
        const content = encodeRows(table, batch);
        digest.update(content);
        await send(content);
        rows += batch.length;
        options.onProgress?.(rows, view.rowsAbout);
      }
    }
    await send(encodeJson(blockKinds.end, { rows, digest: digest.digest('hex') }), true);
    return { seq: view.counters.lastSeq, rows, bytes, encrypted: header.key !== undefined };
  } finally {
    view.release();
  }
}

function aboutOf(view: View, isEncrypted: boolean, options: BackupOptions): About {
  const { clock, masterKey, hasListBeside = false } = options;
  const { lastSeq, prunedThrough } = view.counters;
  const id = view.meta('master_key');
  const record = view.get('entries', checkpointRowKey);
  const checkpoint = record && checkpointSeqIn(readEntry(checkpointRowKey, record).value);
  return {
    createdAt: Math.floor(clock.now()),
    dataFormat: formatOf({ get: (key) => view.get('meta', key) }) ?? 1,
    seq: lastSeq,
    prunedThrough,
    checkpointSeq: Number(checkpoint ?? 0n),
    identity: view.meta('identity')?.toString('hex') ?? '',
    masterKeyId: id?.toString('hex') ?? '',
    rowsAbout: view.rowsAbout,
    hasListBeside,
    ...(isEncrypted && masterKey ? { masterKey: Buffer.from(masterKey).toString('hex') } : {}),
  };
}

/** @throws DamagedRowError. Rows of the other tables have no checksum. */
export function checkRow(table: TableName, { key, value }: RawRow): void {
  if (table === 'entries') readEntry(key, value);
  if (table === 'journal') decodeEvent(Buffer.from(key).readBigUInt64BE(), value);
}
