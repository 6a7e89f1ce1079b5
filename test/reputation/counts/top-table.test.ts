/** The bounds that the table of the most frequent names promises, against plain counting. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createTopTable, sumOf } from '../../../src/reputation/counts/top-table.ts';
import { createReader, createWriter } from '../../../src/storage/codec.ts';
import { seededRandom } from '../../support/seeded.ts';

const size = 16;

it('of several least names the one that came first goes', () => {
  const random = seededRandom(4);
  const table = createTopTable(size);
  const plain = new Map<string, number>();
  for (let i = 0; i < 5_000; i++) {
    const name = `n${Math.floor(60 * random.next() ** 2)}`;
    table.add(name);
    let before = plain.get(name) ?? 0;
    if (before === 0 && plain.size === size) {
      before = Math.min(...plain.values());
      plain.delete([...plain].find(([, count]) => count === before)![0]);
    }
    plain.set(name, before + 1);
    if (i % 7 === 0)
      assert.equal(table.least(), plain.size < size ? 0 : Math.min(...plain.values()));
    assert.deepEqual(
      [...table.rows()].map(({ name, count }) => [name, count]),
      [...plain],
    );
    if (i % 1_000 !== 999) continue;
    table.clear();
    plain.clear();
  }
});

for (const seed of [1, 2, 3]) {
  it(`a full table's counts are never too low, and too high by no more than they say (seed ${seed})`, () => {
    const random = seededRandom(seed);
    const exact = new Map<string, number>();
    const tables = Array.from({ length: 4 }, () => {
      let table = createTopTable(size);
      const added = 500 + Math.floor(random.next() * 1_500);
      for (let i = 0; i < added; i++) {
        // Few names often, many seldom.
        const name = `n${Math.floor(200 * random.next() ** 4)}`;
        exact.set(name, (exact.get(name) ?? 0) + 1);
        table.add(name);
        if (i % 97 !== 0) continue;
        const out = createWriter();
        table.encode(out);
        table = createTopTable(size);
        table.load(createReader(out.finish()));
      }
      for (const { error } of table.rows()) assert.ok(error <= added / size);
      assert.equal([...table.rows()].length, size);
      return table;
    });
    const rows = sumOf(tables);
    for (const { name, count, error } of rows) {
      const truth = exact.get(name)!;
      assert.ok(count >= truth && count - error <= truth, `${name}: ${count} ±${error}, ${truth}`);
    }
    const counts = rows.map(({ count }) => count);
    assert.deepEqual(
      counts,
      counts.toSorted((a, b) => b - a),
    );
    // Whoever is more frequent than the bound is among them.
    const inAll = [...exact.values()].reduce((a, b) => a + b, 0);
    const names = new Set(rows.map(({ name }) => name));
    for (const [name, count] of exact) if (count > inAll / size) assert.ok(names.has(name));
  });
}
