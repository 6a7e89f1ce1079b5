/** One process per data directory: races, kill -9, release, and what a store that is opened finds. */

import assert from 'node:assert/strict';
import { chownSync, mkdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { ClaimedError, claimDataDir, claimFile, joinClaim } from '../../src/storage/lmdb/claim.ts';
import { openTables } from '../../src/storage/lmdb/environment.ts';
import { hasOtherUser } from '../support/house/other-user.ts';
import { type LineChild, startChild } from '../support/server/child.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';

const claimChild = new URL('./claim-child.js', import.meta.url);
const openChild = new URL('./open-child.js', import.meta.url);
const anyLine = () => true;

/** Starts servers that are killed and waited for in the end, whatever the test does. */
async function withServers(
  use: (start: () => LineChild, directory: string) => Promise<void>,
): Promise<void> {
  const directory = makeTempDir('claim');
  const children: LineChild[] = [];
  try {
    await use(() => {
      const child = startChild(claimChild, [directory.path]);
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

it('a released claim is free at once', async () => {
  await withServers(async (start) => {
    const first = start();
    await first.line(anyLine);
    first.process.stdin!.write('release\n');
    await first.line((line) => line === 'released');
    assert.equal(await start().line(anyLine), 'won');
  });
});

it('no store is opened in a directory that another process holds', async () => {
  await withServers(async (start, directory) => {
    await start().line(anyLine);
    assert.throws(() => openTables(join(directory, 'store')), ClaimedError);
  });
});

it('an open store holds the claim until it is closed, together with others of the process', async () => {
  await withServers(async (start, directory) => {
    const one = openTables(join(directory, 'store'));
    const two = joinClaim(directory);
    await one.root.close();
    assert.match(await start().line(anyLine), /^refused .+ is in use by a command \(pid \d+\)$/);
    two.release();
    two.release();
    assert.equal(await start().line(anyLine), 'won');
  });
});

it('a claim is refused twice in one process, by whichever path', () => {
  const directory = makeTempDir('claim-twice');
  const claim = claimDataDir(directory.path, 'a test');
  try {
    assert.throws(() => claimDataDir(`${directory.path}/.`, 'a test'), ClaimedError);
  } finally {
    claim.release();
    directory.remove();
  }
});

it('what stands in the file is for people: rubbish in it changes nothing', async () => {
  await withServers(async (start, directory) => {
    writeFileSync(join(directory, claimFile), '{"pid":"x"}\0\n'.repeat(100));
    assert.equal(await start().line(anyLine), 'won');
  });
});

it('works where the path is longer than the name of a socket may be', async () => {
  const base = makeTempDir('claim-long');
  const path = join(base.path, 'd'.repeat(120));
  mkdirSync(path);
  const children = [startChild(claimChild, [path])];
  try {
    assert.equal(await children[0]!.line(anyLine), 'won');
    children.push(startChild(claimChild, [path]));
    assert.match(await children[1]!.line(anyLine), /^refused another/);
  } finally {
    for (const child of children) child.process.kill('SIGKILL');
    await Promise.all(children.map((child) => child.ended));
    base.remove();
  }
});

it('a store that is open is refused to others, also when the file of the claim was removed', async () => {
  await withServers(async (start, directory) => {
    const child = startChild(openChild, [join(directory, 'store')]);
    try {
      assert.equal(await child.line(anyLine), 'open');
      rmSync(join(directory, claimFile));
      assert.throws(() => openTables(join(directory, 'store')), ClaimedError);
      // By another directory that leads to the same store too.
      const other = join(directory, 'other');
      mkdirSync(other);
      symlinkSync(join(directory, 'store'), join(other, 'store'));
      assert.throws(() => openTables(join(other, 'store')), ClaimedError);
    } finally {
      child.process.kill('SIGKILL');
      await child.ended;
    }
    await openTables(join(directory, 'store')).root.close();
    assert.equal(await start().line(anyLine), 'won');
  });
});

it('what root claims first stays open to the owner of the directory', (t) => {
  if (!hasOtherUser(t)) return;
  const directory = makeTempDir('claim-root');
  chownSync(directory.path, 12_345, 12_346);
  claimDataDir(directory.path, 'a test').release();
  const { uid, gid, mode } = statSync(join(directory.path, claimFile));
  assert.deepEqual([uid, gid, mode & 0o777], [12_345, 12_346, 0o600]);
  directory.remove();
});
