/** What the system keeps from a command is not lost, and what it shows to others is told. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, lstatSync, readdirSync, writeFileSync } from 'node:fs';
import { it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { runCli } from '../../support/server/server.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';

const program = fileURLToPath(new URL('../../../../bin/portcullis.js', import.meta.url));
const isRoot = process.getuid?.() === 0;
/** Root reads everything: then the command is another user's. */
const user = isRoot ? { uid: 65_534, gid: 65_534 } : {};

function giveAway(path: string): void {
  if (!isRoot) return;
  chownSync(path, 65_534, 65_534);
  if (!lstatSync(path).isDirectory()) return;
  for (const name of readdirSync(path)) giveAway(`${path}/${name}`);
}

function run(args: string[], env: Record<string, string>) {
  const options = {
    ...user,
    env: { PATH: process.env.PATH ?? '', ...env },
    encoding: 'utf8',
  } as const;
  return spawnSync(process.execPath, [program, ...args], options);
}

it('a store that this user may not read is told as that, by every command, and doctor goes on', async () => {
  const directory = makeTempDir('permissions', 'disk');
  chmodSync(directory.path, 0o755);
  const data = `${directory.path}/data`;
  const env = { DATA_DIR: data, PORT: '0' };
  assert.equal((await runCli(['account', 'create', 'one@example.test'], env)).code, 0);
  writeFileSync(`${data}/store.id`, `${'ab'.repeat(16)}\n`);
  giveAway(data);
  for (const [path, mode] of [
    [`${data}/store`, 0o000],
    [`${data}/store/data.mdb`, 0o000],
  ] as const) {
    const before = lstatSync(path).mode;
    chmodSync(path, mode);
    for (const args of [['serve'], ['stats'], ['verify'], ['account', 'list']]) {
      const done = run(args, env);
      assert.equal(done.status, 1, `${args}: ${done.stdout}`);
      assert.match(
        done.stderr,
        /can't be read: .*data\.mdb \(EACCES\)\. Nothing of it is lost/,
        args[0],
      );
      assert.doesNotMatch(done.stderr, /the store is lost|remove .*store\.id/);
    }
    const { findings } = JSON.parse(run(['doctor', '--json'], env).stdout);
    const abouts = new Set(findings.map(({ about }: { about: string }) => about));
    for (const about of ['disk', 'store', 'backups', 'exposure', 'tls', 'mail']) {
      assert.ok(abouts.has(about), `${about} is in the list`);
    }
    const store = findings.filter(({ about }: { about: string }) => about === 'store');
    assert.match(store[0].found, /can't be read: .*EACCES/);
    chmodSync(path, before & 0o777);
  }
  directory.remove();
});

it('a file of settings that others can read or change is named by doctor', async () => {
  const directory = makeTempDir('settings-open', 'disk');
  const settings = `${directory.path}/portcullis.env`;
  writeFileSync(settings, `DATA_DIR=${directory.path}/data\n`);
  const told = async (mode: number) => {
    chmodSync(settings, mode);
    const done = await runCli(['--settings', settings, 'doctor', '--json'], {});
    const { findings } = JSON.parse(done.stdout) as { findings: Record<string, string>[] };
    return findings.filter(({ found }) => found!.includes(settings));
  };
  for (const mode of [0o600, 0o400, 0o640])
    assert.deepEqual(await told(mode), [], mode.toString(8));
  for (const [mode, what] of [
    [0o644, /can be read by other users/],
    [0o604, /read by other/],
    [0o660, /changed by its group/],
    [0o602, /changed by other/],
  ] as const) {
    const [finding] = await told(mode);
    assert.equal(finding?.state, 'mend', mode.toString(8));
    assert.match(finding!.found!, what);
    assert.equal(finding!.mend, `chmod 600 ${settings}`);
  }
  directory.remove();
});
