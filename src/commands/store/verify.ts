/** `portcullis verify` tells whether everything is there that was written, and agrees. It changes nothing. */

import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { erasedSealOf, type MasterKey } from '../../access/keys/master-key.ts';
import type { Config } from '../../config.ts';
import { systemClock } from '../../core/clock.ts';
import { dateText } from '../../core/dates.ts';
import { OperatorError } from '../../core/errors.ts';
import type { Random } from '../../core/random.ts';
import { counted } from '../../core/text-table.ts';
import { runOperation } from '../../operations/client.ts';
import { existingStore, readMasterKey } from '../../operations/workspace.ts';
import type { About } from '../../storage/backup/content.ts';
import { checkBackup } from '../../storage/backup/restore.ts';
import { createRowProgress, type Progress } from '../progress.ts';
import { createOutput, type Output } from '../shell/output.ts';
import { type OpeningFlags, sourceFor } from './backup.ts';
import { type ErasedFlags, erasedSince, keyInside, sealLine } from './restore.ts';

export interface VerifyFlags extends ErasedFlags, OpeningFlags {
  readonly backup?: string;
  readonly json?: boolean;
}

type OnProgress = (rows: number, rowsAbout: number) => void;

export async function verify(flags: VerifyFlags): Promise<void> {
  const output = createOutput(flags.json === true);
  if (flags.backup !== undefined) return verifyBackup(flags.backup, flags, output);
  await verifyStore(output);
}

async function verifyBackup(file: string, flags: VerifyFlags, output: Output): Promise<void> {
  const { config, random } = existingStore({ mayBeMissing: true, mayBeShared: true });
  const source = await sourceFor(resolve(file), config, flags);
  const checked = await withProgress(output, (on) => checkBackup(source, on));
  const { about, encrypted, sealedWith, rows } = checked;
  const key = keyInside(about) ?? keyOfSettings(about, config, random);
  const seal = key === undefined ? undefined : erasedSealOf(key);
  const backup = { file, dataDir: undefined, mayBeUnchecked: true };
  const erased = await erasedSince({ ...backup, source, about, seal, flags });
  const kind = encrypted ? 'encrypted' : 'not encrypted';
  output.line(
    `the backup is whole: ${counted(rows, 'row')} of ${dateText(about.createdAt)}, journal position ${about.seq}, ${kind}`,
  );
  output.line(sealLine(checked));
  for (const line of erased.lines) output.line(`deleted accounts of ${line}`);
  if (!erased.found) output.line('no list of deleted accounts lies beside it');
  const lists = { erasuresKnown: erased.found, erasuresSealed: erased.sealed };
  output.result({
    ok: true,
    encrypted,
    sealedWith,
    rows,
    ...about,
    masterKey: undefined,
    ...lists,
  });
}

/** Returns the key of the settings if the store of the backup is sealed with it. */
function keyOfSettings(about: About, config: Config, random: Random): MasterKey | undefined {
  if (!existsSync(config.masterKeyFile ?? join(config.dataDir, 'master.key'))) return undefined;
  const key = readMasterKey(config, random, true);
  return Buffer.from(key.id).toString('hex') === about.masterKeyId ? key : undefined;
}

async function verifyStore(output: Output): Promise<void> {
  const done = await withProgress(output, (onProgress) =>
    runOperation(
      'verify',
      {},
      { onProgress: ({ done: rows, total = 0 }) => onProgress(rows, total) },
    ),
  );
  const { lines: found, notes, count, seen, journalPosition } = done;
  for (const note of notes) output.line(`note: ${note}`);
  for (const line of found) output.line(`found: ${line}`);
  const read = `${counted(seen.entries, 'row')} and ${counted(seen.events, 'event')}`;
  output.result({ ok: count === 0, found, count, notes, ...seen, journalPosition });
  if (count > 0) {
    throw new OperatorError(`${counted(count, 'fault')} in ${read}: restore a backup`);
  }
  output.line(`${read} are as they were written and agree`);
}

async function withProgress<T>(output: Output, run: (on: OnProgress) => Promise<T>): Promise<T> {
  const clock = systemClock();
  const shared = { stream: process.stderr, silent: output.json, label: 'verify', clock };
  let progress: Progress<number> | undefined;
  try {
    return await run((rows, totalRows) => {
      progress ??= createRowProgress({ ...shared, totalRows, verb: 'checked' });
      progress.update(rows);
    });
  } finally {
    progress?.stop();
  }
}
