/** A backup that is not byte by byte what was written is refused with a line that says what is wrong. */

import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { after, it } from 'node:test';
import { gunzipSync, gzipSync } from 'node:zlib';
import { generateIdentity, identityToRecipient } from 'age-encryption';
import { systemClock } from '../../../src/core/clock.ts';
import { OperatorError } from '../../../src/core/errors.ts';
import { readIdentities } from '../../../src/storage/backup/age.ts';
import { backupMagic } from '../../../src/storage/backup/content.ts';
import { checkBackup, restoreRows } from '../../../src/storage/backup/restore.ts';
import { makeBackup } from '../../../src/storage/backup/write.ts';
import { scratchKey, u32 } from '../../../src/storage/keys.ts';
import { seededRandom } from '../../support/seeded.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';
import { open } from '../lmdb-opener.ts';

const directory = makeTempDir('backup-damage');
const path = `${directory.path}/store`;
const clock = systemClock();
const random = seededRandom(41);
const words = 'correct horse battery';
const secret = 'a comment of a person';
/** A chunk of the age format, sealed. */
const chunkBytes = 64 * 1024 + 16;

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
const identity = await generateIdentity();
const others = await identityToRecipient(await generateIdentity());
const plain = await backupBytes('plain', {});
const sealed = await backupBytes('sealed', { passphrase: words });
/** To a public key. */
const keyed = await backupBytes('keyed', {
  recipients: [others, await identityToRecipient(identity)],
});
after(() => directory.remove());

async function backupBytes(name: string, sealing: object): Promise<Buffer> {
  const target = `${directory.path}/${name}.backup`;
  const masterKey = Buffer.alloc(32, 7);
  await makeBackup({ path, target, clock, random, ...sealing, masterKey, workFactor: 10 });
  return readFileSync(target);
}

async function check(bytes: Buffer, passphrase: string | undefined = words, own = [identity]) {
  const file = `${directory.path}/changed.backup`;
  writeFileSync(file, bytes);
  return checkBackup({ path: file, passphrase: async () => passphrase, identities: own });
}

async function refused(
  bytes: Buffer,
  line: RegExp,
  passphrase?: string,
  own?: string[],
): Promise<void> {
  await assert.rejects(check(bytes, passphrase, own), (error: Error) => {
    assert.ok(error instanceof OperatorError, `no stack for an operator: ${error.stack}`);
    assert.match(error.message, line);
    return true;
  });
}

/** Where the first chunk of a sealed one begins. */
function headEnd(bytes: Buffer): number {
  return bytes.indexOf('\n', bytes.indexOf('\n---') + 1) + 1 + 16;
}

function flipped(bytes: Buffer, at: number): Buffer {
  const changed = Buffer.from(bytes);
  changed[at]! ^= 0x10;
  return changed;
}

it('whole, all kinds are right; the key is in the encrypted ones alone, and no text of them can be read', async () => {
  const open = await check(plain);
  assert.equal(open.about.masterKey, undefined);
  assert.equal(open.sealedWith, undefined);
  for (const [bytes, kind] of [
    [sealed, 'passphrase'],
    [keyed, 'public key'],
  ] as const) {
    const found = await check(bytes);
    assert.equal(found.about.masterKey, '07'.repeat(32));
    assert.deepEqual([found.rows, found.sealedWith], [open.rows, kind]);
    for (const readable of [secret, 'createdAt', 'masterKey']) {
      assert.ok(!bytes.includes(readable), readable);
    }
    assert.equal(bytes.toString('latin1', 0, 22), 'age-encryption.org/v1\n');
  }
  const content = gunzipSync(plain);
  assert.ok(content.subarray(0, backupMagic.length).equals(backupMagic));
  assert.ok(content.includes(secret));
});

