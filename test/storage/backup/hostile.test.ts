/** A backup that is packed right and whose contents are not is refused in words, and nothing is left of it. */

import assert from 'node:assert/strict';
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { after, it } from 'node:test';
import { systemClock } from '../../../src/core/clock.ts';
import { OperatorError } from '../../../src/core/errors.ts';
import { type BackupRow, encodeRows, type Part } from '../../../src/storage/backup/content.ts';
import { openBackup } from '../../../src/storage/backup/read.ts';
import {
  checkBackup,
  checkStore,
  restoreRows,
  restoreRefusalOf as toldOf,
} from '../../../src/storage/backup/restore.ts';
import { makeBackup } from '../../../src/storage/backup/write.ts';
import { createEventId } from '../../../src/storage/journal/define-event.ts';
import { scratchKey, u32 } from '../../../src/storage/keys.ts';
import { claimFile } from '../../../src/storage/lmdb/claim.ts';
import { seededRandom } from '../../support/seeded.ts';
import { runCli } from '../../support/server/server.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';
import { open } from '../lmdb-opener.ts';
import { aboutRecord, packedBackup } from './hostile.ts';

const directory = makeTempDir('hostile-backup');
const clock = systemClock();
const random = seededRandom(43);
const file = `${directory.path}/hostile.backup`;
const target = `${directory.path}/target`;
const batches: { part: Part; rows: BackupRow[] }[] = [];

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
const about = backup.about;
for await (const { part, rows } of backup.rows()) batches.push({ part, rows: [...rows] });
await backup.close();
after(() => directory.remove());

const source = { path: file, passphrase: async () => undefined };
const encoded = () => batches.map(({ part, rows }) => encodeRows(part, rows));
const count = (of: typeof batches) => of.reduce((sum, { rows }) => sum + rows.length, 0);

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

/** With one part's rows made others. */
function changed(part: Part, change: (rows: BackupRow[]) => BackupRow[]): Buffer {
  const next = batches.map((batch) =>
    batch.part === part ? { part, rows: change([...batch.rows]) } : batch,
  );
  return packedBackup(
    [aboutRecord(about), ...next.map(({ part: name, rows }) => encodeRows(name, rows))],
    count(next),
  );
}

it('what was not changed is taken', async () => {
  const there = batches.map(({ part }) => part);
  for (const name of ['entries', 'journal', 'eventIds'] as const) {
    assert.ok(there.includes(name), name);
  }
  const bytes = packedBackup([aboutRecord(about), ...encoded()], count(batches));
  assert.equal(await refusalOf(bytes), undefined);
});

it('an account of itself that is not true is refused', async () => {
  const whole = (other: object) =>
    packedBackup([aboutRecord({ ...about, ...other }), ...encoded()], count(batches));
  await refused(await whole({ seq: about.seq + 1 }), /journal ends at/);
  await refused(await whole({ prunedThrough: 2 }), /gap at|journal ends/);
  await refused(await whole({ dataFormat: 999 }), /data format 999/);
  await refused(await whole({ seq: -1 }), /does not know/);
  await refused(await whole({ identity: 'x' }), /does not know/);
  await refused(await whole({ rowsAbout: '1' }), /does not know/);
  await refused(packedBackup([Buffer.of(1)], 0), /does not know/);
  await refused(packedBackup([Buffer.from('\u0001[]')], 0), /does not know/);
  const all = [aboutRecord(about), ...encoded()];
  await refused(packedBackup(all, count(batches), { rows: 1, digest: '' }), /do not add up/);
  await refused(packedBackup(all, count(batches) + 1), /do not add up/);
  await refused(packedBackup(all, 0, {}), /does not know/);
});

it('rows that no store has are refused', async () => {
  const key = Buffer.from(scratchKey(u32(99)));
  const rowAt = (of: Buffer): BackupRow => ({ key: of, value: Buffer.of(1), number: 1, at: 0 });
  const with_ = (row: BackupRow) =>
    changed('entries', (rows) => [...rows, row].sort((a, b) => Buffer.compare(a.key, b.key)));
  await refused(with_(rowAt(Buffer.alloc(0))), /does not know/);
  await refused(with_(rowAt(Buffer.alloc(2_000, 0xf1))), /does not know/);
  await refused(with_(rowAt(Buffer.of(0xfe, 1))), /of no known kind/);
  await refused(with_({ ...rowAt(key), at: 2 ** 47 }), /can't be used/);
  // Pages of memory are not among the entries.
  await refused(with_(rowAt(Buffer.of(3, 0, 0, 0, 1))), /differs in projectionPage/);
  await refused(
    changed('entries', (rows) => rows.reverse()),
    /not in order/,
  );
  await refused(
    changed('entries', (rows) => [rows[0]!, ...rows]),
    /not in order/,
  );
  await refused(
    changed('journal', (rows) => rows.slice(1)),
    /gap at 1/,
  );
  for (const strange of [{ key: Buffer.of(1) }, { key: Buffer.alloc(8, 9) }, { number: 7 }]) {
    await refused(
      changed('journal', ([row]) => [{ ...row!, ...strange }]),
      /gap at 1/,
    );
  }
  await refused(
    changed('journal', (rows) => rows.map((row) => ({ ...row, value: Buffer.of(1) }))),
    /can't be used/,
  );
  await refused(packedBackup([aboutRecord(about), Buffer.of(2, 77)], 0), /does not know/);
  const cut = encodeRows('entries', [rowAt(key)]).subarray(0, -1);
  await refused(packedBackup([aboutRecord(about), cut], 1), /does not know/);
  const long = encodeRows('entries', [rowAt(key)]);
  long.writeUInt32BE(0xffff_fff0, 4);
  await refused(packedBackup([aboutRecord(about), long], 1), /does not know/);
});

it('a random change is refused in words or is none that a restore trips over', async () => {
  let taken = 0;
  for (let n = 0; n < 120; n++) {
    const contents = [aboutRecord(about), ...encoded()];
    const content = contents[Math.floor(random.next() * contents.length)]!;
    for (let k = 0; k < 1 + (n % 3); k++) {
      content[Math.floor(random.next() * content.length)] = Math.floor(random.next() * 256);
    }
    const error = await refusalOf(packedBackup(contents, count(batches)));
    if (error === undefined) taken += 1;
    else assert.ok(error instanceof OperatorError, `${n}: ${error.stack}`);
  }
  assert.ok(taken < 60, `${taken} of 120 were taken`);
});

it('the command says in one line what is wrong, and leaves nothing', async () => {
  const bad = [
    changed('journal', ([row]) => [{ ...row!, key: Buffer.of(1) }]),
    changed('entries', ([row]) => [{ ...row!, key: Buffer.of(0xfe, 1) }]),
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
