/** Reads from the settings what backups are encrypted with, for backups without a prompt. */

import { openSync } from 'node:fs';
import { OperatorError } from '../../core/errors.ts';
import { openPlainFile, readSmall } from '../files.ts';

interface PassphraseSettings {
  readonly backupPassphrase: string | undefined;
  readonly backupPassphraseFile: string | undefined;
}

interface SealingSettings extends PassphraseSettings {
  readonly backupRecipients: readonly string[];
}

/** Shorter ones are guessed, whatever each guess costs. */
const passphraseCharactersMin = 12;
/** Far more than a passphrase or the keys of `age` take. */
const secretBytesMax = 65_536;

/** @throws OperatorError when the passphrase can't be read or is too short */
export function readSealing(settings: SealingSettings) {
  return { passphrase: readPassphrase(settings), recipients: settings.backupRecipients };
}

/**
 * Returns the passphrase of the setting or of its file; undefined if neither is set.
 * @param isOption the file is an option of a command in place of the setting: it may be a pipe of the shell
 * @throws OperatorError
 */
export function readPassphrase(settings: PassphraseSettings, isOption = false): string | undefined {
  const { backupPassphraseFile: file, backupPassphrase: words } = settings;
  if (file === undefined) {
    return words === undefined ? undefined : checkPassphrase(words, 'BACKUP_PASSPHRASE');
  }
  const content = readSecret('passphrase', file, isOption);
  return checkPassphrase(content.replace(/\r?\n$/, ''), file);
}

/** @throws OperatorError */
export function readSecret(name: string, path: string, mayBePipe: boolean): string {
  try {
    const file = mayBePipe ? openSync(path, 'r') : openPlainFile(path);
    return readSmall(file, secretBytesMax).toString('utf8');
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? (error as Error).message;
    throw new OperatorError(`the ${name} file ${path} can't be read (${reason})`);
  }
}

/** @throws OperatorError when it is too short */
export function checkPassphrase(words: string, origin: string): string {
  if (words.length >= passphraseCharactersMin) return words;
  throw new OperatorError(
    `the passphrase (${origin}) must have at least ${passphraseCharactersMin} characters`,
  );
}
