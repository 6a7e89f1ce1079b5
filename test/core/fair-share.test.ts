/** Who holds most is found without a walk: the same as a walk over everything finds. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { FairShare, MaxByCountSet } from '../../src/core/fair-share.ts';

const names = ['a', 'b', 'c', 'd', 'e'];
const name = fc.constantFrom(...names);

it('an owner of the most is found, the preferred one first, else the one longest there', () => {
  const step = fc.record({ owner: name, preferred: name, isLess: fc.boolean() });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const set = new MaxByCountSet<string>();
      const counts = new Map<string, { count: number; since: number }>();
      for (const [since, { owner, preferred, isLess }] of steps.entries()) {
        const before = counts.get(owner)?.count ?? 0;
        if (isLess && before === 0) continue;
        counts.set(owner, { count: before + (isLess ? -1 : 1), since });
        if (isLess) set.less(owner, before);
        else set.more(owner, before);
        const all = [...counts].filter(([, { count }]) => count > 0);
        assert.equal(
          set.total,
          all.reduce((sum, [, { count }]) => sum + count, 0),
        );
        const highest = Math.max(0, ...all.map(([, { count }]) => count));
        const [first] = all
          .filter(([, { count }]) => count === highest)
          .sort(([, one], [, other]) => one.since - other.since);
        assert.equal(set.largest(), first?.[0]);
        const isOne = counts.get(preferred)?.count === highest && highest > 0;
        assert.equal(set.largest(preferred), isOne ? preferred : first?.[0]);
      }
    }),
  );
});

/** The same over a list of all items, searched each time. */
class PlainShare {
  readonly items: { readonly whole: string; readonly part: string; readonly item: number }[] = [];

  of(whole: string, part?: string): number[] {
    return this.items
      .filter((one) => one.whole === whole && (part === undefined || one.part === part))
      .map(({ item }) => item);
  }

  mostOf(whole: string): number {
    return Math.max(0, ...names.map((part) => this.of(whole, part).length));
  }

  most(): number {
    return Math.max(0, ...names.map((whole) => this.of(whole).length));
  }
}

it('items of parts of wholes are counted as a search over all of them counts', () => {
  const step = fc.record({
    whole: name,
    part: name,
    what: fc.constantFrom('add', 'add', 'remove', 'remove-oldest', 'remove-largest'),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 150 }), (steps) => {
      const shares = new FairShare<number>();
      const plain = new PlainShare();
      const remove = (whole: string, part: string, item: number) => {
        const found = shares.find(whole)?.parts.get(part);
        const at = plain.items.findIndex((one) => one.item === item && one.part === part);
        const isThere = at >= 0 && plain.items[at]!.whole === whole;
        assert.equal(found !== undefined && shares.remove(found, item), isThere);
        if (isThere) plain.items.splice(at, 1);
      };
      for (const [item, { whole, part, what }] of steps.entries()) {
        if (what === 'add') {
          shares.add(shares.open(whole, part), item);
          plain.items.push({ whole, part, item });
        } else if (what === 'remove') remove(whole, part, item >> 1);
        else if (what === 'remove-oldest') {
          const [oldest] = plain.of(whole, part);
          const first = shares.find(whole)?.parts.get(part)?.items.values().next().value;
          assert.equal(first, oldest);
          if (oldest !== undefined) remove(whole, part, oldest);
        } else {
          const largest = shares.largest()?.held.largest();
          if (largest !== undefined) remove(largest.whole.key, largest.key, [...largest.items][0]!);
        }
        assert.equal(shares.size, plain.items.length);
        const most = shares.largest();
        assert.equal(most?.held.total ?? 0, plain.most());
        for (const key of names) {
          const found = shares.find(key);
          assert.equal(found?.held.total, plain.of(key).length || undefined, 'none is kept empty');
          assert.equal(found?.held.largest()?.items.size ?? 0, plain.mostOf(key));
          assert.deepEqual([...(found?.parts.get(part)?.items ?? [])], plain.of(key, part));
        }
      }
    }),
  );
});

it('an item that was removed is removed once', () => {
  const shares = new FairShare<string>();
  const part = shares.open('network', 'client');
  shares.add(part, 'one');
  assert.equal(shares.remove(part, 'one'), true);
  assert.equal(shares.remove(part, 'one'), false);
  assert.equal(shares.size, 0);
  assert.equal(shares.find('network'), undefined);
});
