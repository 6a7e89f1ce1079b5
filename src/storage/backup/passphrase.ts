/** Reads the passphrase of backups from the settings, for backups without a prompt. */

import { readFileSync } from 'node:fs';
import { OperatorError } from '../../core/errors.ts';

export interface PassphraseSettings {
  readonly backupPassphrase: string | undefined;
  readonly backupPassphraseFile: string | undefined;
}

/** Shorter ones are guessed, whatever each guess costs. */
const passphraseCharactersMin = 12;

/** Returns the passphrase of the setting or of its file; undefined if neither is set. @throws OperatorError */
export function readPassphrase(settings: PassphraseSettings): string | undefined {
  const { backupPassphraseFile: file, backupPassphrase: words } = settings;
  if (file === undefined) {
    return words === undefined ? undefined : checkPassphrase(words, 'BACKUP_PASSPHRASE');
  }
  let content: string;
  try {
    content = readFileSync(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new OperatorError(`the passphrase file ${file} can't be read (${code})`);
  }
  return checkPassphrase(content.replace(/\r?\n$/, ''), file);
}

/** @throws OperatorError when it is too short */
export function checkPassphrase(words: string, origin: string): string {
  if (words.length >= passphraseCharactersMin) return words;
  throw new OperatorError(
    `the passphrase (${origin}) must have at least ${passphraseCharactersMin} characters`,
  );
}
