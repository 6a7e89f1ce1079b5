/** The fewest exact prefixes, against a model that marks every single address. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  aggregate,
  compareFeedRows,
  FEED_ROW,
  lengthOfRow,
  packInfo,
  rowFlags,
} from '../../../../src/reputation/blocklists/builder/rows.ts';
import { seededRandom } from '../../../support/seeded.ts';

const space = 256;

/** Prefixes of the last eight bits of a family's addresses, as rows in order. */
function randomRows(random: () => number, family: 4 | 6): Uint32Array {
  const count = Math.floor(random() * 60);
  const word = family === 4 ? 0 : 3;
  const bits = family === 4 ? 32 : 128;
  const rows = Array.from({ length: count }, () => {
    const length = 8 - Math.floor(random() ** 2 * 5);
    const row = new Uint32Array(FEED_ROW);
    if (family === 6) row.set([0x2001_0db8, 1, 2]);
    const low = Math.floor(random() * space) & ~((1 << (8 - length)) - 1);
    row[word] = (0xc000_0200 | low) >>> 0;
    row[4] = packInfo(bits - 8 + length, 80, family === 6 ? rowFlags.six : 0);
    return row;
  }).sort((a, b) => compareFeedRows(a, 0, b, 0));
  const all = new Uint32Array(rows.length * FEED_ROW);
  for (const [i, row] of rows.entries()) all.set(row, i * FEED_ROW);
  return all;
}

function marks(rows: Uint32Array, family: 4 | 6): boolean[] {
  const marked = new Array<boolean>(space).fill(false);
  const word = family === 4 ? 0 : 3;
  const bits = family === 4 ? 32 : 128;
  for (let at = 0; at < rows.length; at += FEED_ROW) {
    const first = rows[at + word]! & 255;
    const size = 2 ** (bits - lengthOfRow(rows, at));
    marked.fill(true, first, first + size);
  }
  return marked;
}

/** Prefixes that a set of addresses needs: a half-full block needs what its halves need. */
function fewest(marked: readonly boolean[], from = 0, to = marked.length): number {
  const part = marked.slice(from, to);
  if (part.every((one) => !one)) return 0;
  if (part.every((one) => one)) return 1;
  const middle = (from + to) / 2;
  return fewest(marked, from, middle) + fewest(marked, middle, to);
}

for (const family of [4, 6] as const) {
  test(`aggregated IPv${family} is the same addresses in the fewest prefixes`, () => {
    for (let seed = 1; seed <= 400; seed++) {
      const random = seededRandom(seed);
      const rows = randomRows(() => random.next(), family);
      const before = rows.slice();
      const result = aggregate(rows);
      assert.deepEqual(rows, before, `seed ${seed}: its input stays as it was`);
      const wanted = marks(rows, family);
      assert.deepEqual(marks(result, family), wanted, `seed ${seed}: the addresses`);
      assert.equal(
        result.length / FEED_ROW,
        fewest(wanted),
        `seed ${seed}: the number of prefixes`,
      );
    }
  });
}

test('two halves of everything become everything, and nothing stays nothing', () => {
  const halves = new Uint32Array(2 * FEED_ROW);
  halves[4] = packInfo(1, 80, 0);
  halves[FEED_ROW] = 0x8000_0000;
  halves[FEED_ROW + 4] = packInfo(1, 80, 0);
  const whole = aggregate(halves);
  assert.equal(whole.length, FEED_ROW);
  assert.equal(lengthOfRow(whole, 0), 0);
  assert.equal(aggregate(new Uint32Array()).length, 0);
});
