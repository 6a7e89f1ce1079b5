/** Parts of a server are closed in reverse, whatever one of them does. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createClosers } from '../../src/core/closers.ts';
import { memoryLog } from '../support/server/memory-log.ts';

test('closes in reverse, each part once, and goes on where one fails', async () => {
  const { log, lines } = memoryLog();
  const closers = createClosers(log);
  const closed: string[] = [];
  closers.add(() => closed.push('first'));
  closers.add(() => Promise.reject(new Error('stuck')));
  closers.add(() => {
    throw new Error('broken');
  });
  closers.add(async () => {
    await new Promise(setImmediate);
    closed.push('last');
  });
  await closers.closeAll();
  await closers.closeAll();
  assert.deepEqual(closed, ['last', 'first']);
  assert.equal(lines.filter(({ msg }) => msg.includes('did not close')).length, 2);
});
