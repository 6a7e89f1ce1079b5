/**
 * The seal of a backup: the age format (age-encryption.org/v1), which the program `age` opens and makes too.
 *
 * With a passphrase nobody without it can have made the file. A public key is known to whoever made a backup
 * for it, so such a file says nothing about where it comes from; but whoever makes it can't open it.
 */

import { openSync } from 'node:fs';
import type { Decrypter, Encrypter } from 'age-encryption';
import { OperatorError } from '../../core/errors.ts';
import { openPlainFile, readSmall } from '../files.ts';

export interface Sealing {
  readonly passphrase?: string | undefined;
  /** Public keys, each of which opens it; not with a passphrase. */
  readonly recipients?: readonly string[] | undefined;
}

/** The keys that open a backup. */
export interface Unsealing {
  /** Asked when it is encrypted to a passphrase. */
  readonly passphrase: () => Promise<string | undefined>;
  /** Secret keys. */
  readonly identities?: readonly string[];
}

export type SealedWith = 'passphrase' | 'public key';
type Bytes = AsyncIterable<Uint8Array>;

/** 128 MiB of memory and some tenths of a second for each guess, as the base-2 logarithm of scrypt's N. */
const workFactorDefault = 17;
const ageMagic = 'age-encryption.org/v1\n';
/** Dozens of public keys fit. */
export const ageHeaderBytesMax = 64 * 1024;
const nonceBytes = 16;
const chunkBytes = 64 * 1024;
const sealedChunkBytes = chunkBytes + 16;

export function isSealed({ passphrase, recipients = [] }: Sealing): boolean {
  return passphrase !== undefined || recipients.length > 0;
}

/** Loaded with the first backup that is encrypted: most processes make none. */
const age = () => import('age-encryption');

/** @throws OperatorError when one is no public key of age */
export async function checkRecipients(recipients: readonly string[]): Promise<void> {
  if (recipients.length > 0) await encrypterOf({ recipients });
}

async function encrypterOf({ passphrase, recipients = [] }: Sealing): Promise<Encrypter> {
  const encrypter = new (await age()).Encrypter();
  if (passphrase !== undefined) encrypter.setPassphrase(passphrase.normalize('NFC'));
  for (const recipient of recipients) {
    try {
      encrypter.addRecipient(recipient);
    } catch {
      throw new OperatorError(
        `'${recipient.slice(0, 100)}' is no public key of age: one begins with age1, as age-keygen shows it`,
      );
    }
  }
  return encrypter;
}

/** @param workFactor cheaper guesses, for tests */
export async function* seal(
  content: Bytes,
  sealing: Sealing,
  workFactor = workFactorDefault,
): AsyncGenerator<Uint8Array> {
  const encrypter = await encrypterOf(sealing);
  encrypter.setScryptWorkFactor(workFactor);
  yield* await encrypter.encrypt(streamOf(content));
}

/** Returns what a file is sealed with; undefined if it is no file of age. @param head its first bytes */
export function sealedWith(head: Buffer): SealedWith | undefined {
  if (head.toString('latin1', 0, ageMagic.length) !== ageMagic) return undefined;
  return head.toString('latin1', ageMagic.length).startsWith('-> scrypt ')
    ? 'passphrase'
    : 'public key';
}

/**
 * Opens a file of age. Its header is read, and the key asked for, before anything is given out.
 * @param head its first bytes, as many as a header may have
 * @param size all of its bytes
 */
export async function unseal(
  file: Bytes,
  head: Buffer,
  size: number,
  keys: Unsealing,
): Promise<AsyncGenerator<Uint8Array>> {
  // The library reads a header of any length.
  const [header] = /^.*?\n---[^\n]*\n/s.exec(head.toString('latin1')) ?? [];
  if (header === undefined) {
    throw new OperatorError(
      size > head.length
        ? 'the backup is damaged: its header'
        : 'the backup is cut short: its header is not whole',
    );
  }
  const isWords = sealedWith(head) === 'passphrase';
  const decrypter = new (await age()).Decrypter();
  await (isWords ? addPassphrase(decrypter, keys) : addIdentities(decrypter, keys));
  const content = await decrypter.decrypt(streamOf(file)).catch((error: Error) => {
    if (error.message.startsWith('no identity matched')) {
      throw new OperatorError(
        isWords
          ? 'the passphrase is not the one of this backup'
          : 'the backup is encrypted to other public keys than that of the identity given',
      );
    }
    throw new OperatorError('the backup is damaged: its header');
  });
  return chunksOf(content, header.length + nonceBytes, size);
}

async function addPassphrase(decrypter: Decrypter, { passphrase }: Unsealing): Promise<void> {
  const words = await passphrase();
  if (words === undefined) {
    throw new OperatorError(
      'the backup is encrypted: give --passphrase-file, or set BACKUP_PASSPHRASE or BACKUP_PASSPHRASE_FILE',
    );
  }
  // `age` takes the letters as they were typed.
  for (const spelling of new Set([words.normalize('NFC'), words])) {
    decrypter.addPassphrase(spelling);
  }
}

async function addIdentities(decrypter: Decrypter, { identities = [] }: Unsealing): Promise<void> {
  if (identities.length === 0) {
    throw new OperatorError(
      'the backup is encrypted to a public key: name the file of the identity that opens it with --identity',
    );
  }
  for (const identity of identities) decrypter.addIdentity(identity);
}

function streamOf(bytes: Bytes): ReadableStream<Uint8Array> {
  const iterator = bytes[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const next = await iterator.next();
      if (next.done === true) controller.close();
      else controller.enqueue(next.value);
    },
    async cancel() {
      await iterator.return?.();
    },
  });
}

/** Says where a chunk is not what was written; the one before may have been lost on the way. */
async function* chunksOf(content: Bytes, start: number, size: number) {
  let bytes = 0;
  try {
    for await (const chunk of content) {
      yield chunk;
      bytes += chunk.length;
    }
  } catch {
    const from = start + Math.floor(bytes / chunkBytes) * sealedChunkBytes;
    throw new OperatorError(
      size - from > 2 * sealedChunkBytes
        ? `the backup is damaged: it is not what was written behind byte ${from}`
        : 'the backup is cut short, or damaged at its end',
    );
  }
}

/** Reads the secret keys in a file, as `age-keygen` writes it. @throws OperatorError */
export async function readIdentities(path: string): Promise<string[]> {
  const lines = readSecret('identity', path, true)
    .split('\n')
    .map((line) => line.trim());
  const identities = lines.filter((line) => line !== '' && !line.startsWith('#'));
  const decrypter = new (await age()).Decrypter();
  try {
    for (const identity of identities) decrypter.addIdentity(identity);
    if (identities.length > 0) return identities;
  } catch {
    // Said below: the line may be secret.
  }
  throw new OperatorError(
    `the identity file ${path} must hold lines that begin with AGE-SECRET-KEY-, as age-keygen writes them`,
  );
}

// Reads from the settings what backups are encrypted with, for backups without a prompt.

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
function readSecret(name: string, path: string, mayBePipe: boolean): string {
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
