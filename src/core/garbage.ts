/**
 * A full garbage collection, on purpose. V8 doesn't count shared buffers as memory of a thread: a
 * thread that makes little garbage would keep hundreds of megabytes of buffers nobody uses.
 * Costs a few milliseconds on a heap as small as a thread's here.
 */

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

export function openGarbageCollection(): () => void {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
}
