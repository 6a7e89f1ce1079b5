/** A backup whose seals are right and whose contents are not is refused in words, and nothing is left of it. */

import assert from 'node:assert/strict';
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { after, before, it } from 'node:test';
import { systemClock } from '../../../src/core/clock.ts';
import { OperatorError } from '../../../src/core/errors.ts';
import { seededRandom } from '../../../src/core/random.ts';
import { type About, encodeRows } from '../../../src/storage/backup/content.ts';
import { makeBackup } from '../../../src/storage/backup/make.ts';
import { openBackup } from '../../../src/storage/backup/read.ts';
import {
  checkBackup,
  checkStore,
  restoreRows,
  refusalOf as toldOf,
} from '../../../src/storage/backup/restore.ts';
import { claimFile } from '../../../src/storage/claim.ts';
import { createEventId } from '../../../src/storage/event-id.ts';
import { scratchKey, u32 } from '../../../src/storage/keys.ts';
import type { TableName } from '../../../src/storage/lmdb-tables.ts';
import { encodeEntry, sealEntry } from '../../../src/storage/rows.ts';
import type { RawRow } from '../../../src/storage/view.ts';
import { runCli } from '../../support/server/server.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';
import { open } from '../lmdb-opener.ts';
import { aboutBlock, sealedBackup } from './hostile.ts';

const directory = makeTempDir('hostile-backup');
const clock = systemClock();
const random = seededRandom(43);
const file = `${directory.path}/hostile.backup`;
const target = `${directory.path}/target`;
const blocks: { table: TableName; rows: RawRow[] }[] = [];
let about: About;

before(async () => {
  const path = `${directory.path}/store`;
  const store = await open(path, clock);
  for (let n = 0; n < 5; n++) {
    const id = createEventId(clock, random);
    await store.commit({
      set: [{ key: scratchKey(u32(n)), value: random.bytes(50) }],
      events: [{ id, kind: 'test', version: 1, body: random.bytes(20) }],
    });
  }
  await store.close();
  await makeBackup({ path, target: file, clock, random });
  const backup = await openBackup({ path: file, passphrase: async () => undefined });
  about = backup.about;
  for await (const { table, rows } of backup.rows()) blocks.push({ table, rows: [...rows] });
  await backup.close();
});
after(() => directory.remove());

const source = { path: file, passphrase: async () => undefined };
const encoded = () => blocks.map(({ table, rows }) => encodeRows(table, rows));
const count = (of: typeof blocks) => of.reduce((sum, { rows }) => sum + rows.length, 0);

/** As a restore goes on. @returns undefined when all of it was taken */
async function refusalOf(bytes: Buffer): Promise<Error | undefined> {
  writeFileSync(file, bytes);
  try {
    await checkBackup(source);
    await restoreRows(source, target, () => undefined);
    await checkStore(target);
    return undefined;
  } catch (error) {
    return toldOf(error) as Error;
  } finally {
    rmSync(target, { recursive: true, force: true });
  }
}

async function refused(bytes: Buffer, line: RegExp): Promise<void> {
  const error = await refusalOf(bytes);
  assert.ok(error instanceof OperatorError, `no fault of ours: ${error?.stack}`);
  assert.match(error.message, line);
}

/** With one table's rows made others. */
function changed(table: TableName, change: (rows: RawRow[]) => RawRow[]): Promise<Buffer> {
  const next = blocks.map((block) =>
    block.table === table ? { table, rows: change([...block.rows]) } : block,
  );
  return sealedBackup(
    [aboutBlock(about), ...next.map(({ table: name, rows }) => encodeRows(name, rows))],
    count(next),
  );
}

it('what was not changed is taken', async () => {
  const tables = blocks.map(({ table }) => table);
  for (const name of ['entries', 'journal', 'meta'] as const)
    assert.ok(tables.includes(name), name);
  assert.equal(
    await refusalOf(await sealedBackup([aboutBlock(about), ...encoded()], count(blocks))),
    undefined,
  );
});

