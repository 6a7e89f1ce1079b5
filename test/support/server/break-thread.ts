/**
 * Preloaded into a server (`node --import`), and with it into each of its threads: at SIGUSR2 an
 * error is thrown inside front-end thread 0 and the threads of the DNS block list and of HAProxy. The
 * server itself has no such door.
 *
 * Not through the debugger: a thread that ends while a session of it is being closed makes Node
 * call a freed object, and the whole process is gone (v20.20, NodeWorkers::Detached).
 */

import { BroadcastChannel, isMainThread, workerData } from 'node:worker_threads';

/** A throw in a timer is nobody's to catch; the second one is a promise that nobody awaits. */
const faults = [
  () => {
    setTimeout(() => {
      throw new Error('thrown on purpose');
    }, 0);
  },
  () => {
    Promise.reject(new Error('rejected on purpose'));
  },
];

/** Others, such as the one that builds the feeds, are not what is to break. */
function isVictim(): boolean {
  const setup: unknown = workerData;
  if (typeof setup !== 'object' || setup === null) return false;
  return ('thread' in setup && setup.thread === 0) || 'own' in setup;
}

if (isMainThread) {
  const channel = new BroadcastChannel('break');
  channel.unref();
  let turn = 0;
  process.on('SIGUSR2', () => channel.postMessage(turn++ % faults.length));
} else if (isVictim()) {
  const channel = new BroadcastChannel('break');
  // It must end by itself, as without this.
  channel.unref();
  channel.onmessage = (message) => faults[(message as { data: number }).data]!();
}
