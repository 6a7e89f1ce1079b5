/** A log that can't be written costs its lines, and nothing else. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { spawn } from '../support/house/spawn.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';

const child = fileURLToPath(new URL('./log-writer-child.js', import.meta.url));
const endMsMax = 120_000;

/** @returns exit status and standard output */
async function run(lines: number, stderr: number | 'pipe', { closeReader = false, end = '' } = {}) {
  const process_ = spawn(process.execPath, [child, String(lines), end], {
    stdio: ['ignore', 'pipe', stderr],
    timeout: endMsMax,
    killSignal: 'SIGKILL',
  });
  if (closeReader) process_.stderr?.destroy();
  let output = '';
  process_.stdout!.on('data', (chunk) => {
    output += String(chunk);
  });
  let errors = '';
  process_.stderr?.setEncoding('utf8').on('data', (chunk) => {
    errors += String(chunk);
  });
  const [code] = await once(process_, 'close');
  return { code, output, errors };
}

it('a full disk under the log neither ends nor holds the process', async () => {
  const full = openSync('/dev/full', 'w');
  try {
    assert.deepEqual(await run(100, full), { code: 0, output: 'alive\n', errors: '' });
  } finally {
    closeSync(full);
  }
});

it('a reader that has left neither ends nor holds the process', async () => {
  const { code, output } = await run(100, 'pipe', { closeReader: true });
  assert.deepEqual([code, output], [0, 'alive\n']);
});

it('a reader that stands still neither ends nor holds the process', async () => {
  // Paused: what the pipe and the socket hold is all that is ever taken.
  const stalled = spawn(process.execPath, [child, '5000'], {
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 120_000,
    killSignal: 'SIGKILL',
  });
  stalled.stderr.pause();
  let output = '';
  stalled.stdout.on('data', (chunk) => {
    output += String(chunk);
  });
  const [code] = await once(stalled, 'exit');
  stalled.stderr.destroy();
  assert.equal(code, 0);
  if (!stalled.stdout.readableEnded) await once(stalled.stdout, 'end');
  assert.equal(output, 'alive\n');
});

it('all lines come whole and in order, through a pipe and into a file', async () => {
  const directory = makeTempDir('log-writer');
  try {
    const path = join(directory.path, 'log');
    const file = openSync(path, 'a');
    assert.equal((await run(2_000, file)).code, 0);
    closeSync(file);
    const { errors } = await run(2_000, 'pipe');
    for (const text of [readFileSync(path, 'utf8'), errors]) {
      const rows = text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line));
      assert.equal(rows.pop().msg, 'late');
      assert.deepEqual(
        rows.map(({ i }) => i),
        Array.from({ length: 2_000 }, (_, i) => i),
      );
      assert.ok(rows.every((row) => row.text === '€'.repeat(40)));
    }
  } finally {
    directory.remove();
  }
});

it('the last words of a process that breaks off are written, with those before them', async () => {
  const { errors } = await run(20, 'pipe', { end: 'abort' });
  const rows = errors.split('\n').filter((line) => line.startsWith('{'));
  assert.equal(rows.length, 21, errors);
  assert.equal(JSON.parse(rows.at(-1)!).msg, 'the end');
});

it('a stack stands in the log for a bug alone', async () => {
  const { errors } = await run(0, 'pipe', { end: 'faults' });
  const faults = errors
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { msg: string; err?: { message: string; stack?: string } })
    .filter(({ err }) => err !== undefined);
  assert.deepEqual(
    faults.map(({ msg, err }) => [msg, err!.message, err!.stack !== undefined]),
    [
      ['expected', 'the disk is full', false],
      ['expected', 'no store', false],
      ['unexpected', 'a bug', true],
    ],
  );
});
