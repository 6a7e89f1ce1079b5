/**
 * A node that does the maintenance and nothing else: it joins, writes the row `work` again and again, and says
 * `working` at the first time and `lost` when the work is another one's.
 */

import { systemClock } from '../../src/core/clock.ts';
import { createLog } from '../../src/core/log.ts';
import { scratchKey, text } from '../../src/storage/keys.ts';
import { LeaseLostError } from '../../src/storage/maintenance.ts';
import { openAgreement } from '../../src/storage/nodes/agreement.ts';
import { joinNodes } from '../../src/storage/nodes/nodes.ts';
import { openPostgresStore } from '../../src/storage/postgres/store.ts';
import { open as openLocal } from '../storage/lmdb-opener.ts';

const [url, directory, alive] = process.argv.slice(2);
const [clock, log] = [systemClock(), createLog('fatal')];
const store = await openPostgresStore({ url: url!, clock, log });
const { maintenance } = await joinNodes({
  store,
  clock,
  log,
  local: await openLocal(`${directory!}/store`, clock),
  agreement: await openAgreement(store, log),
  identity: { name: 'child', version: '1' },
  positions: { appliedSeq: 0n, checkpointSeq: 0n },
  onReplaced() {},
  beatMs: 100,
  aliveMs: Number(alive),
});
const set = [{ key: scratchKey(text('work')), value: Buffer.from('child') }];
let hasWorked = false;
for (;;) {
  try {
    const done = await maintenance.store.commit({ set });
    if (done.ok && !hasWorked) process.stdout.write('working\n');
    hasWorked ||= done.ok;
  } catch (error) {
    if (!(error instanceof LeaseLostError)) throw error;
    if (hasWorked) break;
  }
}
process.stdout.write('lost\n');