it('a changed byte anywhere is found', async () => {
  await refused(flipped(plain, 0), /is not a backup/);
  await refused(flipped(plain, 5_000), /damaged/);
  await refused(flipped(plain, plain.length - 1), /damaged/);
  await refused(flipped(plain, plain.length - 8), /damaged/);
  for (let n = 0; n < 40; n++) {
    // Flags, time and system in the head of gzip say nothing of the content.
    const at = 10 + Math.floor(random.next() * (plain.length - 10));
    await refused(flipped(plain, at), /damaged|cut short|not a backup|does not know/);
  }
  for (const bytes of [sealed, keyed]) {
    const start = headEnd(bytes);
    assert.ok(bytes.length > start + 8 * chunkBytes, `${bytes.length} bytes`);
    await refused(flipped(bytes, 3), /is not a backup/);
    await refused(flipped(bytes, bytes.indexOf('\n---') + 20), /damaged: its header/);
    await refused(flipped(bytes, start), new RegExp(`damaged: .* behind byte ${start}$`));
    const third = start + 2 * chunkBytes;
    const near = `(${third - chunkBytes}|${third})`;
    await refused(flipped(bytes, third + 500), new RegExp(`damaged: .* behind byte ${near}$`));
    await refused(flipped(bytes, bytes.length - 1), /cut short, or damaged at its end/);
    for (let n = 0; n < 10; n++) {
      const at = Math.floor(random.next() * bytes.length);
      await refused(flipped(bytes, at), /damaged|cut short|not a backup|passphrase|public keys/);
    }
  }
});

it('a file that was cut, or goes on, is found', async () => {
  await refused(plain.subarray(0, 1), /is not a backup/);
  await refused(plain.subarray(0, 4), /cut short/);
  await refused(plain.subarray(0, 40_000), /cut short/);
  await refused(plain.subarray(0, plain.length - 1), /cut short/);
  await refused(Buffer.concat([plain, Buffer.alloc(40)]), /bytes behind its last record/);
  await refused(Buffer.concat([plain, random.bytes(2_000_000)]), /damaged/);
  await refused(Buffer.concat([plain, gzipSync('more')]), /damaged|cut short/);
  // Between two records, where nothing but the end tells.
  const content = gunzipSync(plain);
  const first = backupMagic.length + 4 + content.readUInt32BE(backupMagic.length);
  await refused(gzipSync(content.subarray(0, first)), /cut short: its end is missing/);
  await refused(gzipSync(content.subarray(0, first + 2)), /cut short: its end is missing/);
  for (const bytes of [sealed, keyed]) {
    const start = headEnd(bytes);
    await refused(bytes.subarray(0, 4), /is not a backup/);
    await refused(bytes.subarray(0, 60), /cut short: its header/);
    await refused(bytes.subarray(0, start - 4), /damaged: its header|cut short/);
    await refused(bytes.subarray(0, start + 2 * chunkBytes - 9), /cut short/);
    // Between two chunks.
    await refused(bytes.subarray(0, start + 2 * chunkBytes), /cut short/);
    await refused(bytes.subarray(0, bytes.length - 1), /cut short/);
    await refused(Buffer.concat([bytes, Buffer.alloc(40)]), /cut short, or damaged at its end/);
  }
});

