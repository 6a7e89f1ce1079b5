/** `portcullis backup`: the store at one moment in one file, out of a running server or without one. */

import { fstatSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import type { Config } from '../../config.ts';
import { systemClock } from '../../core/clock.ts';
import { OperatorError } from '../../core/errors.ts';
import { createLog } from '../../core/log.ts';
import { systemRandom } from '../../core/random.ts';
import { counted, grouped } from '../../core/text-table.ts';
import { minuteMs } from '../../core/time.ts';
import { runOperation } from '../../operations/client.ts';
import { existingStore, readMasterKey } from '../../operations/workspace.ts';
import {
  checkPassphrase,
  checkRecipients,
  isSealed,
  readIdentities,
  readPassphrase,
  readSealing,
  type Sealing,
} from '../../storage/backup/age.ts';
import type { BackupSource } from '../../storage/backup/read.ts';
import { type BackupFolder, claimFolder, startBackups } from '../../storage/backup/schedule.ts';
import { type BackupSummary, intoFile, intoStream } from '../../storage/backup/write.ts';
import { createRowProgress, type Progress } from '../progress.ts';
import { createOutput } from '../shell/output.ts';

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

// Finds what seals or opens a backup for a command: in options, in settings, or typed at a terminal.

interface PassphraseFlags {
  readonly passphraseFile?: string;
}

interface SealingFlags extends PassphraseFlags {
  readonly encrypt?: boolean;
  readonly recipient?: readonly string[];
}

/** Options go before settings. @throws OperatorError */
async function sealingFor(config: Config, flags: SealingFlags): Promise<Sealing> {
  const { recipient = [], passphraseFile, encrypt = false } = flags;
  if (recipient.length > 0) {
    if (encrypt || passphraseFile !== undefined) {
      throw new OperatorError('a backup has either recipients or a passphrase');
    }
    await checkRecipients(recipient);
    return { recipients: recipient };
  }
  const { recipients } = readSealing(config);
  const passphrase = givenPassphrase(config, flags);
  if (passphrase !== undefined) return { passphrase };
  if (encrypt) return { passphrase: await newPassphrase() };
  await checkRecipients(recipients);
  return { recipients };
}

export interface OpeningFlags extends PassphraseFlags {
  readonly identity?: string;
  readonly unencrypted?: boolean;
}

/** A passphrase is asked for once, though the backup is opened several times. */
export async function sourceFor(
  path: string,
  config: Config,
  flags: OpeningFlags,
  mayAsk = true,
): Promise<BackupSource> {
  const given = givenPassphrase(config, flags);
  const identities = flags.identity === undefined ? [] : await readIdentities(flags.identity);
  const isSet = given !== undefined || identities.length > 0 || config.backupRecipients.length > 0;
  let words: Promise<string | undefined> | undefined;
  return {
    path,
    identities,
    mustBeEncrypted: isSet && flags.unencrypted !== true,
    passphrase() {
      words ??= given === undefined && mayAsk ? askedPassphrase() : Promise.resolve(given);
      return words;
    },
  };
}

/** Undefined when neither option nor setting names one. */
function givenPassphrase(config: Config, flags: PassphraseFlags): string | undefined {
  const { passphraseFile: backupPassphraseFile } = flags;
  if (backupPassphraseFile === undefined) return readPassphrase(config);
  return readPassphrase({ ...config, backupPassphraseFile }, true);
}

/** Asks for the passphrase of a new backup, twice. @throws OperatorError without a terminal */
async function newPassphrase(): Promise<string> {
  if (!process.stdin.isTTY) {
    throw new OperatorError(
      '--encrypt needs a passphrase: give --passphrase-file or --recipient, or set BACKUP_PASSPHRASE or BACKUP_PASSPHRASE_FILE',
    );
  }
  const words = checkPassphrase(await typed('Passphrase of the backup: '), 'typed');
  if ((await typed('Once more: ')) === words) return words;
  throw new OperatorError('the two passphrases differ');
}

/** Asks for the passphrase of a backup that is there. Undefined without a terminal. */
async function askedPassphrase(): Promise<string | undefined> {
  return process.stdin.isTTY ? typed('Passphrase of the backup: ') : undefined;
}

/** Reads a line without an echo. */
async function typed(question: string): Promise<string> {
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: process.stdin, output: silent, terminal: true });
  const closed = new Promise<never>((_, reject) => {
    lines.once('close', () => reject(new OperatorError('no passphrase was typed')));
  });
  closed.catch(() => undefined);
  process.stderr.write(question);
  try {
    // Ctrl-C and Ctrl-D end the input without an answer.
    return await Promise.race([closed, lines.question('').catch(() => closed)]);
  } finally {
    lines.close();
    process.stderr.write('\n');
  }
}
