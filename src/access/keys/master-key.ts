/**
 * The master key that seals API keys: 32 bytes from MASTER_KEY_FILE, or made once in DATA_DIR.
 * A file is never overwritten: a lost master key makes every sealed key unreadable, for good.
 */

import { createHash, hkdfSync } from 'node:crypto';
import { closeSync, fstatSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { decrypt, encrypt, nonceBytes, tagBytes } from '../../core/crypto.ts';
import { OperatorError } from '../../core/errors.ts';
import type { Random } from '../../core/random.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import type { ErasedSeal } from '../../storage/backup/erased.ts';
import { makeFileOnce, openPlainFile } from '../../storage/files.ts';

// Sealing of API keys at rest, AES-256-GCM, so that an owner can be shown the key again.
//
//   ┌─────────┬───────────────┬──────────┬────────────┬────────┐
//   │ version │ master key id │ nonce    │ ciphertext │ tag    │
//   │ 1 byte  │ 4 bytes       │ 12 bytes │            │ 16     │
//   └─────────┴───────────────┴──────────┴────────────┴────────┘
//
// The first five bytes and the caller's context (account and key id) are authenticated too, so
// a sealed key moved to another account doesn't open. Nonces are random: 2^32 seals under one
// master key would be the limit, and each key ever made is one seal.

const version = 1;
const keyIdLength = 4;
const headerLength = 1 + keyIdLength;

/** `context` binds the seal to its place, such as `<account id>/<key id>`. */
export function sealWithKey(
  masterKey: MasterKey,
  random: Random,
  context: string,
  plaintext: string,
): Uint8Array {
  const header = Buffer.concat([Uint8Array.of(version), masterKey.id]);
  const nonce = random.bytes(nonceBytes);
  const bound = authenticated(header, context);
  return Buffer.concat([
    header,
    nonce,
    encrypt(masterKey.secret, nonce, Buffer.from(plaintext), bound),
  ]);
}

/** The plaintext; `internal` when it was sealed under another master key, moved or altered. */
export function open(masterKey: MasterKey, context: string, sealed: Uint8Array): Result<string> {
  if (sealed.length < headerLength + nonceBytes + tagBytes || sealed[0] !== version) {
    return fail('internal', 'the sealed key has an unknown format');
  }
  const header = sealed.subarray(0, headerLength);
  if (Buffer.compare(header.subarray(1), masterKey.id) !== 0) {
    return fail('internal', 'the key was sealed under another master key');
  }
  const nonce = sealed.subarray(headerLength, headerLength + nonceBytes);
  const text = sealed.subarray(headerLength + nonceBytes);
  const plain = decrypt(masterKey.secret, nonce, text, authenticated(header, context));
  return plain === undefined
    ? fail('internal', 'the sealed key was altered or belongs to another account')
    : ok(plain.toString('utf8'));
}

/** The header has a fixed length, so header and context can't run into one another. */
function authenticated(header: Uint8Array, context: string): Uint8Array {
  return Buffer.concat([header, Buffer.from(context, 'utf8')]);
}

export interface MasterKey {
  /** First 4 bytes of SHA-256 over a label and the key: names the key and reveals nothing about it. */
  readonly id: Uint8Array;
  /** 32 bytes. Secret. */
  readonly secret: Uint8Array;
}

interface MasterKeySource {
  /** MASTER_KEY_FILE. When absent, `master.key` in `dataDir`, made on first use. */
  readonly path?: string | undefined;
  readonly dataDir: string;
  /** Refuse a file that its group or others may read. */
  readonly strict: boolean;
  /** If a store exists, a key existed too: a missing one is an error, and no new one is made. */
  readonly hasStore?: boolean;
  readonly random: Random;
}

const masterKeyLength = 32;
const fileName = 'master.key';
const fileSizeMax = 1_024;

export function loadMasterKey(source: MasterKeySource): MasterKey {
  const path = source.path ?? join(source.dataDir, fileName);
  const setting = source.path === undefined ? 'DATA_DIR' : 'MASTER_KEY_FILE';
  const found = readKeyFile(path, setting, source.strict);
  if (found !== undefined) return found;
  if (source.path !== undefined) {
    throw new OperatorError(`MASTER_KEY_FILE: ${path} does not exist`);
  }
  if (source.hasStore === true) {
    throw new OperatorError(
      `the master key is missing: ${path} is gone, and the store beside it is sealed with it. Put ` +
        'the file back, or name its copy in MASTER_KEY_FILE. If it is lost for good, `portcullis ' +
        'master-key replace` goes on without all that it sealed',
    );
  }
  makeKeyFile(path, source.random);
  const made = readKeyFile(path, setting, source.strict);
  if (made === undefined) throw new OperatorError(`DATA_DIR: ${path} vanished while starting`);
  return made;
}

export function masterKeyFromBytes(secret: Uint8Array): MasterKey {
  if (secret.length !== masterKeyLength) throw new RangeError('a master key has 32 bytes');
  const digest = createHash('sha256').update('portcullis master key id').update(secret).digest();
  return { id: digest.subarray(0, 4), secret };
}

/**
 * 32 bytes for one purpose (HKDF-SHA-256): what leaks of one derived key says nothing about the
 * master key or another purpose's. Change `purpose` and all that was made with the old one ends.
 */
export function deriveKey(masterKey: MasterKey, purpose: string): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', masterKey.secret, '', `portcullis ${purpose}`, 32));
}

