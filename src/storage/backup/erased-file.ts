/**
 * The list of deleted accounts as a file: a first line that says when it was written and under
 * which master key it is sealed, a line of each account, and the seal of all lines before it.
 *
 *     portcullis deleted accounts, written 2026-12-31T23:59:59.123Z, master key 0a1b2c3d
 *     2026-12-30T10:11:12.000Z AbCdEfGhIjKlMnOp
 *     seal <HMAC-SHA-256>
 *
 * Invariants: the file has its name only when all of it is on disk. Whoever lacks the key can
 * neither add an account, nor take one out, nor put the list of another server in its place. An
 * older list of the same server opens, and its first line says how old it is.
 */

import { createHmac, timingSafeEqual } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { OperatorError } from '../../core/errors.ts';
import { type Random, randomToken } from '../../core/random.ts';
import { replaceFile } from '../files.ts';
import { partSuffix } from './write.ts';

/** In the data directory, and in the folder of backups. */
export const erasedFile = 'erased-accounts.txt';

/** The key of the seal, and the name of the master key that it is derived from. */
export interface ErasedSeal {
  /** 8 hex digits. */
  readonly masterKeyId: string;
  /** 32 bytes. Secret. */
  readonly key: Uint8Array;
}

export interface ErasedFile {
  /** Account ids, and when each was deleted, in milliseconds since 1970. */
  readonly ids: ReadonlyMap<string, number>;
  /** Milliseconds since 1970; undefined: the list is not sealed. */
  readonly writtenAt: number | undefined;
  /** The name of the key that it is sealed under; undefined: the list is not sealed. */
  readonly masterKeyId: string | undefined;
  /** `unchecked`: it is sealed, and there is no key or another one. */
  readonly state: 'sealed' | 'unsealed' | 'unchecked' | 'changed';
}

const head =
  /^portcullis deleted accounts, written (\d{4}-\d\d-\d\dT[\d:.]+Z), master key ([0-9a-f]{8})\n/;
const line = /^(\d{4}-\d\d-\d\dT[\d:.]+Z) ([0-9A-Za-z_-]{1,64})$/gm;
const sealLine = /\nseal ([0-9A-Za-z_-]{43})\n$/;

export function encodeErased(
  ids: ReadonlyMap<string, number>,
  seal: ErasedSeal,
  nowMs: number,
): string {
  const lines = [...ids]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([id, at]) => `${isoText(at)} ${id}\n`);
  const first = `portcullis deleted accounts, written ${isoText(nowMs)}, master key ${seal.masterKeyId}\n`;
  const sealed = first + lines.join('');
  return `${sealed}seal ${macOf(sealed, seal.key).toString('base64url')}\n`;
}

/**
 * Reads a list. In a list that is not sealed, broken lines, such as a half one, are skipped.
 * @throws OperatorError when it is no list
 */
export function decodeErased(text: string, path: string, seal: ErasedSeal | undefined): ErasedFile {
  const ids = new Map<string, number>();
  for (const [, at = '', id = ''] of text.matchAll(line)) {
    const atMs = Date.parse(at);
    if (!Number.isNaN(atMs)) ids.set(id, atMs);
  }
  const [, written, masterKeyId] = head.exec(text) ?? [];
  if (written === undefined) {
    if (ids.size === 0 && text.trim() !== '') {
      throw new OperatorError(`${path} is no list of deleted accounts`);
    }
    return { ids, writtenAt: undefined, masterKeyId: undefined, state: 'unsealed' };
  }
  const writtenAt = Date.parse(written);
  const found = { ids, writtenAt, masterKeyId };
  if (Number.isNaN(writtenAt)) return { ...found, state: 'changed' };
  if (seal === undefined || seal.masterKeyId !== masterKeyId) {
    return { ...found, state: 'unchecked' };
  }
  return { ...found, state: isSealed(text, seal.key) ? 'sealed' : 'changed' };
}

function isSealed(text: string, key: Uint8Array): boolean {
  const found = sealLine.exec(text);
  if (found === null) return false;
  const given = Buffer.from(found[1]!, 'base64url');
  const right = macOf(text.slice(0, found.index + 1), key);
  return given.length === right.length && timingSafeEqual(given, right);
}

function macOf(text: string, key: Uint8Array): Buffer {
  return createHmac('sha256', key).update(text).digest();
}

/** Undefined when there is none. @throws OperatorError when it is no list, and the system's error */
export async function readErasedFile(
  path: string,
  seal: ErasedSeal | undefined,
): Promise<ErasedFile | undefined> {
  try {
    return decodeErased(await readFile(path, 'latin1'), path, seal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Resolves when the list is on disk under its name. @throws the system's error */
export function writeErasedFile(path: string, text: string, random: Random): Promise<void> {
  return replaceFile(path, `${path}.${randomToken(random, 6)}${partSuffix}`, text);
}
function isoText(atMs: number): string {
  return new Date(atMs).toISOString();
}
