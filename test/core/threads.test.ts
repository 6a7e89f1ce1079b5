/** Collections on purpose, and what they cost who never needs one. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';

/** What V8 is asked for is asked of the whole process. */
const script = `
  import { runInNewContext } from 'node:vm';
  import { openGarbageCollection } from '${new URL('../../src/core/threads.js', import.meta.url)}';
  const shown = () => runInNewContext('typeof gc');
  const collect = openGarbageCollection();
  const before = shown();
  const held = new WeakRef({});
  // What a turn made lives as long as the turn.
  await new Promise(setImmediate);
  collect();
  console.log(before, shown(), held.deref());
`;

test('V8 is asked for a collection by the first one, not when a thread starts', () => {
  const done = spawnSync(process.execPath, ['--input-type=module', '--eval', script]);
  assert.equal(String(done.stdout).trim(), 'undefined function undefined', String(done.stderr));
});
