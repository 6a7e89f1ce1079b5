/** Closes the parts of a program in the reverse order of opening: each after all that use it. */

import type { Log } from './log.ts';

export function createClosers(log: Log) {
  const open: (() => unknown)[] = [];
  return {
    add: (close: () => unknown) => void open.push(close),
    /** Closes one part after the other. A failure is logged, and the next part is closed all the same. */
    async closeAll(): Promise<void> {
      for (const close of open.splice(0).reverse()) {
        await Promise.resolve()
          .then(close)
          .catch((error) => log.error({ err: error }, 'stop: a part did not close cleanly'));
      }
    },
  };
}

export type Closers = ReturnType<typeof createClosers>;