/** The seal of the list of deleted accounts: every backup that can be used has its key. */
export function erasedSealOf(masterKey: MasterKey): ErasedSeal {
  return {
    masterKeyId: Buffer.from(masterKey.id).toString('hex'),
    key: deriveKey(masterKey, 'list of deleted accounts'),
  };
}

/** Returns undefined when there is no such file. */
function readKeyFile(path: string, setting: string, strict: boolean): MasterKey | undefined {
  let file: number;
  try {
    file = openPlainFile(path);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw unreadable(setting, path, error);
  }
  try {
    // Asked of the open file, so that the one checked is the one read.
    const { mode, size } = fstatSync(file);
    if (strict && (mode & 0o077) !== 0) {
      throw new OperatorError(
        `${setting}: ${path} can be read by other users; run chmod 600 on it`,
      );
    }
    const secret = size > fileSizeMax ? undefined : decode(readFileSync(file));
    if (secret === undefined) {
      throw new OperatorError(
        `${setting}: ${path} must hold 32 random bytes: raw, or as 64 hex digits, or as base64`,
      );
    }
    return masterKeyFromBytes(secret);
  } catch (error) {
    if (error instanceof OperatorError) throw error;
    throw unreadable(setting, path, error);
  } finally {
    closeSync(file);
  }
}

function unreadable(setting: string, path: string, error: unknown): OperatorError {
  const reason = (error as NodeJS.ErrnoException).code ?? (error as Error).message;
  return new OperatorError(`${setting}: can't read ${path} (${reason})`);
}

/** Returns undefined when the length is wrong. 32 bytes of hex digits are 16 bytes in disguise. */
function decode(content: Buffer): Uint8Array | undefined {
  const text = content.toString('latin1').trim();
  if (/^[0-9a-fA-F]{64}$/.test(text)) return Buffer.from(text, 'hex');
  if (/^[0-9A-Za-z+/_-]{43}=?$/.test(text)) return Buffer.from(text, 'base64');
  if (content.length !== masterKeyLength || /^[0-9a-fA-F]+$/.test(text)) return undefined;
  return content;
}

function makeKeyFile(path: string, random: Random): void {
  const content = `${Buffer.from(random.bytes(masterKeyLength)).toString('base64url')}\n`;
  try {
    makeFileOnce(path, content, random);
  } catch (error) {
    throw new OperatorError(`DATA_DIR: can't make ${path} (${codeOf(error)})`);
  }
}

function codeOf(error: unknown): string {
  return String((error as NodeJS.ErrnoException).code ?? error);
}
