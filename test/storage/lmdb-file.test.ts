/** What is told of a store's file before LMDB maps it, compared with LMDB's own figures. */

import assert from 'node:assert/strict';
import {
  copyFileSync,
  mkdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { it } from 'node:test';
import { open } from 'lmdb';
import { OperatorError } from '../../src/core/errors.ts';
import { openTables } from '../../src/storage/lmdb/environment.ts';
import { type FileState, stateOfFile } from '../../src/storage/lmdb/file.ts';
import { startChild } from '../support/server/child.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';

const pageSize = 4_096;
/** Of a store that another process fills while it is looked at. */
const grownBytes = 1_500_000;

/** Grows and shrinks it, so that free pages lie at the end and in runs and gaps. */
async function fill(path: string, rounds: number, seed: number): Promise<{ lastPage: number }> {
  const root = open<Buffer, string>({ path, noSubdir: false, encoding: 'binary' });
  let state = seed;
  const random = (below: number) => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state % below;
  };
  for (let round = 0; round < rounds; round++) {
    await root.transaction(() => {
      const count = 1 + random(400);
      for (let n = 0; n < count; n++) {
        const key = `key ${random(2_000)}`;
        if (random(3) === 0) root.remove(key);
        else root.put(key, Buffer.alloc(random(10) === 0 ? 9_000 : random(300), round));
      }
    });
  }
  const { lastPageNumber } = root.getStats() as { lastPageNumber: number };
  await root.close();
  return { lastPage: lastPageNumber };
}

const stateOf = (bytes: Buffer | string, name: string, folder: string): FileState => {
  const file = `${folder}/${name}`;
  writeFileSync(file, bytes);
  return stateOfFile(file);
};

it('a store of any history is whole, and a part of it is cut', async () => {
  const directory = makeTempDir('file');
  try {
    for (let seed = 1; seed <= 6; seed++) {
      const path = `${directory.path}/${seed}`;
      const { lastPage } = await fill(path, 5 + seed * 4, seed);
      assert.deepEqual(stateOfFile(`${path}/data.mdb`), { kind: 'whole' }, `seed ${seed}`);
      // Half, one in a hundred, and far behind the pages that are in use.
      for (const share of [0.02, 0.5, 0.8]) {
        const copy = `${directory.path}/${seed}-${share}.mdb`;
        copyFileSync(`${path}/data.mdb`, copy);
        const pages = Math.max(2, Math.floor((lastPage + 1) * share));
        truncateSync(copy, pages * pageSize + 17);
        assert.deepEqual(stateOfFile(copy), { kind: 'cut', pages, expected: lastPage + 1 });
      }
    }
  } finally {
    directory.remove();
  }
});

it('pages that are free and were never written need not be there', async () => {
  const directory = makeTempDir('file');
  try {
    const path = `${directory.path}/store`;
    const root = open<Buffer, string>({ path, noSubdir: false, encoding: 'binary' });
    await root.put('first', Buffer.alloc(10));
    for (let n = 0; n < 3_000; n++) root.put(`key ${n}`, Buffer.alloc(200));
    await root.flushed;
    for (let n = 100; n < 3_000; n++) root.remove(`key ${n}`);
    await root.flushed;
    // Twice more: pages of the last transaction but one become free.
    for (const n of [1, 2]) await root.put('first', Buffer.alloc(10 + n));
    const { lastPageNumber } = root.getStats() as { lastPageNumber: number };
    await root.close();
    const file = `${path}/data.mdb`;
    let whole = 0;
    for (let pages = lastPageNumber; pages > lastPageNumber - 50; pages--) {
      truncateSync(file, pages * pageSize);
      if (stateOfFile(file).kind !== 'whole') break;
      whole += 1;
    }
    assert.ok(whole > 0, 'no page at the end was free');
  } finally {
    directory.remove();
  }
});

