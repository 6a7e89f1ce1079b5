/**
 * Finds the accounts that were deleted since a backup, as far as a restore can know: from lists next to the backup
 * and from those that it is given.
 *
 * Invariant: a list that is not sealed under the master key of the backup is used only if the operator vouches for
 * it. A list that must exist, or must be newer, is never left out silently.
 */

import { closeSync, existsSync, openSync, readSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { dateText } from '../../core/dates.ts';
import { OperatorError } from '../../core/errors.ts';
import { counted } from '../../core/text-table.ts';
import type { About } from '../../storage/backup/content.ts';
import { erasedOf } from '../../storage/backup/erased.ts';
import {
  type ErasedFile,
  type ErasedSeal,
  erasedFile,
  readErasedFile,
} from '../../storage/backup/erased-file.ts';
import { type BackupSource, isBackup, openBackup } from '../../storage/backup/read.ts';

export interface ErasedSince {
  readonly ids: ReadonlyMap<string, number>;
  /** False: nobody kept a list, as far as is known. */
  readonly found: boolean;
  /** A line about each list: how old it is, and whether it is sealed. */
  readonly lines: readonly string[];
  /** All of it was sealed, or inside a backup that is encrypted with a passphrase. */
  readonly sealed: boolean;
}

export interface ErasedFlags {
  /** A list, a folder that holds one, or a newer backup. */
  readonly erasures?: string;
  /** Takes a list that is not sealed, or sealed under a key that is not there. */
  readonly unencrypted?: boolean;
  /** Continues although a list is missing or too old. */
  readonly withoutErasures?: boolean;
}

export async function erasedSince(options: {
  /** The backup, - for standard input. */
  file: string;
  /** The folder that may hold a list put there for the restore; undefined: there is none. */
  dataDir: string | undefined;
  source: BackupSource;
  about: About;
  /** Undefined: there is no master key. */
  seal: ErasedSeal | undefined;
  /** Without the key a list can't be verified; this allows it where nothing is done with the list. */
  mayBeUnchecked?: boolean;
  flags: ErasedFlags;
}): Promise<ErasedSince> {
  const { file, dataDir, source, about, seal, flags, mayBeUnchecked = false } = options;
  const { erasures, withoutErasures = false } = flags;
  const ids = new Map<string, number>();
  const lines: string[] = [];
  let sealed = true;
  /** No later than this is known. */
  let knownTo = Number.NEGATIVE_INFINITY;
  const folders = [...(file === '-' ? [] : [dirname(resolve(file))])];
  if (dataDir !== undefined) folders.unshift(dataDir);
  const paths = folders.map((folder) => join(folder, erasedFile));
  if (erasures !== undefined) {
    const given = resolve(erasures);
    if (!existsSync(given)) throw new OperatorError(`--erasures: ${given} does not exist`);
    const path = statSync(given).isDirectory() ? join(given, erasedFile) : given;
    if (existsSync(path) && isBackup(headOf(path))) {
      const newer = await erasedInBackup({ ...source, path });
      for (const [id, at] of newer.ids) ids.set(id, at);
      // Whoever knows a public key can make a backup for it.
      sealed = newer.sealedWith === 'passphrase';
      knownTo = newer.createdAt;
      const how = newer.sealedWith === undefined ? 'not encrypted' : 'encrypted';
      lines.push(`${path} of ${dateText(newer.createdAt)}, ${how}`);
    } else paths.push(path);
  }
  for (const path of new Set(paths)) {
    const list = await readErasedFile(path, seal);
    if (list === undefined) continue;
    const isPassed = flags.unencrypted === true || (mayBeUnchecked && isOf(list, about));
    if (!isPassed || list.state === 'changed') refuseUnverified(path, list, about);
    for (const [id, at] of list.ids) ids.set(id, at);
    sealed &&= list.state === 'sealed';
    // An operator who passes a list without a time vouches for its age, too.
    knownTo = Math.max(knownTo, list.writtenAt ?? Number.POSITIVE_INFINITY);
    lines.push(`${path}, ${described(list)}`);
  }
  // A data directory in which nobody was deleted had no list once.
  const found = lines.length > 0 || erasures !== undefined;
  if (about.hasListBeside && !withoutErasures) refuseMissing(about, knownTo, lines.length > 0);
  return { ids, found, lines, sealed: found && sealed };
}

/** @throws OperatorError for a list that anybody may have written */
function refuseUnverified(path: string, list: ErasedFile, about: About): void {
  if (list.state === 'sealed') return;
  if (list.state === 'changed') {
    throw new OperatorError(
      `${path} was changed: its seal is not that of its lines. Take the list of DATA_DIR or of a copy with ` +
        '--erasures, and this one out of the way',
    );
  }
  let why = 'is not sealed, so anybody who can write to its folder may have made or changed it';
  if (list.state === 'unchecked') {
    why = isOf(list, about)
      ? `is sealed under the master key ${list.masterKeyId}, which is not there to check it by`
      : `is sealed under the master key ${list.masterKeyId}, which is not the one of the backup: it may be the list of another server`;
  }
  throw new OperatorError(`${path} ${why}. If it is yours all the same, add --unencrypted`);
}

/** @throws OperatorError when a list was taken away, or put back to what it was before */
function refuseMissing(about: About, knownTo: number, found: boolean): void {
  if (knownTo >= about.createdAt) return;
  const what = found
    ? `the list of deleted accounts is older than the backup (${dateText(about.createdAt)})`
    : `the list of deleted accounts (${erasedFile}) that was kept beside it is missing`;
  throw new OperatorError(
    `${what}: accounts deleted since would come back. Name another with --erasures, such as the former DATA_DIR; ` +
      '--without-erasures goes on all the same',
  );
}

function isOf(list: ErasedFile, about: About): boolean {
  return list.masterKeyId === about.masterKeyId;
}

function described({ ids, state, writtenAt, masterKeyId }: ErasedFile): string {
  const count = counted(ids.size, 'account');
  if (writtenAt === undefined) return `${count}, not sealed`;
  const how =
    state === 'sealed' ? 'sealed' : `sealed under the master key ${masterKeyId}, unchecked`;
  return `${count}, ${how}, written ${dateText(writtenAt)}`;
}

function headOf(path: string): Buffer {
  const file = openSync(path, 'r');
  try {
    const head = Buffer.alloc(64);
    readSync(file, head, 0, head.length, 0);
    return head;
  } finally {
    closeSync(file);
  }
}

async function erasedInBackup(source: BackupSource) {
  const ids = new Map<string, number>();
  const backup = await openBackup(source);
  try {
    for await (const { part, rows } of backup.rows()) {
      for (const { key, value } of part === 'entries' ? rows : []) {
        const erased = erasedOf(key, value);
        if (erased !== undefined) ids.set(erased.id, erased.at);
      }
    }
    const { sealedWith, about } = backup;
    return { ids, sealedWith, createdAt: about.createdAt };
  } finally {
    await backup.close();
  }
}
