/** A file with holes: what a commit costs in it, and that its room is used again. */

import assert from 'node:assert/strict';
import { readFileSync, statSync } from 'node:fs';
import { it } from 'node:test';
import { openTables } from '../../src/storage/lmdb/environment.ts';
import type { Tables } from '../../src/storage/lmdb/tables.ts';
import { seededRandom } from '../support/seeded.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';

const keyOf = (number: number): Buffer => {
  const key = Buffer.alloc(8);
  key.writeUInt32BE(Math.imul(number, 2_654_435_761) >>> 0, 0);
  key.writeUInt32BE(number, 4);
  return key;
};

async function withTables(run: (tables: Tables, file: string) => Promise<void>): Promise<void> {
  const directory = makeTempDir('free-pages');
  const tables = openTables(`${directory.path}/store`);
  try {
    await run(tables, `${directory.path}/store/data.mdb`);
  } finally {
    await tables.root.close();
    directory.remove();
  }
}

/** Bytes that this process has written so far. */
function bytesWritten(): number {
  return Number(/^wchar: (\d+)$/m.exec(readFileSync('/proc/self/io', 'latin1'))![1]);
}

it('a commit writes little into a file with thousands of holes, also beside large values', async () => {
  await withTables(async ({ root, entries }) => {
    const pages = 24_000;
    await root.transaction(() => {
      for (let i = 0; i < pages; i++) entries.put(keyOf(i), Buffer.alloc(2_100, i));
    });
    await root.transaction(() => {
      for (let i = 0; i < pages; i++)
        if ((Math.imul(i, 2_654_435_761) >>> 20) & 1) entries.remove(keyOf(i));
    });
    await entries.put(keyOf(pages), Buffer.alloc(30_000));
    const before = bytesWritten();
    const commits = 50;
    for (let i = 0; i < commits; i++) await entries.put(keyOf(i), Buffer.alloc(200, i));
    const perCommit = (bytesWritten() - before) / commits;
    assert.ok(perCommit < 40_000, `${perCommit} bytes a commit`);
  });
});

it('rows of all sizes that come and go stay whole, and their room is used again', async () => {
  await withTables(async ({ root, entries }, file) => {
    const random = seededRandom(4);
    const below = (end: number) => Math.floor(random.next() * end);
    const sizes = new Map<number, number>();
    let next = 0;
    let most = 0;
    for (let round = 0; round < 600; round++) {
      await root.transaction(() => {
        for (let change = below(round % 20 === 0 ? 2_000 : 40); change >= 0; change--) {
          const isNew = sizes.size < 2_000 || random.next() < 0.5;
          const number = isNew ? next++ : [...sizes.keys()][below(30)]!;
          const size = below(random.next() < 0.02 ? 60_000 : random.next() < 0.2 ? 4_000 : 300);
          if (isNew) sizes.set(number, size);
          else sizes.delete(number);
          if (isNew) entries.put(keyOf(number), Buffer.alloc(size, number));
          else entries.remove(keyOf(number));
        }
      });
      const live = [...sizes.values()].reduce((sum, size) => sum + size + 100, 0);
      most = Math.max(most, live);
    }
    root.resetReadTxn();
    const found = [...entries.getRange()];
    assert.equal(found.length, sizes.size);
    for (const { key, value } of found) {
      const number = Buffer.from(key).readUInt32BE(4);
      assert.ok(value.equals(Buffer.alloc(sizes.get(number)!, number)), `row ${number}`);
    }
    assert.ok(statSync(file).size < 4 * most, `${statSync(file).size} bytes for ${most}`);
  });
});
