/** Who has most, and which key is the oldest, found without a walk: the same as a walk finds. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { createMaxByCountSet } from '../../../src/integrations/agents/max-by-count-set.ts';
import { OldestFirst } from '../../../src/integrations/agents/oldest-first.ts';

const names = ['a', 'b', 'c', 'd', 'e'];
const name = fc.constantFrom(...names);

it('one that has most is found, the known one first', () => {
  const step = fc.record({ one: name, known: name, isLess: fc.boolean() });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const most = createMaxByCountSet<string>();
      const counts = new Map(names.map((one) => [one, 0]));
      for (const { one, known, isLess } of steps) {
        const before = counts.get(one)!;
        if (isLess && before === 0) continue;
        counts.set(one, before + (isLess ? -1 : 1));
        if (isLess) most.less(one, before);
        else most.more(one, before);
        const highest = Math.max(...counts.values());
        assert.equal(
          most.total(),
          [...counts.values()].reduce((sum, n) => sum + n, 0),
        );
        if (highest === 0) continue;
        const found = most.find(known);
        assert.equal(counts.get(found), highest);
        if (counts.get(known) === highest) assert.equal(found, known);
      }
    }),
  );
});

it('the oldest key is the first of the map, whatever comes, goes and comes again', () => {
  const step = fc.record({ key: name, what: fc.constantFrom('set', 'set', 'delete', 'look') });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const map = new OldestFirst<number>();
      for (const [n, { key, what }] of steps.entries()) {
        if (what === 'set') map.set(key, n);
        if (what === 'delete') map.delete(key);
        // Also after much has changed since the last look.
        if (what === 'look') assert.equal(map.oldest(), [...map.keys()][0]);
      }
      assert.equal(map.oldest(), [...map.keys()][0]);
    }),
  );
});
