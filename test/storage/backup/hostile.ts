/** Backups that nobody's store wrote: each block is sealed as it should be, whatever is in it. */

import { createHash } from 'node:crypto';
import { seededRandom } from '../../../src/core/random.ts';
import { sealBlock } from '../../../src/storage/backup/blocks.ts';
import { makeHeader } from '../../../src/storage/backup/header.ts';

/** @param end of its rows and digest; undefined: what is right */
export async function sealedBackup(
  contents: readonly Buffer[],
  rows: number,
  end?: object,
): Promise<Buffer> {
  const header = await makeHeader(undefined, seededRandom(7));
  const digest = createHash('sha256');
  for (const content of contents) digest.update(content);
  const right = { rows, digest: digest.digest('hex') };
  const last = Buffer.concat([Buffer.of(3), Buffer.from(JSON.stringify(end ?? right))]);
  const all = [...contents, last];
  const blocks = all.map((content, n) => sealBlock(header, n, n === all.length - 1, content));
  return Buffer.concat([header.bytes, ...(await Promise.all(blocks))]);
}

export function aboutBlock(about: object): Buffer {
  return Buffer.concat([Buffer.of(1), Buffer.from(JSON.stringify(about))]);
}
