/** A reader at full speed: counts its look-ups while the signal says so. */

import { parentPort, workerData } from 'node:worker_threads';
import { openIpIndexReader, type ReaderHandle } from '../src/index/reader.ts';
import { reportsOf } from '../src/index/records.ts';

/** `signal`: word 0 is not 0 when it is to stop; word 1 is the look-ups done, in thousands. */
const { handle, words, signal } = workerData as {
  readonly handle: ReaderHandle;
  readonly words: Uint32Array;
  readonly signal: Int32Array;
};
const reader = openIpIndexReader(handle);
let [sum, at] = [0, 0];
parentPort!.postMessage('ready');
while (Atomics.load(signal, 0) === 0) {
  for (let request = 0; request < 20; request++) {
    reader.enter();
    for (let i = 0; i < 50; i++) {
      const entry = reader.find4(words[at]!);
      sum = (sum + reportsOf(reader.records, entry)) | 0;
      at = at + 1 === words.length ? 0 : at + 1;
    }
    reader.leave();
  }
  Atomics.add(signal, 1, 1);
}
parentPort!.postMessage(sum);
