/**
 * The header of a backup: what it is, and how its blocks are sealed.
 *
 *     "portcullis backup\n"   length u16   JSON   SHA-256 of all before
 *     block, block … last block                    (blocks.ts)
 *
 * The JSON reveals nothing of what is inside. The digest goes into the seal of each block, so a
 * block belongs to one header and so to one file.
 *
 * Encrypted: scrypt makes 64 bytes of the passphrase and a salt of the file's own. Half is the key of the
 * blocks, half shows by an HMAC whether a passphrase is the right one before anything is decrypted.
 */

import {
  createHash,
  createHmac,
  type ScryptOptions,
  scrypt as scryptCallback,
  timingSafeEqual,
} from 'node:crypto';
import * as v from 'valibot';
import { OperatorError } from '../../core/errors.ts';
import type { Random } from '../../core/random.ts';

export const backupMark = Buffer.from('portcullis backup\n');
export const digestBytes = 32;
export const headerJsonMax = 4_096;

/** 128 MiB of memory and some tenths of a second for each guess. */
const cost = { N: 2 ** 17, r: 8, p: 1 } as const;
/** A file from elsewhere may not ask for more: 512 MiB. */
const costMax = { N: 2 ** 19, r: 8, p: 1 } as const;

const base64 = v.pipe(v.string(), v.regex(/^[0-9A-Za-z_-]{1,128}$/));
const whole = (max: number) => v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(max));
const schema = v.object({
  version: v.pipe(v.number(), v.integer()),
  /** Random, so that no two files have the same header. */
  file: base64,
  encryption: v.optional(
    v.object({
      cipher: v.literal('aes-256-gcm'),
      kdf: v.literal('scrypt'),
      // Else scrypt takes no N.
      N: v.pipe(
        whole(costMax.N),
        v.minValue(2),
        v.check((n) => (n & (n - 1)) === 0),
      ),
      r: whole(costMax.r),
      p: whole(costMax.p),
      salt: base64,
      check: base64,
    }),
  ),
});

const version = 1;

export interface BackupHeader {
  /** As they stand in the file. */
  readonly bytes: Buffer;
  readonly digest: Buffer;
  /** The key of the blocks; undefined if they are not encrypted. */
  readonly key: Buffer | undefined;
}

/** @param passphrase without one the blocks are readable by everybody */
export async function makeHeader(
  passphrase: string | undefined,
  random: Random,
  N: number = cost.N,
): Promise<BackupHeader> {
  const file = text(random.bytes(16));
  if (passphrase === undefined) return sealed({ version, file }, undefined);
  const salt = random.bytes(16);
  const { key, check } = await derive(passphrase, salt, { ...cost, N });
  const encryption = {
    cipher: 'aes-256-gcm',
    kdf: 'scrypt',
    ...cost,
    N,
    salt: text(salt),
    check: text(check),
  } as const;
  return sealed({ version, file, encryption }, key);
}

/**
 * @param json between the mark and the digest
 * @param digest as it stands in the file
 * @throws OperatorError when it is damaged, newer, or the passphrase is missing or wrong
 */
export async function readHeader(
  json: Buffer,
  digest: Buffer,
  passphrase: () => Promise<string | undefined>,
): Promise<BackupHeader> {
  const bytes = Buffer.concat([backupMark, length(json), json]);
  if (!hash(bytes).equals(digest)) throw new OperatorError('the backup is damaged: its header');
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), schema), json.toString('utf8'));
  if (!parsed.success || parsed.output.version !== version) {
    throw new OperatorError('the backup is of a newer version of Portcullis: restore it with that');
  }
  const { encryption } = parsed.output;
  const whole = Buffer.concat([bytes, digest]);
  if (encryption === undefined) return { bytes: whole, digest, key: undefined };
  const words = await passphrase();
  if (words === undefined) {
    throw new OperatorError(
      'the backup is encrypted: give --passphrase-file, or set BACKUP_PASSPHRASE or BACKUP_PASSPHRASE_FILE',
    );
  }
  const { key, check } = await derive(words, Buffer.from(encryption.salt, 'base64url'), encryption);
  const told = Buffer.from(encryption.check, 'base64url');
  if (told.length !== check.length || !timingSafeEqual(told, check)) {
    throw new OperatorError('the passphrase is not the one of this backup');
  }
  return { bytes: whole, digest, key };
}

function sealed(content: v.InferInput<typeof schema>, key: Buffer | undefined): BackupHeader {
  const json = Buffer.from(JSON.stringify(content));
  const bytes = Buffer.concat([backupMark, length(json), json]);
  const digest = hash(bytes);
  return { bytes: Buffer.concat([bytes, digest]), digest, key };
}

async function derive(
  passphrase: string,
  salt: Uint8Array,
  { N, r, p }: { N: number; r: number; p: number },
): Promise<{ key: Buffer; check: Buffer }> {
  const words = passphrase.normalize('NFC');
  const secret = await scrypt(words, salt, 64, { N, r, p, maxmem: 256 * N * r });
  const check = createHmac('sha256', secret.subarray(32)).update('portcullis backup').digest();
  return { key: secret.subarray(0, 32), check };
}

function scrypt(
  words: string,
  salt: Uint8Array,
  bytes: number,
  options: ScryptOptions,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scryptCallback(words, salt, bytes, options, (error, secret) => {
      if (error === null) resolve(secret);
      else reject(error);
    });
  });
}

function hash(bytes: Uint8Array): Buffer {
  return createHash('sha256').update(bytes).digest();
}

function length(json: Buffer): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(json.length);
  return bytes;
}

function text(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64url');
}
