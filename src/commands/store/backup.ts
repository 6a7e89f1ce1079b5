/** `portcullis backup`: the store at one moment in one file, out of a running server or without one. */

import { fstatSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Config } from '../../config.ts';
import { systemClock } from '../../core/clock.ts';
import { OperatorError } from '../../core/errors.ts';
import { createLog } from '../../core/log.ts';
import { systemRandom } from '../../core/random.ts';
import { counted, grouped } from '../../core/text-table.ts';
import { minuteMs } from '../../core/time.ts';
import { runOperation } from '../../operations/client.ts';
import { existingStore, readMasterKey } from '../../operations/workspace.ts';
import { isSealed, type Sealing } from '../../storage/backup/age.ts';
import { type BackupFolder, claimFolder } from '../../storage/backup/folder.ts';
import { startBackups } from '../../storage/backup/schedule.ts';
import { type BackupSummary, intoFile, intoStream } from '../../storage/backup/write.ts';
import { createRowProgress, type Progress } from '../progress.ts';
import { createOutput } from '../shell/output.ts';
import { type SealingFlags, sealingFor } from '../shell/sealing.ts';

export interface BackupFlags extends SealingFlags {
  readonly every?: number;
  readonly keep?: number;
  readonly json?: boolean;
}

const keepDefault = 7;

export async function backup(target: string, flags: BackupFlags): Promise<void> {
  const { config } = existingStore({ mayBeShared: true });
  if (flags.keep !== undefined && flags.every === undefined) {
    throw new OperatorError('--keep goes with --every');
  }
  if (target === '-') checkStandardOutput(flags);
  const secrets = await secretsFor(config, flags);
  const make = (file: string) => once(file, flags, secrets);
  if (flags.every !== undefined) {
    const times = { everyMs: flags.every, keep: flags.keep ?? keepDefault };
    return repeat({ folder: resolve(target), dataDir: config.dataDir }, times, (file) =>
      make(file),
    );
  }
  const made = await make(target);
  const size = `${counted(made.rows, 'row')}, ${grouped(made.bytes)} bytes, journal position ${made.seq}`;
  const how = made.encrypted
    ? 'encrypted, with the master key'
    : 'not encrypted, without the master key';
  // Standard output is the backup itself.
  const write = (text: string) => (target === '-' ? process.stderr : process.stdout).write(text);
  const output = createOutput(flags.json === true, write);
  output.line(`backup written: ${size}; ${how}`);
  output.result({ file: target, ...made });
}

interface Secrets extends Sealing {
  readonly masterKey?: string;
}

async function secretsFor(config: Config, flags: BackupFlags): Promise<Secrets> {
  const sealing = await sealingFor(config, flags);
  if (!isSealed(sealing)) return sealing;
  const { secret } = readMasterKey(config, systemRandom(), true);
  return { ...sealing, masterKey: Buffer.from(secret).toString('hex') };
}

async function once(target: string, flags: BackupFlags, secrets: Secrets): Promise<BackupSummary> {
  const clock = systemClock();
  let progress: Progress<number> | undefined;
  const { recipients = [], ...words } = secrets;
  const input = { target, ...words, recipients: [...recipients] };
  const run = (onBytes: (bytes: Buffer) => Promise<void>) =>
    runOperation('backup', input, {
      onBytes,
      onProgress({ done, total = 0 }) {
        progress ??= createRowProgress({
          stream: process.stderr,
          silent: flags.json === true,
          label: 'backup',
          clock,
          totalRows: total,
        });
        progress.update(done);
      },
    });
  try {
    return await (target === '-'
      ? intoStream(process.stdout, run)
      : intoFile(target, systemRandom(), run));
  } finally {
    progress?.stop();
  }
}

/** Until a signal comes. */
async function repeat(
  folder: BackupFolder,
  times: { everyMs: number; keep: number },
  make: (file: string) => Promise<BackupSummary>,
): Promise<void> {
  await claimFolder(folder);
  const log = createLog('info');
  const schedule = startBackups({ ...folder, ...times, clock: systemClock(), log, make });
  // Its own timers do not keep the process.
  const awake = setInterval(() => {}, minuteMs);
  await new Promise<void>((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve());
  });
  clearInterval(awake);
  await schedule.stop();
}

function checkStandardOutput({ json, every }: BackupFlags): void {
  if (every !== undefined) throw new OperatorError('--every needs a folder');
  if (json === true)
    throw new OperatorError('--json does not go with -: standard output is the backup');
  if (process.stdout.isTTY)
    throw new OperatorError('a backup is no text: send it to a file or a pipe');
  // Node opens /dev/null in place of a standard output that is closed.
  if (fstatSync(1).rdev === statSync('/dev/null', { throwIfNoEntry: false })?.rdev)
    throw new OperatorError('standard output is closed or /dev/null: the backup would be nowhere');
}
