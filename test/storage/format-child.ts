/**
 * Child of the tests of the update: leads a store to the format of format-steps.ts in batches of a few rows, says so
 * after each, and goes on when told. Prints `opened` at the end.
 */

import { once } from 'node:events';
import { systemClock } from '../../src/core/clock.ts';
import { createLog } from '../../src/core/log.ts';
import { systemRandom } from '../../src/core/random.ts';
import { openStore } from '../../src/storage/lmdb/store.ts';
import { format2 } from './format-steps.ts';

const [dataDir] = process.argv.slice(2);
const store = await openStore({
  path: `${dataDir}/store`,
  dataDir: dataDir!,
  clock: systemClock(),
  random: systemRandom(),
  log: createLog('silent'),
  format: format2,
  batchRows: 3,
  async afterBatch() {
    process.stdout.write('batch\n');
    await once(process.stdin, 'data');
  },
}).catch((error: Error) => {
  process.stdout.write(`refused ${error.message}\n`);
  process.exit(1);
});
process.stdout.write('opened\n');
await store.close();
process.exit(0);
