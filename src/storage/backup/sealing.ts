/** Reads from the settings what backups are encrypted with, for backups without a prompt. */

import { readFileSync } from 'node:fs';
import { OperatorError } from '../../core/errors.ts';

export interface SealingSettings {
  readonly backupPassphrase: string | undefined;
  readonly backupPassphraseFile: string | undefined;
  readonly backupRecipients: readonly string[];
}

/** Shorter ones are guessed, whatever each guess costs. */
const passphraseCharactersMin = 12;

/** @throws OperatorError when the passphrase can't be read or is too short */
export function readSealing(settings: SealingSettings) {
  return { passphrase: readPassphrase(settings), recipients: settings.backupRecipients };
}

/** Returns the passphrase of the setting or of its file; undefined if neither is set. @throws OperatorError */
export function readPassphrase(
  settings: Omit<SealingSettings, 'backupRecipients'>,
): string | undefined {
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
