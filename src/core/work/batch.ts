/**
 * Sends many small messages to another thread as one: all of one turn of the event loop cross at
 * its end. A message of its own costs both threads several times what its content does.
 */

import type { MessagePort } from 'node:worker_threads';

/**
 * @param onLost called for each item that can't be sent; the others of its turn are sent
 * @returns sends an item with all others of this turn, in their order
 */
export function openBatch<Item>(
  port: Pick<MessagePort, 'postMessage'>,
  onLost: (item: Item, error: unknown) => void,
): (item: Item) => void {
  let waiting: Item[] = [];

  function flush(): void {
    const items = waiting;
    waiting = [];
    try {
      port.postMessage(items);
    } catch {
      // One of them can't be copied: only that one is lost.
      for (const item of items) sendAlone(item);
    }
  }
  function sendAlone(item: Item): void {
    try {
      port.postMessage([item]);
    } catch (error) {
      onLost(item, error);
    }
  }

  return (item) => {
    if (waiting.push(item) === 1) setImmediate(flush);
  };
}
