/** The integration kit as somebody has it who downloaded and unpacked it. */

import { openKit } from '../../../src/site/kit/open-kit.ts';
import { makeTempDir } from '../server/temp-dir.ts';
import { unpack } from './wordpress.ts';

export function unpackKit(): { path: string; remove(): void } {
  const directory = makeTempDir('kit');
  unpack(openKit().bytes, directory.path);
  return directory;
}
