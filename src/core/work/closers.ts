/** Closes the parts of a program in the reverse order of opening: each after all that use it. */

import type { Log } from '../log/log.ts';

export interface Closers {
  add(close: () => unknown): void;
  /**
   * Closes one part after the other. A failure is logged, and the next part is closed all the same.
   */
  closeAll(): Promise<void>;
}

export function createClosers(log: Log): Closers {
  const open: (() => unknown)[] = [];
  return {
    add: (close) => void open.push(close),
    async closeAll() {
      for (const close of open.splice(0).reverse()) {
        await Promise.resolve()
          .then(close)
          .catch((error) => log.error({ err: error }, 'stop: a part did not close cleanly'));
      }
    },
  };
}
