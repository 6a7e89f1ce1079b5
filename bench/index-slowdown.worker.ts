/** A reader at full speed: counts its look-ups while the signal says so. */

import { parentPort, workerData } from 'node:worker_threads';
import { openIpIndexReader, type ReaderHandle } from '../src/index/reader.ts';
import { reportsOf } from '../src/index/records.ts';

export interface SlowdownTask {
  readonly handle: ReaderHandle;
  readonly addresses: SharedArrayBuffer;
  /** Word 0: stop when not 0. Word 1: look-ups done, in thousands. */
  readonly signal: SharedArrayBuffer;
}

const { handle, addresses, signal } = workerData as SlowdownTask;
const words = new Uint32Array(addresses);
const control = new Int32Array(signal);
const reader = openIpIndexReader(handle);
let sum = 0;
let at = 0;
parentPort!.postMessage('ready');
while (Atomics.load(control, 0) === 0) {
  for (let request = 0; request < 20; request++) {
    reader.enter();
    for (let i = 0; i < 50; i++) {
      const entry = reader.find4(words[at]!);
      sum = (sum + reportsOf(reader.records, entry)) | 0;
      at = at + 1 === words.length ? 0 : at + 1;
    }
    reader.leave();
  }
  Atomics.add(control, 1, 1);
}
parentPort!.postMessage(sum);
