/** `portcullis backup`: the store at one moment in one file, beside a running server or without one. */

import { resolve } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import { durationMs, durationRule } from '../../config/rules.ts';
import type { Config } from '../../config.ts';
import { systemClock } from '../../core/clock.ts';
import { OperatorError } from '../../core/errors.ts';
import { createLog } from '../../core/log/log.ts';
import { systemRandom } from '../../core/random.ts';
import { createRowProgress, type Progress } from '../../reputation/lists/import/progress.ts';
import { type BackupFolder, claimFolder } from '../../store/backup/folder.ts';
import { makeBackup } from '../../store/backup/make.ts';
import { startBackups } from '../../store/backup/schedule.ts';
import type { BackupSummary } from '../../store/backup/write.ts';
import { storePath } from '../../store/presence.ts';
import { type AuditedCommand, createAudit, operatorName } from '../shell/audit.ts';
import { createOutput, grouped } from '../shell/output.ts';
import { givenPassphrase, newPassphrase } from '../shell/passphrase.ts';
import { existingStore, readMasterKey, withWorkspace } from '../shell/workspace.ts';

interface BackupFlags {
  readonly encrypt?: boolean;
  readonly passphraseFile?: string;
  readonly every?: number;
  readonly keep?: number;
  readonly json?: boolean;
}

type WholeNumber = (min: number, max: number) => (text: string) => number;

const keepDefault = 7;

export function backupCommand(wholeNumber: WholeNumber): Command {
  return new Command('backup')
    .description('write all of the store to one file, beside a running server too')
    .argument(
      '<file>',
      'a file that does not exist yet, - for standard output; a folder with --every',
    )
    .option(
      '--encrypt',
      'encrypt it to a passphrase and take the master key along; asks for it at a terminal',
    )
    .option(
      '--passphrase-file <file>',
      'holds the passphrase, so the backup is encrypted (also BACKUP_PASSPHRASE_FILE, BACKUP_PASSPHRASE)',
    )
    .addOption(
      new Option(
        '--every <duration>',
        'go on until stopped and make one so often, such as 24h; in the server itself: BACKUP_FOLDER',
      ).argParser(parseDuration),
    )
    .addOption(
      new Option(
        '--keep <n>',
        `with --every: how many are kept (default: ${keepDefault})`,
      ).argParser(wholeNumber(1, 10_000)),
    )
    .option('--json', 'print the result as JSON, no progress')
    .action(backup);
}

function parseDuration(text: string): number {
  const ms = durationMs(text);
  if (ms === undefined) throw new InvalidArgumentError(`It ${durationRule}.`);
  return ms;
}

async function backup(target: string, flags: BackupFlags): Promise<void> {
  const { config } = existingStore();
  if (flags.keep !== undefined && flags.every === undefined) {
    throw new OperatorError('--keep goes with --every');
  }
  if (target === '-') checkStandardOutput(flags);
  const secrets = await secretsFor(config, flags);
  const make = (file: string) => once(config, file, flags, secrets);
  const command = { name: 'backup', args: [target], options: {} };
  if (flags.every !== undefined) {
    const times = { everyMs: flags.every, keep: flags.keep ?? keepDefault };
    return repeat({ folder: resolve(target), dataDir: config.dataDir }, times, (file) =>
      make(file),
    );
  }
  const made = await audited(command, () => make(target));
  const size = `${grouped(made.rows)} rows, ${grouped(made.bytes)} bytes, journal position ${made.seq}`;
  const how = made.encrypted
    ? 'encrypted, with the master key'
    : 'not encrypted, without the master key';
  // Standard output is the backup itself.
  const write = (text: string) => (target === '-' ? process.stderr : process.stdout).write(text);
  const output = createOutput(flags.json === true, write);
  output.line(`backup written: ${size}; ${how}`);
  output.result({ file: target, ...made });
}

interface Secrets {
  readonly passphrase: string | undefined;
  readonly masterKey: Uint8Array | undefined;
}

async function secretsFor(config: Config, flags: BackupFlags): Promise<Secrets> {
  const given = givenPassphrase(config, flags);
  const passphrase = given ?? (flags.encrypt === true ? await newPassphrase() : undefined);
  if (passphrase === undefined) return { passphrase, masterKey: undefined };
  return { passphrase, masterKey: readMasterKey(config, systemRandom(), true).secret };
}

async function once(
  config: Config,
  target: string,
  flags: BackupFlags,
  secrets: Secrets,
): Promise<BackupSummary> {
  const clock = systemClock();
  let progress: Progress<number> | undefined;
  try {
    return await makeBackup({
      path: storePath(config.dataDir),
      clock,
      random: systemRandom(),
      target: target === '-' ? process.stdout : target,
      ...secrets,
      onProgress(rows, totalRows) {
        progress ??= createRowProgress({
          stream: process.stderr,
          silent: flags.json === true,
          label: 'backup',
          clock,
          totalRows,
        });
        progress.update(rows);
      },
    });
  } finally {
    progress?.stop();
  }
}

/** Until a signal comes. */
async function repeat(
  place: BackupFolder,
  times: { everyMs: number; keep: number },
  make: (file: string) => Promise<BackupSummary>,
): Promise<void> {
  await claimFolder(place);
  const log = createLog('info');
  const schedule = startBackups({ ...place, ...times, clock: systemClock(), log, make });
  // Its own timers do not keep the process.
  const awake = setInterval(() => {}, 60_000);
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
}

/** A full disk is a reason to make a backup: what can't be noted down is made all the same. */
async function audited<T>(command: AuditedCommand, run: () => Promise<T>): Promise<T> {
  const begun = await withWorkspace((w) => createAudit(w).begin(command, operatorName())).catch(
    (error: Error) => {
      process.stderr.write(`portcullis: not in the audit log: ${error.message}\n`);
    },
  );
  let ok = false;
  try {
    const done = await run();
    ok = true;
    return done;
  } finally {
    if (begun) {
      await withWorkspace((w) => createAudit(w).end(begun, command, ok)).catch(() => undefined);
    }
  }
}
