/** The benches of front ends run at a tiny size, so that they can't rot. No figure is judged here. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run as runForward } from '../../bench/forward.bench.ts';
import { run as runFrontEnds } from '../../bench/front-ends.bench.ts';

for (const [name, run] of Object.entries({ runForward, runFrontEnds })) {
  test(`${name} gives its row`, async () => {
    const [row, ...more] = await run('tiny');
    assert.deepEqual(more, []);
    assert.ok(row!.ours > 0 && row!.peerValue! > 0, row!.name);
  });
}
