/** Begins a backup, says so at its first block, and goes no further: to be killed there. */

import { systemClock } from '../../../src/core/clock.ts';
import { systemRandom } from '../../../src/core/random.ts';
import { makeBackup } from '../../../src/storage/backup/write.ts';

const [path, target] = process.argv.slice(2);
await makeBackup({
  path: path!,
  target: target!,
  clock: systemClock(),
  random: systemRandom(),
  onProgress(rows) {
    // A pipe is written at once.
    process.stdout.write(`${rows}\n`);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  },
});
