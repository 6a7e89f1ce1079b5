/** Backups that nobody's store wrote: each is packed as it should be, whatever is in it. */

import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { backupMagic, frameRecord } from '../../../src/storage/backup/content.ts';

/** @param end of its rows and digest; undefined: what is right */
export function packedBackup(contents: readonly Buffer[], rows: number, end?: object): Buffer {
  const digest = createHash('sha256');
  for (const content of contents) digest.update(content);
  const right = { rows, digest: digest.digest('hex') };
  const last = Buffer.concat([Buffer.of(3), Buffer.from(JSON.stringify(end ?? right))]);
  return gzipSync(Buffer.concat([backupMagic, ...[...contents, last].map(frameRecord)]));
}

export function aboutRecord(about: object): Buffer {
  return Buffer.concat([Buffer.of(1), Buffer.from(JSON.stringify(about))]);
}
