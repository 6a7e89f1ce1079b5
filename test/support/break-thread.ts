/**
 * Preloaded into a server (`node --import`): at SIGUSR2 it throws an error inside one of the
 * front-end threads, through the debugger. The server itself has no such door.
 */

import { type InspectorNotification, Session } from 'node:inspector';
import { isMainThread } from 'node:worker_threads';

interface Attached {
  readonly sessionId: string;
  readonly workerInfo: { readonly title: string };
}

/** A throw in a timer is nobody's to catch; the second one is a promise that nobody awaits. */
const faults = [
  "setTimeout(() => { throw new Error('thrown on purpose'); }, 0)",
  "Promise.reject(new Error('rejected on purpose'))",
];
let turn = 0;

function breakOne(): void {
  const session = new Session();
  session.connect();
  let isDone = false;
  session.on('NodeWorker.attachedToWorker', (message: InspectorNotification<object>) => {
    const { sessionId, workerInfo } = message.params as Attached;
    // Other threads, such as the one that builds the feeds, are not what is to break.
    if (isDone || !workerInfo.title.includes('front-end')) return;
    isDone = true;
    const expression = faults[turn++ % faults.length]!;
    const call = { id: 1, method: 'Runtime.evaluate', params: { expression } };
    session.post('NodeWorker.sendMessageToWorker', { sessionId, message: JSON.stringify(call) });
  });
  // Not before it was heard: a thread that gets no processor time is not broken yet.
  session.on('NodeWorker.receivedMessageFromWorker', () => session.disconnect());
  session.post('NodeWorker.enable', { waitForDebuggerOnStart: false });
}

if (isMainThread) process.on('SIGUSR2', breakOne);
