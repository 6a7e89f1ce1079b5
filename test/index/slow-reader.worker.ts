/** A reader that stays in one request for seconds, as if it were suspended. */

import { parentPort, workerData } from 'node:worker_threads';
import { openIpIndexReader, type ReaderHandle } from '../../src/index/reader.ts';

const REQUEST_MS = 2_500;

const reader = openIpIndexReader(workerData as ReaderHandle);
reader.enter();
parentPort!.postMessage('entered');
Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, REQUEST_MS);
reader.leave();
