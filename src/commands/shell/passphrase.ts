/** The passphrase of a backup for a command: from a file, the settings, or typed at a terminal. */

import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import type { Config } from '../../config.ts';
import { OperatorError } from '../../core/errors.ts';
import { checkPassphrase, readPassphrase } from '../../storage/backup/passphrase.ts';

export interface PassphraseFlags {
  readonly passphraseFile?: string;
}

/** Undefined when neither option nor setting names one. */
export function givenPassphrase(config: Config, flags: PassphraseFlags): string | undefined {
  const { passphraseFile: backupPassphraseFile } = flags;
  return readPassphrase(
    backupPassphraseFile === undefined ? config : { ...config, backupPassphraseFile },
  );
}

/** For a new backup: typed twice. @throws OperatorError without a terminal */
export async function newPassphrase(): Promise<string> {
  if (!process.stdin.isTTY) {
    throw new OperatorError(
      '--encrypt needs a passphrase: give --passphrase-file, or set BACKUP_PASSPHRASE or BACKUP_PASSPHRASE_FILE',
    );
  }
  const words = checkPassphrase(await typed('Passphrase of the backup: '), 'typed');
  if ((await typed('Once more: ')) === words) return words;
  throw new OperatorError('the two passphrases differ');
}

/** For a backup that is there. Undefined without a terminal. */
export async function askedPassphrase(): Promise<string | undefined> {
  return process.stdin.isTTY ? typed('Passphrase of the backup: ') : undefined;
}

/** Without an echo. */
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