it('an account of itself that is not true is refused', async () => {
  const whole = (other: object) =>
    sealedBackup([aboutBlock({ ...about, ...other }), ...encoded()], count(blocks));
  await refused(await whole({ seq: about.seq + 1 }), /journal ends at/);
  await refused(await whole({ prunedThrough: 2 }), /gap at|journal ends/);
  await refused(await whole({ dataFormat: 999 }), /data format 999/);
  await refused(await whole({ seq: -1 }), /does not know/);
  await refused(await whole({ identity: 'x' }), /does not know/);
  await refused(await whole({ rowsAbout: '1' }), /does not know/);
  await refused(await sealedBackup([Buffer.of(1)], 0), /does not know/);
  await refused(await sealedBackup([Buffer.from('\u0001[]')], 0), /does not know/);
  const all = [aboutBlock(about), ...encoded()];
  await refused(await sealedBackup(all, count(blocks), { rows: 1, digest: '' }), /do not add up/);
  await refused(await sealedBackup(all, count(blocks) + 1), /do not add up/);
  await refused(await sealedBackup(all, 0, {}), /does not know/);
});

it('rows that no store has are refused', async () => {
  const key = Buffer.from(scratchKey(u32(99)));
  const sealed = (of: Buffer) => {
    const value = encodeEntry(Buffer.from('x'), 0);
    sealEntry(value, of, 1);
    return { key: of, value };
  };
  const last = (rows: RawRow[], row: RawRow) =>
    [...rows, row].sort((a, b) => Buffer.compare(a.key, b.key));
  const with_ = (row: RawRow) => changed('entries', (rows) => last(rows, row));
  await refused(await with_({ key: Buffer.alloc(0), value: key }), /does not know/);
  await refused(await with_(sealed(Buffer.alloc(2_000, 0xf1))), /does not know/);
  await refused(await with_(sealed(Buffer.of(0xfe, 1))), /of no known kind/);
  await refused(await with_({ key, value: Buffer.of(1) }), /is damaged/);
  await refused(
    await with_({ ...sealed(key), key: Buffer.from(scratchKey(u32(98))) }),
    /is damaged/,
  );
  await refused(await changed('entries', (rows) => rows.reverse()), /not in order/);
  await refused(await changed('entries', (rows) => [rows[0]!, ...rows]), /not in order/);
  await refused(await changed('journal', (rows) => rows.slice(1)), /gap at 1/);
  await refused(await changed('journal', ([row]) => [{ ...row!, key: Buffer.of(1) }]), /./);
  await refused(
    await changed('meta', (rows) => rows.map((row) => ({ ...row, value: Buffer.of(1) }))),
    /./,
  );
  await refused(await changed('meta', () => []), /./);
  const strange = Buffer.concat([Buffer.of(2, 77)]);
  await refused(await sealedBackup([aboutBlock(about), strange], 0), /does not know/);
  const cut = encodeRows('entries', [sealed(key)]).subarray(0, -3);
  await refused(await sealedBackup([aboutBlock(about), cut], 1), /does not know/);
  const long = encodeRows('entries', [sealed(key)]);
  long.writeUInt32BE(0xffff_fff0, 4);
  await refused(await sealedBackup([aboutBlock(about), long], 1), /does not know/);
});

it('a random change is refused in words or is none that a restore trips over', async () => {
  let taken = 0;
  for (let n = 0; n < 120; n++) {
    const contents = [aboutBlock(about), ...encoded()];
    const content = contents[Math.floor(random.next() * contents.length)]!;
    for (let k = 0; k < 1 + (n % 3); k++) {
      content[Math.floor(random.next() * content.length)] = Math.floor(random.next() * 256);
    }
    const error = await refusalOf(await sealedBackup(contents, count(blocks)));
    if (error === undefined) taken += 1;
    else assert.ok(error instanceof OperatorError, `${n}: ${error.stack}`);
  }
  assert.ok(taken < 60, `${taken} of 120 were taken`);
});

it('the command says in one line what is wrong, and leaves nothing', async () => {
  const bad = [
    await changed('meta', (rows) => rows.map((row) => ({ ...row, value: Buffer.of(1) }))),
    await changed('journal', ([row]) => [{ ...row!, key: Buffer.of(1) }]),
  ];
  for (const bytes of bad) {
    writeFileSync(file, bytes);
    const dataDir = `${directory.path}/data`;
    const done = await runCli(['restore', file, '--json'], { DATA_DIR: dataDir });
    assert.equal(done.code, 1);
    assert.match(done.stderr, /^portcullis: the .*\n$/, done.stderr);
    const left = existsSync(dataDir) ? readdirSync(dataDir) : [];
    // The next one claims it again.
    assert.deepEqual(
      left.filter((name) => name !== claimFile),
      [],
    );
  }
});
