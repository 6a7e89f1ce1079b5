/** Finds what seals or opens a backup for a command: in options, in settings, or typed at a terminal. */

import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import type { Config } from '../../config.ts';
import { OperatorError } from '../../core/errors.ts';
import {
  checkPassphrase,
  checkRecipients,
  readIdentities,
  readPassphrase,
  readSealing,
  type Sealing,
} from '../../storage/backup/age.ts';
import type { BackupSource } from '../../storage/backup/read.ts';

interface PassphraseFlags {
  readonly passphraseFile?: string;
}

export interface SealingFlags extends PassphraseFlags {
  readonly encrypt?: boolean;
  readonly recipient?: readonly string[];
}

/** Options go before settings. @throws OperatorError */
export async function sealingFor(config: Config, flags: SealingFlags): Promise<Sealing> {
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