it('parts that were swapped, repeated, left out or taken from another backup are found', async () => {
  for (const [bytes, sealing] of [
    [sealed, { passphrase: words }],
    [keyed, { recipients: [await identityToRecipient(identity)] }],
  ] as const) {
    const start = headEnd(bytes);
    const chunk = (of: Buffer, n: number) => {
      const from = headEnd(of) + n * chunkBytes;
      return of.subarray(from, from + chunkBytes);
    };
    const [head, rest] = [bytes.subarray(0, start), bytes.subarray(start + 3 * chunkBytes)];
    const [first, second, third] = [0, 1, 2].map((n) => chunk(bytes, n)) as [
      Buffer,
      Buffer,
      Buffer,
    ];
    const other = await backupBytes(`other-${start}`, sealing);
    for (const chunks of [
      [first, third, second],
      [first, second, second, third],
      [first, third],
      [first, chunk(other, 1), third],
    ]) {
      await refused(Buffer.concat([head, ...chunks, rest]), /damaged: .* behind byte \d+$/);
    }
  }
  // Records of an unencrypted one, packed anew: the digest at the end is another one.
  const content = gunzipSync(plain);
  const starts = [backupMagic.length];
  while (starts.at(-1)! < content.length) {
    starts.push(starts.at(-1)! + 4 + content.readUInt32BE(starts.at(-1)!));
  }
  const records = starts.slice(1).map((end, n) => content.subarray(starts[n]!, end));
  assert.ok(records.length > 3, `${records.length} records`);
  const [about, entries, ...more] = records as [Buffer, Buffer, ...Buffer[]];
  const packed = (of: Buffer[]) => gzipSync(Buffer.concat([backupMagic, ...of]));
  await check(packed(records));
  await refused(packed([about, ...more]), /do not add up/);
  await refused(packed([about, entries, entries, ...more]), /not in order|do not add up/);
});

it('another passphrase or key, or none, opens nothing; nothing is written for any', async () => {
  await refused(sealed, /the passphrase is not the one of this backup/, 'correct horse batterx');
  const other = await generateIdentity();
  await refused(keyed, /encrypted to other public keys/, undefined, [other]);
  await refused(keyed, /encrypted to a public key: name the file .* --identity/, undefined, []);
  assert.equal((await check(keyed, undefined, [other, identity])).sealedWith, 'public key');
  const file = `${directory.path}/sealed.backup`;
  const target = `${directory.path}/none`;
  await assert.rejects(
    restoreRows({ path: file, passphrase: async () => undefined }, target, () => undefined),
    /encrypted: give --passphrase-file/,
  );
  assert.equal(existsSync(target), false);
});

it('a passphrase opens in both spellings of its accents', async () => {
  const typed = 'déjà vu à Paris'.normalize('NFD');
  const bytes = await backupBytes('accents', { passphrase: typed });
  for (const form of ['NFC', 'NFD']) await check(bytes, typed.normalize(form));
});

it('a file that others made up is refused in one line and takes no memory', async () => {
  const mark = 'age-encryption.org/v1\n';
  const mac = `--- ${'A'.repeat(43)}\n`;
  const body = `${'A'.repeat(43)}\n`;
  for (const header of [
    `${mark}${mac}`,
    `${mark}-> scrypt ${'A'.repeat(22)} 25\n${body}${mac}`,
    `${mark}-> scrypt ${'A'.repeat(22)} x\n${body}${mac}`,
    `${mark}-> scrypt ${'A'.repeat(22)} 10\n${body}-> scrypt ${'A'.repeat(22)} 10\n${body}${mac}`,
    `${mark}-> X25519 A\n${body}${mac}`,
    `${mark}${'-'.repeat(2_000_000)}`,
  ]) {
    await refused(
      Buffer.from(`${header}${'x'.repeat(200)}`),
      /damaged: its header|other public keys/,
    );
  }
  const length = Buffer.of(0xff, 0xff, 0xff, 0xff);
  await refused(gzipSync(Buffer.concat([backupMagic, length])), /damaged: a record/);
  await refused(gzipSync('something else'), /is not a backup of Portcullis/);
  await refused(gzipSync(Buffer.alloc(50_000_000)), /is not a backup of Portcullis/);
});

it('a file of identities is read as age-keygen writes it, and one without is refused', async () => {
  const file = `${directory.path}/identity.txt`;
  writeFileSync(file, `# created: today\n# public key: age1x\n${identity}\n`);
  assert.deepEqual(await readIdentities(file), [identity]);
  for (const text of ['', '# nothing\n', 'age1x\n', `${identity}x\n`]) {
    writeFileSync(file, text);
    await assert.rejects(readIdentities(file), /must hold lines that begin with AGE-SECRET-KEY-/);
  }
  await assert.rejects(readIdentities(`${file}.none`), /can't be read \(ENOENT\)/);
});
