/**
 * A thread that only computes: no memory, no garbage, nothing to hand over. What two of them do
 * beside one is what the machine gives to a second thread. A message is a number of loops; the
 * answer, which depends on them all, comes when they are done.
 */

import { parentPort } from 'node:worker_threads';

let state = 1;
parentPort!.on('message', (loops: number) => {
  for (let i = 0; i < loops; i++) state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
  parentPort!.postMessage(state);
});
