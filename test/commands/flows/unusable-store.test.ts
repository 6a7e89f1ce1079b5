/** A store whose files or address space can't be used is refused in words: nothing ends by a signal. */

import assert from 'node:assert/strict';
import { type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, cpSync, lstatSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { hasOtherUser } from '../../support/house/other-user.ts';
import { hasTool } from '../../support/house/tools.ts';
import { runCli } from '../../support/server/server.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';

const program = fileURLToPath(new URL('../../../../bin/portcullis.js', import.meta.url));
const isRoot = process.getuid?.() === 0;
const commands = [['serve'], ['doctor'], ['verify'], ['stats'], ['account', 'list']] as const;

function giveAway(path: string): void {
  chownSync(path, 65_534, 65_534);
  if (!lstatSync(path).isDirectory()) return;
  for (const name of readdirSync(path)) giveAway(`${path}/${name}`);
}

function run(
  args: readonly string[],
  dataDir: string,
  { limit, asOther = false }: { readonly limit?: string; readonly asOther?: boolean },
): SpawnSyncReturns<string> {
  const command = [process.execPath, program, ...args];
  const [file, ...rest] = limit === undefined ? command : ['prlimit', limit, ...command];
  return spawnSync(file!, rest, {
    ...(asOther && isRoot ? { uid: 65_534, gid: 65_534 } : {}),
    env: { PATH: process.env.PATH ?? '', DATA_DIR: dataDir, PORT: '0' },
    encoding: 'utf8',
    timeout: 300_000,
  });
}

async function withStore(use: (dataDir: string) => Promise<void> | void): Promise<void> {
  const directory = makeTempDir('unusable', 'disk');
  for (const path of [dirname(directory.path), directory.path]) chmodSync(path, 0o755);
  const dataDir = `${directory.path}/data`;
  try {
    const made = await runCli(['account', 'create', 'one@example.test'], { DATA_DIR: dataDir });
    assert.equal(made.code, 0, made.stderr);
    await use(dataDir);
  } finally {
    directory.remove();
  }
}

/** In words: by itself, with status 1, without a stack. */
function assertTold(done: SpawnSyncReturns<string>, what: string): void {
  assert.equal(done.signal, null, `${what}: ${done.signal} ${done.stderr}`);
  assert.equal(done.status, 1, `${what}: ${done.stdout}${done.stderr}`);
  assert.doesNotMatch(done.stderr, /unexpected|^\s+at /m, what);
  assert.notEqual(done.stdout + done.stderr, '', what);
}

it('files that this user may not read or write are refused in words', async (t) => {
  if (isRoot && !hasOtherUser(t)) return;
  await withStore((whole) => {
    for (const file of ['lock.mdb', 'data.mdb', '.']) {
      for (const mode of file === '.' ? [0o000, 0o600] : [0o000, 0o400]) {
        const dataDir = `${whole}-one`;
        cpSync(whole, dataDir, { recursive: true });
        if (isRoot) giveAway(dataDir);
        // Of `.` the directory itself: its owner sets that back without the right to search in it.
        const path = join(dataDir, 'store', file);
        chmodSync(path, mode);
        for (const args of commands) {
          const what = `${file} ${mode.toString(8)}, ${args.join(' ')}`;
          const done = run(args, dataDir, { asOther: true });
          assertTold(done, what);
          assert.match(done.stdout + done.stderr, /can't be (read|written|opened|claimed)/, what);
        }
        chmodSync(path, 0o700);
        rmSync(dataDir, { recursive: true });
      }
    }
  });
});

it('an address space that is too small is refused in words, one that is small is enough', async (t) => {
  if (!hasTool(t, 'prlimit')) return;
  await withStore((dataDir) => {
    let told = 0;
    let well = 0;
    for (const mebibytes of [1_200, 1_500, 2_000, 3_000, 4_000, 8_000, 32_000, 70_000]) {
      const limit = `--as=${mebibytes * 2 ** 20}`;
      // Below some size node itself can't start: that is not ours to say.
      if (spawnSync('prlimit', [limit, process.execPath, '--eval', '0']).status !== 0) continue;
      for (const args of [['verify'], ['stats'], ['doctor']]) {
        const what = `${mebibytes} MiB, ${args.join(' ')}`;
        const done = run(args, dataDir, { limit });
        assert.doesNotMatch(done.stderr, /Cannot allocate|out of memory|RangeError/i, what);
        if (done.status === 0) {
          well += 1;
          continue;
        }
        assertTold(done, what);
        // The store is whole: who is told of damage would put a backup over it.
        assert.doesNotMatch(done.stdout + done.stderr, /found:|restore a backup/i, what);
        assert.match(done.stdout + done.stderr, /address space/, what);
        told += 1;
      }
    }
    assert.ok(well > 0 && told > 0, `${well} well, ${told} told`);
  });
});
