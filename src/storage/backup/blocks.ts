/**
 * The blocks of a backup: deflated each by itself, then sealed.
 *
 *     length u32   sealed bytes
 *
 * The seal covers the digest of the header, the block's place and whether it is the last: a block
 * that was changed, swapped, left out, repeated or taken from another file does not open, and a
 * file that was cut between two blocks has no last one. Encrypted, this is STREAM over AES-256-GCM:
 * the nonce is the place (u88) and the mark of the last block, the key is used for this file alone.
 * Else the seal is a SHA-256, which detects damage and not intent.
 */

import { createCipheriv, createDecipheriv, createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { deflateRaw, inflateRaw } from 'node:zlib';
import { OperatorError } from '../../core/errors.ts';
import { type BackupHeader, digestBytes } from './header.ts';

const deflate = promisify(deflateRaw);
const inflate = promisify(inflateRaw);

/** Before compression. A row may be larger and is in a block of its own. */
export const blockBytes = 1024 * 1024;
/** The content of a block with the largest possible row and its key, rounded up. */
const contentBytesMax = 8 * 1024 * 1024;
export const sealedBytesMax = contentBytesMax + 64 * 1024;
const tagBytes = 16;
const cipher = 'aes-256-gcm';

/** A sealed block with its length before it. */
export async function sealBlock(
  header: BackupHeader,
  place: number,
  isLast: boolean,
  content: Uint8Array,
): Promise<Buffer> {
  const packed = await deflate(content, { level: 6 });
  const sealed =
    header.key === undefined
      ? [packed, plainSeal(header, place, isLast, packed)]
      : encrypted(header, header.key, place, isLast, packed);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(sealed.reduce((sum, part) => sum + part.length, 0));
  return Buffer.concat([length, ...sealed]);
}

/** @throws OperatorError which says where the file is damaged, cut or longer than it was */
export async function openBlock(
  header: BackupHeader,
  place: number,
  isLast: boolean,
  sealed: Buffer,
): Promise<Buffer> {
  const packed = unsealed(header, place, isLast, sealed);
  if (packed === undefined) {
    if (unsealed(header, place, !isLast, sealed) === undefined) throw damagedBlock(place);
    throw new OperatorError(
      isLast
        ? `the backup is cut short: it ends with block ${place + 1}, which is not its last`
        : 'the backup is damaged: there are bytes behind its last block',
    );
  }
  try {
    return await inflate(packed, { maxOutputLength: contentBytesMax });
  } catch {
    throw damagedBlock(place);
  }
}

export function damagedBlock(place: number): OperatorError {
  return new OperatorError(
    `the backup is damaged: block ${place + 1} is not what was written there`,
  );
}

function unsealed(header: BackupHeader, place: number, isLast: boolean, sealed: Buffer) {
  if (header.key !== undefined) return decrypted(header, header.key, place, isLast, sealed);
  const end = sealed.length - digestBytes;
  if (end < 0) return undefined;
  const packed = sealed.subarray(0, end);
  const seal = plainSeal(header, place, isLast, packed);
  return seal.equals(sealed.subarray(end)) ? packed : undefined;
}

function plainSeal(
  header: BackupHeader,
  place: number,
  isLast: boolean,
  packed: Uint8Array,
): Buffer {
  const hash = createHash('sha256').update(header.digest).update(nonceOf(place, isLast));
  return hash.update(packed).digest();
}

function encrypted(
  header: BackupHeader,
  key: Buffer,
  place: number,
  isLast: boolean,
  packed: Buffer,
) {
  const sealing = createCipheriv(cipher, key, nonceOf(place, isLast), { authTagLength: tagBytes });
  sealing.setAAD(header.digest);
  return [sealing.update(packed), sealing.final(), sealing.getAuthTag()];
}

/** Undefined when a byte of it, its place or the key is another one. */
function decrypted(
  header: BackupHeader,
  key: Buffer,
  place: number,
  isLast: boolean,
  sealed: Buffer,
) {
  const end = sealed.length - tagBytes;
  if (end < 0) return undefined;
  const opening = createDecipheriv(cipher, key, nonceOf(place, isLast), {
    authTagLength: tagBytes,
  });
  opening.setAAD(header.digest).setAuthTag(sealed.subarray(end));
  try {
    return Buffer.concat([opening.update(sealed.subarray(0, end)), opening.final()]);
  } catch {
    return undefined;
  }
}

function nonceOf(place: number, isLast: boolean): Buffer {
  const nonce = Buffer.alloc(12);
  nonce.writeUIntBE(place, 5, 6);
  nonce.writeUInt8(isLast ? 1 : 0, 11);
  return nonce;
}
