/** The master key file: made once, never overwritten, refused when wrong or open to others. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { loadMasterKey } from '../../../src/access/keys/master-key.ts';
import { OperatorError } from '../../../src/core/errors.ts';
import { systemRandom } from '../../../src/core/random.ts';
import { seededRandom } from '../../support/seeded.ts';

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'portcullis-master-key-'));
  t.after(() => rmSync(path, { recursive: true }));
  return path;
}

const random = seededRandom(11);
const bytes = Buffer.from(random.bytes(32));

function refused(options: Parameters<typeof loadMasterKey>[0], message: RegExp): void {
  assert.throws(
    () => loadMasterKey(options),
    (error) => error instanceof OperatorError && message.test(error.message),
  );
}

test('a key is made once with mode 600 and found again', (t) => {
  const dataDir = folder(t);
  const first = loadMasterKey({ dataDir, strict: true, random: systemRandom() });
  assert.equal(first.secret.length, 32);
  assert.equal(statSync(join(dataDir, 'master.key')).mode & 0o777, 0o600);
  assert.deepEqual(readdirSync(dataDir), ['master.key']);
  const second = loadMasterKey({ dataDir, strict: true, random: systemRandom() });
  assert.deepEqual(second, first);
});

test('raw bytes, hex and base64 are read alike', (t) => {
  const dataDir = folder(t);
  const path = join(dataDir, 'key');
  const contents = [
    bytes,
    `${bytes.toString('hex')}\n`,
    bytes.toString('base64'),
    `${bytes.toString('base64url')}\r\n`,
  ];
  for (const content of contents) {
    writeFileSync(path, content, { mode: 0o600 });
    const { secret } = loadMasterKey({ path, dataDir, strict: true, random });
    assert.deepEqual(Buffer.from(secret), bytes);
  }
});

test('a wrong length is refused and the file left alone', (t) => {
  const dataDir = folder(t);
  const path = join(dataDir, 'master.key');
  const contents = [
    '',
    'short',
    bytes.toString('hex').slice(0, 32),
    bytes.toString('hex').slice(2),
  ];
  for (const content of [...contents, 'x'.repeat(2_000)]) {
    writeFileSync(path, content, { mode: 0o600 });
    refused({ dataDir, strict: true, random }, /^DATA_DIR: .*32 random bytes/);
    refused({ path, dataDir, strict: true, random }, /^MASTER_KEY_FILE: .*32 random bytes/);
    assert.equal(readFileSync(path, 'latin1'), content);
  }
});

test('a key file that others can read is refused when strict', (t) => {
  const dataDir = folder(t);
  const path = join(dataDir, 'key');
  writeFileSync(path, bytes);
  for (const mode of [0o640, 0o604, 0o620]) {
    chmodSync(path, mode);
    refused({ path, dataDir, strict: true, random }, /MASTER_KEY_FILE: .*other users/);
    assert.ok(loadMasterKey({ path, dataDir, strict: false, random }));
  }
});

test('a MASTER_KEY_FILE that is missing or a folder is refused, never made', (t) => {
  const dataDir = folder(t);
  const path = join(dataDir, 'missing');
  refused({ path, dataDir, strict: false, random }, /MASTER_KEY_FILE: .*does not exist/);
  refused({ path: dataDir, dataDir, strict: false, random }, /MASTER_KEY_FILE: .*not a file/);
  refused({ dataDir: path, strict: false, random }, /DATA_DIR: .*ENOENT/);
  assert.deepEqual(readdirSync(dataDir), []);
});

test('a MASTER_KEY_FILE that is a pipe or a device is refused at once', (t) => {
  const dataDir = folder(t);
  const path = join(dataDir, 'pipe');
  assert.equal(spawnSync('mkfifo', [path]).status, 0);
  for (const none of [path, '/dev/zero']) {
    refused({ path: none, dataDir, strict: false, random }, /MASTER_KEY_FILE: .*not a file/);
  }
});

test('starts that race for the first key all get the same one', async (t) => {
  const dataDir = folder(t);
  const source = new URL('../../support/signon/master-key-racer.js', import.meta.url);
  const gate = new Int32Array(new SharedArrayBuffer(4));
  const workers = Array.from(
    { length: 4 },
    () => new Worker(source, { workerData: { dataDir, gate } }),
  );
  const secrets = await Promise.all(
    workers.map(
      (w) => new Promise((resolve, reject) => w.on('message', resolve).on('error', reject)),
    ),
  );
  assert.equal(new Set(secrets).size, 1);
  assert.deepEqual(readdirSync(dataDir), ['master.key']);
});
