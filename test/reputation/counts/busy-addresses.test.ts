/** Addresses with many reports: whatever there are, each is taken in its turn. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createBusyAddresses } from '../../../src/reputation/counts/busy-addresses.ts';

const max = 10;

for (const count of [0, 9, 10, 11, 20, 35]) {
  it(`of ${count} each is taken by as many surveys as it takes, and then again`, () => {
    const crowd = createBusyAddresses(max);
    function survey(): number[] {
      for (let n = 0; n < count; n++) {
        crowd.meet({ family: 4, words: Uint32Array.of(n), reports: 20_000 });
      }
      return crowd.take().map(({ words }) => words[0]!);
    }
    const all = Array.from({ length: count }, (_, n) => n);
    for (let round = 0; round < 3; round++) {
      const taken: number[] = [];
      for (let n = 0; n < Math.max(1, Math.ceil(count / max)); n++) {
        const some = survey();
        assert.ok(some.length <= max);
        taken.push(...some);
      }
      assert.deepEqual(taken, all, `round ${round}`);
    }
  });
}

it('where they become fewer meanwhile, none is left out for long', () => {
  const crowd = createBusyAddresses(max);
  const survey = (count: number) => {
    for (let n = 0; n < count; n++) crowd.meet({ family: 4, words: Uint32Array.of(n), reports: 1 });
    return crowd.take().length;
  };
  assert.deepEqual([survey(25), survey(25), survey(5), survey(5)], [10, 10, 0, 5]);
});
