/** A front end whose thread the system refuses: it gives back what it took, or a process that failed to start never ends. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startThreads } from '../../src/app/threads/threads.ts';
import { memoryLog } from '../support/server/memory-log.ts';

test('a thread that can not be made gives its reader back', async () => {
  const open = new Set<object>();
  const index = {
    openReader() {
      const reader = {};
      open.add(reader);
      return reader;
    },
    closeReader: (reader: object) => open.delete(reader),
  };
  // What can't be handed over is refused at the same place as a thread too many.
  const facts = { sockets: [], threads: 1, memory: () => {} };
  const options = { index, log: memoryLog().log, routes: [], facts };
  const refused = options as unknown as Parameters<typeof startThreads>[0];
  await assert.rejects(startThreads(refused), { name: 'DataCloneError' });
  assert.equal(open.size, 0);
});
