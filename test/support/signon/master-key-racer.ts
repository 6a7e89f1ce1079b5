/** A thread that waits for three others at a gate and then loads the master key. */

import { parentPort, workerData } from 'node:worker_threads';
import { loadMasterKey } from '../../../src/access/keys/master-key.ts';
import { systemRandom } from '../../../src/core/random.ts';

const { dataDir, gate } = workerData as { dataDir: string; gate: Int32Array };
Atomics.add(gate, 0, 1);
while (Atomics.load(gate, 0) < 4) Atomics.wait(gate, 0, Atomics.load(gate, 0), 1);
const key = loadMasterKey({ dataDir, strict: true, random: systemRandom() });
parentPort?.postMessage(Buffer.from(key.secret).toString('hex'));
