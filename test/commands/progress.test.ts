/** Progress: a bar on a terminal, plain lines elsewhere, silence with --json. */

import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { test } from 'node:test';
import { createProgress, createRowProgress, progressText } from '../../src/commands/progress.ts';
import { manualClock } from '../support/seeded.ts';

class Capture extends Writable {
  text = '';
  isTTY = false;
  columns = 80;
  override _write(chunk: Buffer, _: string, done: () => void): void {
    this.text += chunk;
    done();
  }
  /** What cli-progress asks of a terminal. */
  cursorTo(): void {}
  clearLine(): void {}
  moveCursor(): void {}
}

function start(overrides: { isTTY?: boolean; silent?: boolean; totalBytes?: number | undefined }) {
  const stream = new Capture();
  stream.isTTY = overrides.isTTY ?? false;
  const clock = manualClock(0);
  const silent = overrides.silent ?? false;
  const totalBytes = 'totalBytes' in overrides ? overrides.totalBytes : 1_000_000;
  const progress = createProgress({ stream, silent, label: 'list', totalBytes, clock });
  return { stream, clock, progress };
}

test('the text tells share, rows, rate and time left', () => {
  const state = { readBytes: 500_000, rows: 12_345, badLines: 0 };
  assert.equal(
    progressText(state, 2_000_000, 1_000),
    '25% 0.5/2.0 MB, ETA 3 s, 12,345 rows, 12,345 rows/s',
  );
  assert.equal(
    progressText({ ...state, badLines: 1_000 }, undefined, 500),
    '0.5 MB, 12,345 rows, 1,000 bad, 24,690 rows/s',
  );
  assert.equal(progressText({ ...state, readBytes: 0, rows: 0 }, 10, 0), '0% 0.0/0.0 MB, 0 rows');
  assert.match(progressText({ ...state, readBytes: 1 }, 1_000, 600_000), /, ETA 166 h 30 min, /);
  assert.match(progressText({ ...state, readBytes: 1 }, 100, 1_000), /, ETA 1 min 39 s, /);
});

test('a file that grew while being read stays at 100%', () => {
  const state = { readBytes: 30, rows: 1, badLines: 0 };
  assert.equal(progressText(state, 20, 0), '100% 0.0/0.0 MB, 1 row');
});

test('without a terminal a plain line comes every five seconds and at the end', () => {
  const { stream, clock, progress } = start({});
  for (let readBytes = 0; readBytes <= 1_000_000; readBytes += 100_000) {
    progress.update({ readBytes, rows: readBytes / 100, badLines: 0 });
    clock.advance(1_000);
  }
  progress.stop();
  assert.deepEqual(stream.text.split('\n'), [
    'list: 50% 0.5/1.0 MB, ETA 5 s, 5,000 rows, 1,000 rows/s',
    'list: 100% 1.0/1.0 MB, 10,000 rows, 1,000 rows/s',
    '',
  ]);
});

test('rows beyond a guessed total stand without it', () => {
  const stream = new Capture();
  const clock = manualClock(0);
  const options = { stream, silent: false, label: 'backup', clock, totalRows: 4_007 };
  const progress = createRowProgress(options);
  clock.advance(1_000);
  progress.update(24_033);
  progress.stop();
  assert.equal(stream.text, 'backup: 24,033 written, 24,033 rows/s\n');
});

test('an import that ends between two lines still shows its last state', () => {
  const { stream, clock, progress } = start({});
  progress.update({ readBytes: 1_000_000, rows: 10, badLines: 0 });
  clock.advance(2_000);
  progress.stop();
  assert.equal(stream.text, 'list: 100% 1.0/1.0 MB, 10 rows, 5 rows/s\n');
});

test('a terminal gets a bar that fits its width and ends with a new line', () => {
  for (const totalBytes of [1_000_000, undefined]) {
    const { stream, clock, progress } = start({ isTTY: true, totalBytes });
    clock.advance(1_000);
    progress.update({ readBytes: 500_000, rows: 77, badLines: 3 });
    progress.stop();
    assert.match(
      stream.text,
      totalBytes === undefined
        ? /list 0\.5 MB, 77 rows/
        : /list \[={8} {8}\] 50%.* ETA 1 s.* 77 rows\/s/,
    );
    assert.ok(stream.text.endsWith('\n'));
    for (const drawn of stream.text.split(/\u001b\[[^a-zA-Z]*[a-zA-Z]|\u001b\d|\n/)) {
      assert.ok(drawn.length < 80, drawn);
    }
  }
});

test('with --json nothing is written, terminal or not', () => {
  for (const isTTY of [true, false]) {
    const { stream, clock, progress } = start({ isTTY, silent: true });
    clock.advance(10_000);
    progress.update({ readBytes: 5, rows: 7, badLines: 3 });
    progress.stop();
    assert.equal(stream.text, '');
  }
});

test('progress leaves the signals of the process alone', () => {
  const before = process.listenerCount('SIGINT');
  const { progress } = start({ isTTY: true });
  const during = process.listenerCount('SIGINT');
  progress.stop();
  assert.equal(during, before);
});
