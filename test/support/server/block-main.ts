/**
 * Preloaded into a server (`node --import`): at SIGUSR2 the main thread stands still for as long as
 * the file `blocked` is in the data directory. The server itself has no such door.
 */

import { existsSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { isMainThread } from 'node:worker_threads';

export const blockedFile = 'blocked';
export const blockedLine = 'the main thread stands still';

if (isMainThread && process.env.DATA_DIR !== undefined) {
  const file = join(process.env.DATA_DIR, blockedFile);
  const word = new Int32Array(new SharedArrayBuffer(4));
  process.on('SIGUSR2', () => {
    // A log that is written by another thread, or later, would not come out.
    writeSync(2, `${blockedLine}\n`);
    while (existsSync(file)) Atomics.wait(word, 0, 0, 20);
  });
}
