/** A process that is killed while it reads, such as a backup, must not hold pages for ever. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { it } from 'node:test';
import { systemClock } from '../../src/core/clock.ts';
import { storedKey } from '../../src/store/keys.ts';
import { spawn } from '../support/house/spawn.ts';
import { filesOf } from '../support/server/data-files.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';
import { open } from './lmdb-opener.ts';

const sweepsInAMinute = 60;

/** Reads in a transaction that lasts. */
const reader = (path: string) => `
  import { open } from 'lmdb';
  const root = open({ path: ${JSON.stringify(path)}, maxDbs: 8, encoding: 'binary' });
  const transaction = root.useReadTransaction();
  root.get('x', { transaction });
  console.log('reading');
  setInterval(() => {}, 1_000);
`;

it('its place in the table of readers is free after a minute of sweeps', async () => {
  const directory = makeTempDir('dead-reader');
  const path = `${directory.path}/store`;
  const store = await open(path, systemClock());
  try {
    // The library looks by itself at the first write, and then not for ten minutes.
    await store.sweep(1);
    const lockFile = () => readFileSync(`${path}/lock.mdb`);
    const child = spawn(process.execPath, ['--input-type=module', '-e', reader(path)]);
    await once(child.stdout, 'data');
    const pid = Buffer.alloc(4);
    pid.writeUInt32LE(child.pid!);
    // LMDB keeps the process of each reader there (mdb.c, MDB_rxbody).
    assert.ok(lockFile().includes(pid), 'it reads');
    child.kill('SIGKILL');
    await once(child, 'exit');
    assert.ok(lockFile().includes(pid), 'nobody has looked yet');
    for (let i = 0; i < sweepsInAMinute; i++) await store.sweep(1);
    assert.ok(!lockFile().includes(pid));
  } finally {
    await store.close();
    directory.remove();
  }
});

/** Looks for dead readers when it is told to. */
const sweeper = (path: string) => `
  import { open } from 'lmdb';
  const root = open({ path: ${JSON.stringify(path)}, maxDbs: 8, encoding: 'binary' });
  root.get('x');
  console.log('open');
  process.stdin.on('data', () => {
    root.readerCheck();
    process.exit();
  });
`;

it('a test that looks into the files of a store keeps its own place', async () => {
  const directory = makeTempDir('live-reader');
  const path = `${directory.path}/store`;
  const store = await open(path, systemClock());
  const child = spawn(process.execPath, ['--input-type=module', '-e', sweeper(path)]);
  try {
    await once(child.stdout, 'data');
    const key = storedKey(Buffer.from('a'));
    assert.equal(await store.get(key), undefined);
    const looked = filesOf(directory.path).map(([file]) => file);
    assert.ok(looked.includes(`${path}/data.mdb`));
    child.stdin.write('x');
    await once(child, 'exit');
    await store.get(key);
  } finally {
    child.kill('SIGKILL');
    await store.close();
    directory.remove();
  }
});