it('a store that another process makes and fills is never taken for a cut one', async () => {
  const directory = makeTempDir('file');
  try {
    for (let round = 0; round < 4; round++) {
      const path = `${directory.path}/${round}`;
      const file = `${path}/data.mdb`;
      const writer = startChild(new URL('./crash-child.js', import.meta.url), [path, `${round}`]);
      try {
        for (let looks = 0; (statSync(file, { throwIfNoEntry: false })?.size ?? 0) < grownBytes; ) {
          const { kind } = stateOfFile(file);
          assert.ok(kind !== 'cut' && kind !== 'strange', `${kind} at look ${looks}`);
          if (looks++ % 8 === 0) await new Promise(setImmediate);
        }
      } finally {
        writer.process.kill('SIGKILL');
        await writer.ended;
      }
    }
  } finally {
    directory.remove();
  }
});

it('what is no store is strange, and nothing of it is mapped', async () => {
  const directory = makeTempDir('file');
  try {
    const path = `${directory.path}/store`;
    await fill(path, 10, 3);
    const folder = directory.path;
    assert.deepEqual(stateOfFile(`${folder}/none.mdb`), { kind: 'missing' });
    assert.deepEqual(stateOf('', 'empty.mdb', folder), { kind: 'empty' });
    for (const [name, bytes] of Object.entries({
      text: 'not a store',
      zeros: Buffer.alloc(100 * pageSize),
      ones: Buffer.alloc(100 * pageSize, 0xff),
    })) {
      assert.deepEqual(stateOf(bytes, `${name}.mdb`, folder), { kind: 'strange' }, name);
      mkdirSync(`${folder}/${name}`);
      writeFileSync(`${folder}/${name}/data.mdb`, bytes);
      assert.throws(() => openTables(`${folder}/${name}`), OperatorError, name);
    }
    truncateSync(`${path}/data.mdb`, 100);
    assert.deepEqual(stateOfFile(`${path}/data.mdb`), { kind: 'strange' });
  } finally {
    directory.remove();
  }
});

/** Writes a node. */
type Put = (page: Buffer, at: number) => void;

it('a damaged tree of free pages is told of, whatever it holds', async () => {
  const directory = makeTempDir('file');
  try {
    await fill(`${directory.path}/store`, 10, 5);
    const whole = readFileSync(`${directory.path}/store/data.mdb`);
    const metas = [24, pageSize + 24];
    const newest = metas.reduce((a, b) =>
      whole.readBigUInt64LE(a + 128) > whole.readBigUInt64LE(b + 128) ? a : b,
    );
    const root = Number(whole.readBigUInt64LE(newest + 64));
    const pages = whole.length / pageSize;
    /** Promises more pages than there are, and makes the root a page of so many nodes. */
    function damaged(more: number, flags: number, nodes: number, put: Put): FileState {
      const bytes = Buffer.from(whole);
      for (const meta of metas) bytes.writeBigUInt64LE(BigInt(pages - 1 + more), meta + 120);
      const page = bytes.subarray(root * pageSize, (root + 1) * pageSize);
      page.writeUInt16LE(flags, 18);
      page.writeUInt16LE(2 * nodes, 20);
      for (let n = 0; n < nodes; n++) page.writeUInt16LE(3_000 - 24, 24 + 2 * n);
      page.fill(0, 3_000, 3_040);
      put(page, 3_000);
      return stateOf(bytes, 'damaged.mdb', directory.path);
    }
    const [branch, leaf, isBig] = [1, 2, 1];
    const cases: [more: number, flags: number, nodes: number, put: Put][] = [
      // Leads back to itself; to a page that no file can have; a list longer than memory; one without end.
      [9, branch, 1_000, (page, at) => page.writeUIntLE(root, at, 6)],
      [2 ** 52, branch, 1, (page, at) => page.writeUIntLE(2 ** 48 - 1, at, 6)],
      [
        2 ** 22,
        leaf,
        1,
        (page, at) => {
          page.writeUInt32LE(0xffff_f000, at);
          page.writeUInt16LE(isBig, at + 4);
          page.writeBigUInt64LE(2n, at + 8);
        },
      ],
      [
        2 ** 40,
        leaf,
        1,
        (page, at) => {
          page.writeUInt32LE(24, at);
          page.writeBigInt64LE(-(2n ** 39n), at + 16);
          page.writeBigInt64LE(5n, at + 24);
        },
      ],
    ];
    for (const [more, flags, nodes, put] of cases) {
      const expected = { kind: 'cut', pages, expected: pages + more };
      assert.deepEqual(damaged(more, flags, nodes, put), expected);
    }
  } finally {
    directory.remove();
  }
});
