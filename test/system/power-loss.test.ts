/** What was promised is there after a power cut, at any moment: what was not synced is taken away. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hasTool } from '../support/house/tools.ts';
import { powerLossTrial } from '../support/power-loss/trial.ts';

const small = { seed: 1, commits: 300, cuts: 40 } as const;

test('a power cut loses nothing that was acknowledged', async (t) => {
  if (!hasTool(t, 'gcc')) return;
  const { lost, images, promises } = await powerLossTrial(small);
  assert.deepEqual(lost, []);
  assert.ok(images > small.cuts && promises > images, `${images} images, ${promises} promises`);
});

for (const lmdb of [{ noSync: true }, { overlappingSync: true }]) {
  test(`it would be noticed with ${Object.keys(lmdb)[0]}`, async (t) => {
    if (!hasTool(t, 'gcc')) return;
    const { lost } = await powerLossTrial({ ...small, lmdb });
    assert.notDeepEqual(lost, []);
  });
}
