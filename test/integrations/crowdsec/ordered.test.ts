/** Which key is the oldest is found without a walk: the same as a walk finds. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { OldestFirst } from '../../../src/integrations/crowdsec/bans.ts';

const names = ['a', 'b', 'c', 'd', 'e'];
const name = fc.constantFrom(...names);

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
