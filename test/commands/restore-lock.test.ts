/** Two restores into one folder: one is refused, whatever either of them leaves behind. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, readdirSync } from 'node:fs';
import { it } from 'node:test';
import { holdForRestore, restoreSocket } from '../../src/commands/store/restore-lock.ts';
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
  assert.ok(existsSync(`${directory.path}/${restoreSocket}`), 'its socket is left');
  await (await holdForRestore(directory.path))();
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
