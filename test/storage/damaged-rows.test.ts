/** Each changed bit of a row is noticed: a row alone is refused, a list goes on without it. */

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { it } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import { systemClock } from '../../src/core/clock.ts';
import { journalRowKey, scratchKey, text } from '../../src/storage/keys.ts';
import { openTables } from '../../src/storage/lmdb/environment.ts';
import { openLmdbStore } from '../../src/storage/lmdb/store.ts';
import type { Table } from '../../src/storage/lmdb/tables.ts';
import { decodeFrames, encodeFrames } from '../../src/storage/postgres/reads.ts';
import { crcOf, DamagedRowError, encodeEvent, isDamage } from '../../src/storage/rows.ts';
import type { Store, StoreEvent } from '../../src/storage/store.ts';
import { seededRandom } from '../support/seeded.ts';
import { memoryLog } from '../support/server/memory-log.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';

const own = scratchKey(text('b'));
const names = ['a', 'b', 'c'];
const value = Buffer.from('a comment that somebody wrote');

/** Runs with the row of `table` as `change` leaves it. */
async function withRow(
  name: 'entries' | 'journal',
  key: Uint8Array,
  run: (
    change: (edit: (row: Buffer) => Buffer) => Promise<void>,
    store: Store,
    lines: readonly unknown[],
  ) => Promise<void>,
): Promise<void> {
  const directory = makeTempDir('rows');
  const path = `${directory.path}/store`;
  const { log, lines } = memoryLog();
  const store = openLmdbStore({ path, clock: systemClock(), log });
  const expiresAt = Date.now() + 3_600_000;
  const set = names.map((part) => ({ key: scratchKey(text(part)), value, expiresAt }));
  const event = { id: 'one', kind: 'test.happened', version: 1, body: value };
  assert.ok((await store.commit({ set, events: [event] })).ok);
  // The tables are opened behind the commit: their first look stays the same for a millisecond.
  const tables = openTables(path);
  try {
    const table: Table = tables[name];
    const whole = Buffer.from(table.get(key)!);
    const change = async (edit: (row: Buffer) => Buffer) => {
      await table.put(key, edit(Buffer.from(whole)));
      // The store's last look stays the same until its own timer of a millisecond.
      await setTimeout(1);
    };
    await run(change, store, lines);
  } finally {
    await store.close();
    await tables.root.close();
    directory.remove();
  }
}

function flipped(row: Buffer, bit: number): Buffer {
  row[bit >> 3]! ^= 1 << (bit & 7);
  return row;
}

it('an entry with any one bit changed, cut or under another key is refused', async () => {
  await withRow('entries', own, async (change, store, lines) => {
    const bits = 8 * (12 + value.length + 4);
    for (let bit = 0; bit < bits; bit++) {
      await change((row) => flipped(row, bit));
      await assert.rejects(store.get(own), DamagedRowError, `bit ${bit}`);
    }
    const page = await store.scan(scratchKey(), { limit: 10 });
    assert.deepEqual(
      page.map(({ key }) => Buffer.from(key).toString('hex')),
      ['a', 'c'].map((part) => Buffer.from(scratchKey(text(part))).toString('hex')),
    );
    await store.scan(scratchKey(), { limit: 10 });
    assert.equal(lines.length, 1, 'once for each row');
    assert.match(JSON.stringify(lines), /a damaged row is left out/);
    for (const length of [0, 3, 11, 12, 15, 20]) {
      await change((row) => row.subarray(0, length));
      await assert.rejects(store.get(own), DamagedRowError, `${length} bytes`);
    }
    // Whole, but of another row.
    await change((row) => row);
    assert.deepEqual(Buffer.from((await store.get(own))!.value), value);
    const other = Buffer.from((await store.get(scratchKey(text('a'))))!.value);
    assert.deepEqual(other, value);
  });
});

it('an event with any one bit changed is refused', async () => {
  await withRow('journal', journalRowKey(1), async (change, store) => {
    const bits = 8 * (10 + 3 + 13 + value.length + 4);
    for (let bit = 0; bit < bits; bit++) {
      await change((row) => flipped(row, bit));
      await assert.rejects(store.read(0n, 10), DamagedRowError, `bit ${bit}`);
    }
    await change((row) => row);
    const [event] = await store.read(0n, 10);
    assert.deepEqual(Buffer.from(event!.body), value);
  });
});

