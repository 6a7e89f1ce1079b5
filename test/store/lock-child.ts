/** `lock-child <directory>`: tries to become the server. Prints `won` and stays, or `refused <why>`. */

import { systemClock } from '../../src/core/clock.ts';
import { OperatorError } from '../../src/core/errors.ts';
import { systemRandom } from '../../src/core/random.ts';
import { acquireServerLock } from '../../src/store/lock.ts';
import { open } from './lmdb-opener.ts';

const dataDir = process.argv[2]!;
const store = await open(dataDir, systemClock());
try {
  const lock = await acquireServerLock({
    store,
    dataDir,
    random: systemRandom(),
    pid: process.pid,
  });
  process.stdout.write('won\n');
  process.stdin.once('data', async () => {
    await lock.release();
    await store.close();
    process.stdout.write('released\n');
    process.exit(0);
  });
} catch (error) {
  if (!(error instanceof OperatorError)) throw error;
  process.stdout.write(`refused ${error.message}\n`);
  await store.close();
  process.exit(0);
}
