/** Two restores into one folder: one is refused, whatever either of them leaves behind. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, readdirSync } from 'node:fs';
import { it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { holdForRestore, isRestoreSocket } from '../../src/commands/store/restore-lock.ts';
import { systemClock } from '../../src/core/clock.ts';
import { seededRandom } from '../../src/core/random.ts';
import { makeBackup } from '../../src/store/backup/make.ts';
import { scratchKey, u32 } from '../../src/store/keys.ts';
import { open } from '../store/lmdb-opener.ts';
import { runCli } from '../support/server/server.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';

it('a folder is held by one restore at a time, and by none that was killed', async () => {
  const directory = makeTempDir('restore-lock');
  const letGo = await holdForRestore(directory.path);
  await assert.rejects(holdForRestore(directory.path), /another restore into .* is under way/);
  await letGo();
  assert.deepEqual(readdirSync(directory.path), []);
  const module = new URL('../../src/commands/store/restore-lock.js', import.meta.url).href;
  const code = `const { holdForRestore } = await import(${JSON.stringify(module)});
    await holdForRestore(${JSON.stringify(directory.path)});
    process.kill(process.pid, 'SIGKILL');`;
  const killed = spawnSync(process.execPath, ['--input-type=module', '-e', code]);
  assert.equal(killed.signal, 'SIGKILL', String(killed.stderr));
  const left = readdirSync(directory.path);
  assert.equal(left.length, 1, 'its socket is left');
  assert.ok(isRestoreSocket(left[0]!));
  await (await holdForRestore(directory.path))();
  assert.deepEqual(readdirSync(directory.path), []);
  directory.remove();
});

it('of many that come at the same moment at most one holds the folder', async () => {
  const directory = makeTempDir('restore-race');
  let holders = 0;
  let most = 0;
  let held = 0;
  const attempts = Array.from({ length: 200 }, async (_, i) => {
    await delay(i);
    const letGo = await holdForRestore(directory.path).catch(() => undefined);
    if (letGo === undefined) return;
    holders += 1;
    held += 1;
    most = Math.max(most, holders);
    await delay(1);
    holders -= 1;
    await letGo();
  });
  await Promise.all(attempts);
  assert.equal(most, 1);
  assert.ok(held > 0);
  assert.deepEqual(readdirSync(directory.path), []);
  directory.remove();
});

it('of two restores at once one is done, and the other changes nothing', async () => {
  const directory = makeTempDir('two-restores');
  const path = `${directory.path}/store`;
  const file = `${directory.path}/one.backup`;
  const clock = systemClock();
  const random = seededRandom(3);
  const store = await open(path, clock);
  await store.commit({ set: [{ key: scratchKey(u32(1)), value: random.bytes(9) }] });
  await store.close();
  await makeBackup({ path, target: file, clock, random });
  const other = `${directory.path}/other.backup`;
  copyFileSync(file, other);
  const dataDir = `${directory.path}/data`;
  const both = await Promise.all(
    [file, other].map((one) => runCli(['restore', one, '--json'], { DATA_DIR: dataDir })),
  );
  const texts = both.map(({ stderr }) => stderr).join('');
  assert.deepEqual(both.map(({ code }) => code).sort(), [0, 1], texts);
  assert.match(texts, /another restore into .* is under way|is not empty \(store\)/);
  assert.deepEqual(readdirSync(dataDir).sort(), ['store']);
  directory.remove();
});