it('a page that is lost is damage and no bug, and so is what the same look reads behind it', async () => {
  const directory = makeTempDir('rows');
  const path = `${directory.path}/store`;
  const { log } = memoryLog();
  const keys = Array.from({ length: 400 }, (_, i) => scratchKey(text(`row ${i}`)));
  const store = openLmdbStore({ path, clock: systemClock(), log });
  const set = keys.map((key) => ({ key, value }));
  assert.ok((await store.commit({ set })).ok);
  await store.close();
  const file = `${path}/data.mdb`;
  const bytes = readFileSync(file);
  for (let at = 0; at < bytes.length; at += 4_096) {
    const page = bytes.subarray(at, at + 4_096);
    const isBranch = page.includes('row ') && !page.includes(value);
    // Each of its nodes leads behind the end of the file.
    for (let i = 0; isBranch && i < page.readUInt16LE(20); i += 2) {
      page.writeUInt16LE(0x7fff, 24 + page.readUInt16LE(24 + i) + 2);
    }
  }
  writeFileSync(file, bytes);
  const damaged = openLmdbStore({ path, clock: systemClock(), log });
  try {
    const faults = new Set<string>();
    for (const found of await Promise.allSettled([
      damaged.scan(scratchKey(), { limit: 9 }),
      damaged.get(own),
    ])) {
      assert.ok(found.status === 'rejected');
      assert.ok(isDamage(found.reason), String(found.reason));
      faults.add(found.reason.message);
    }
    assert.match([...faults].join(), /MDB_BAD_TXN/);
  } finally {
    await damaged.close();
    directory.remove();
  }
});

it('an event that is missing, at the end of the journal too, is named and not waited for', async () => {
  const directory = makeTempDir('rows');
  const path = `${directory.path}/store`;
  const { log } = memoryLog();
  const store = openLmdbStore({ path, clock: systemClock(), log });
  const event = (id: string) => ({ id, kind: 'test.happened', version: 1, body: value });
  for (const id of names) assert.ok((await store.commit({ events: [event(id)] })).ok);
  const tables = openTables(path);
  const missing = (seq: number) => (error: Error) =>
    error instanceof DamagedRowError && error.message.endsWith(`${seq} of journal is missing`);
  try {
    await tables.journal.remove(journalRowKey(3));
    await setTimeout(1);
    assert.equal((await store.read(0n, 10)).length, 2);
    await assert.rejects(store.read(2n, 10), missing(3));
    await tables.journal.remove(journalRowKey(1));
    await setTimeout(1);
    await assert.rejects(store.read(0n, 10), missing(1));
  } finally {
    await store.close();
    await tables.root.close();
    directory.remove();
  }
});

it('a row of events of PostgreSQL that is cut anywhere, or goes on behind its end, is damaged', () => {
  const events = ['one', 'two'].map((id) =>
    encodeEvent({ id, kind: 'test.happened', version: 1, body: value }),
  );
  const frames = encodeFrames(events);
  const readOf = (bytes: Buffer) => {
    const read: StoreEvent[] = [];
    decodeFrames({ firstSeq: 4, lastSeq: 5, at: 1, frames: bytes }, 0n, 10, read);
    return read.map(({ id }) => id);
  };
  assert.deepEqual(readOf(frames), ['one', 'two']);
  for (let length = 0; length < frames.length; length++) {
    assert.throws(() => readOf(frames.subarray(0, length)), DamagedRowError, `${length} bytes`);
  }
  for (let more = 1; more < 9; more++) {
    const longer = Buffer.concat([frames, Buffer.alloc(more)]);
    assert.throws(() => readOf(longer), DamagedRowError, `${more} bytes more`);
  }
});

it('a row without the mark of a checksum is damaged', async () => {
  await withRow('entries', own, async (change, store) => {
    await change((row) => {
      const former = Buffer.from(row.subarray(0, row.length - 4));
      former[6]! &= 0x0f;
      return former;
    });
    await assert.rejects(store.get(own), DamagedRowError);
  });
});

it('the checksum is the CRC-32 of the key and the row, however long they are', () => {
  const random = seededRandom(9);
  for (let round = 0; round < 600; round++) {
    const key = random.bytes(round % 60);
    const row = Buffer.from(random.bytes(round));
    const expected = crc32(Buffer.concat([key, row.subarray(0, Math.max(0, round - 4))]));
    assert.equal(crcOf(key, row, Math.max(0, round - 4)), expected);
  }
});
