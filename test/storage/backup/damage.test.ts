/** A backup that is not byte by byte what was written is refused with a line that says what is wrong. */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { after, before, it } from 'node:test';
import { systemClock } from '../../../src/core/clock.ts';
import { OperatorError } from '../../../src/core/errors.ts';
import { seededRandom } from '../../../src/core/random.ts';
import { makeBackup } from '../../../src/storage/backup/make.ts';
import { checkBackup, restoreRows } from '../../../src/storage/backup/restore.ts';
import { scratchKey, u32 } from '../../../src/storage/keys.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';
import { open } from '../lmdb-opener.ts';

const directory = makeTempDir('backup-damage');
const path = `${directory.path}/store`;
const clock = systemClock();
const random = seededRandom(41);
const words = 'correct horse battery';
const mark = 'portcullis backup\n'.length;
const secret = 'a comment of a person';

let plain: Buffer;
let sealed: Buffer;

before(async () => {
  const store = await open(path, clock);
  for (let n = 0; n < 3; n++) {
    await store.commit({
      set: [
        { key: scratchKey(u32(2 * n)), value: random.bytes(600_000) },
        { key: scratchKey(u32(2 * n + 1)), value: Buffer.from(secret) },
      ],
    });
  }
  await store.close();
  plain = await backupBytes('plain', undefined);
  sealed = await backupBytes('sealed', words);
});
after(() => directory.remove());

async function backupBytes(name: string, passphrase: string | undefined): Promise<Buffer> {
  const target = `${directory.path}/${name}.backup`;
  const masterKey = Buffer.alloc(32, 7);
  await makeBackup({ path, target, clock, random, passphrase, masterKey, scryptN: 1_024 });
  return readFileSync(target);
}

async function check(bytes: Buffer, passphrase: string | undefined = words) {
  const file = `${directory.path}/changed.backup`;
  writeFileSync(file, bytes);
  return checkBackup({ path: file, passphrase: async () => passphrase });
}

async function refused(bytes: Buffer, line: RegExp, passphrase?: string): Promise<void> {
  await assert.rejects(check(bytes, passphrase), (error: Error) => {
    assert.ok(error instanceof OperatorError, `no stack for an operator: ${error.stack}`);
    assert.match(error.message, line);
    return true;
  });
}

/** Where each block begins, and behind them the end of the file. */
function blocksOf(bytes: Buffer): number[] {
  const starts = [mark + 2 + bytes.readUInt16BE(mark) + 32];
  while (starts.at(-1)! < bytes.length) {
    starts.push(starts.at(-1)! + 4 + bytes.readUInt32BE(starts.at(-1)!));
  }
  return starts;
}

function flipped(bytes: Buffer, at: number): Buffer {
  const changed = Buffer.from(bytes);
  changed[at]! ^= 0x10;
  return changed;
}

it('whole, both kinds are right; the key is in the encrypted one alone, and no text of it can be read', async () => {
  assert.equal((await check(plain)).about.masterKey, undefined);
  assert.equal((await check(sealed)).about.masterKey, '07'.repeat(32));
  assert.equal((await check(sealed)).rows, (await check(plain)).rows);
  for (const telling of [secret, 'createdAt', 'masterKey']) assert.ok(!sealed.includes(telling));
});

it('a changed byte anywhere is found', async () => {
  const starts = blocksOf(plain);
  assert.ok(starts.length > 4, `blocks: ${starts}`);
  await refused(flipped(plain, 3), /is not a backup/);
  await refused(flipped(plain, mark + 5), /damaged: its header/);
  await refused(flipped(plain, starts[0]! - 1), /damaged: its header/);
  await refused(flipped(plain, starts[1]!), /damaged: block 2/);
  await refused(flipped(plain, starts[1]! + 3), /damaged: block 2|cut short/);
  await refused(flipped(plain, starts[2]! + 500), /damaged: block 3/);
  await refused(flipped(plain, plain.length - 1), /damaged: block/);
  for (let n = 0; n < 60; n++) {
    const at = Math.floor(random.next() * plain.length);
    await refused(flipped(plain, at), /damaged|cut short|not a backup/);
  }
  const own = blocksOf(sealed);
  await refused(flipped(sealed, own[1]! + 500), /damaged: block 2/);
  await refused(flipped(sealed, sealed.length - 1), /damaged: block/);
});

it('a file that was cut, or goes on, is found', async () => {
  for (const bytes of [plain, sealed]) {
    const starts = blocksOf(bytes);
    await refused(bytes.subarray(0, 4), /is not a backup/);
    await refused(bytes.subarray(0, mark + 20), /cut short/);
    await refused(bytes.subarray(0, starts[0]!), /cut short/);
    await refused(bytes.subarray(0, starts[1]! + 2), /cut short/);
    await refused(bytes.subarray(0, starts[2]! - 9), /cut short/);
    // Between two blocks, where nothing but the mark of the last one tells.
    await refused(bytes.subarray(0, starts[2]!), /cut short: it ends with block 2/);
    await refused(bytes.subarray(0, bytes.length - 1), /cut short/);
    await refused(Buffer.concat([bytes, Buffer.alloc(40)]), /bytes behind|damaged/);
  }
});

it('blocks that were swapped, repeated, left out or taken from another backup are found', async () => {
  for (const [bytes, passphrase] of [
    [plain, undefined],
    [sealed, words],
  ] as const) {
    const starts = blocksOf(bytes);
    const head = bytes.subarray(0, starts[0]!);
    const blocks = starts.slice(1).map((end, n) => bytes.subarray(starts[n]!, end));
    const [first, second, third, ...rest] = blocks;
    await refused(Buffer.concat([head, first!, third!, second!, ...rest]), /damaged: block 2/);
    await refused(Buffer.concat([head, first!, second!, second!, third!, ...rest]), /block 3/);
    await refused(Buffer.concat([head, first!, third!, ...rest]), /damaged: block 2/);
    const other = await backupBytes(`other-${passphrase === undefined}`, passphrase);
    const [from, to] = blocksOf(other).slice(1);
    const foreign = other.subarray(from!, to!);
    await refused(Buffer.concat([head, first!, foreign, third!, ...rest]), /damaged: block 2/);
  }
});

it('another passphrase, or none, opens nothing; nothing is written for either', async () => {
  await refused(sealed, /the passphrase is not the one of this backup/, 'correct horse batterx');
  const file = `${directory.path}/sealed.backup`;
  const target = `${directory.path}/none`;
  await assert.rejects(
    restoreRows({ path: file, passphrase: async () => undefined }, target, () => undefined),
    /encrypted: give --passphrase-file/,
  );
  assert.equal(existsSync(target), false);
});

it('a file that others made up is refused in one line and takes no memory', async () => {
  const base = {
    cipher: 'aes-256-gcm',
    kdf: 'scrypt',
    N: 1_024,
    r: 8,
    p: 1,
    salt: 'a',
    check: 'a',
  };
  const headers = [
    '{',
    ...[{ N: 2 ** 20 }, { N: 1_023 }, { N: 1 }, { r: 16 }, { p: 2 }].map((cost) =>
      JSON.stringify({ version: 1, file: 'a', encryption: { ...base, ...cost } }),
    ),
  ];
  for (const json of headers) {
    const length = Buffer.of(0, json.length);
    const head = Buffer.concat([plain.subarray(0, mark), length, Buffer.from(json)]);
    const digest = createHash('sha256').update(head).digest();
    await refused(Buffer.concat([head, digest]), /newer version/);
  }
});
