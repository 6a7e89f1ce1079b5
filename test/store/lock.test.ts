/** One server per data directory: races, kill -9, release, and the CLI beside it. */

import assert from 'node:assert/strict';
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { systemClock } from '../../src/core/clock.ts';
import { scratchKey } from '../../src/store/keys.ts';
import { type LineChild, startChild } from '../support/server/child.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';
import { open } from './lmdb-opener.ts';

const lockChild = new URL('./lock-child.js', import.meta.url);
const anyLine = () => true;

/** Starts servers that are killed and waited for in the end, whatever the test does. */
async function withServers(
  use: (start: () => LineChild, directory: string) => Promise<void>,
): Promise<void> {
  const directory = makeTempDir('lock');
  const children: LineChild[] = [];
  try {
    await use(() => {
      const child = startChild(lockChild, [directory.path]);
      children.push(child);
      return child;
    }, directory.path);
  } finally {
    for (const child of children) child.process.kill('SIGKILL');
    await Promise.all(children.map((child) => child.ended));
    directory.remove();
  }
}

it('of servers started together exactly one wins, round after round over a killed holder', async () => {
  await withServers(async (start) => {
    for (let round = 0; round < 6; round++) {
      const children = [start(), start(), start()];
      const lines = await Promise.all(children.map((child) => child.line(anyLine)));
      const winners = lines.filter((line) => line === 'won');
      assert.equal(winners.length, 1, lines.join('; '));
      // Not released: the next round meets what a killed server leaves behind.
      for (const child of children) child.process.kill('SIGKILL');
      await Promise.all(children.map((child) => child.ended));
    }
  });
});

it('a second server is refused with the pid of the first, also while that one is stopped', async () => {
  await withServers(async (start, directory) => {
    const first = start();
    assert.equal(await first.line(anyLine), 'won');
    const pid = first.process.pid;
    const expected = `refused another Portcullis server (pid ${pid}) is running on ${directory}`;
    assert.equal(await start().line(anyLine), expected);
    first.process.kill('SIGSTOP');
    assert.equal(await start().line(anyLine), expected);
    first.process.kill('SIGCONT');
  });
});

it('a released lock is free at once and leaves no socket behind', async () => {
  await withServers(async (start, directory) => {
    const first = start();
    await first.line(anyLine);
    first.process.stdin!.write('release\n');
    await first.line((line) => line === 'released');
    assert.deepEqual(
      readdirSync(directory).filter((name) => name.endsWith('.sock')),
      [],
    );
    assert.equal(await start().line(anyLine), 'won');
  });
});

it('the CLI reads and writes beside the holder', async () => {
  await withServers(async (start, directory) => {
    await start().line(anyLine);
    const store = await open(directory, systemClock());
    const result = await store.commit({ set: [{ key: scratchKey(), value: Buffer.from('x') }] });
    assert.ok(result.ok);
    await store.close();
  });
});

it('works where the path is longer than the name of a socket may be', async () => {
  const base = makeTempDir('lock-long');
  const path = join(base.path, 'd'.repeat(120));
  mkdirSync(path);
  const children = [startChild(lockChild, [path])];
  try {
    assert.equal(await children[0]!.line(anyLine), 'won');
    children.push(startChild(lockChild, [path]));
    assert.match(await children[1]!.line(anyLine), /^refused another/);
  } finally {
    for (const child of children) child.process.kill('SIGKILL');
    await Promise.all(children.map((child) => child.ended));
    base.remove();
  }
});
