/**
 * A store on a small disk of its own that fills up: writes end before the disk does, and come back when there is room.
 * What needs a new file on a full disk is refused in words.
 */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { hasMountNamespace, hasTool } from '../support/house/tools.ts';
import { startCommand } from '../support/server/child.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';

const program = fileURLToPath(new URL('../../../bin/portcullis.js', import.meta.url));
const module = fileURLToPath(new URL('../storage/full-disk-child.js', import.meta.url));

it('a small disk that fills up refuses writes before LMDB meets its end, and heals', async (t) => {
  if (!hasTool(t, 'unshare')) return;
  if (!hasMountNamespace(t)) return;
  const directory = makeTempDir('small-disk');
  const disk = directory.path;
  const script = `
    mount --make-rprivate /
    mount -t tmpfs -o size=32m none "${disk}"
    head -c 16777216 /dev/zero > "${disk}/ballast"
    exec "$0" "$@"`;
  const command = [process.execPath, module, `${disk}/data`];
  const child = startCommand('unshare', ['--mount', 'sh', '-ec', script, ...command]);
  try {
    await child.line((line) => line === 'waiting');
    const { lines } = child;
    assert.ok(lines.includes('later store_unavailable'));
    assert.ok(lines.includes('read 3000'));
    const told = lines.find((line) => line.startsWith('acknowledged'))!;
    const [, acknowledged, , journal] = told.split(' ');
    assert.ok(Number(acknowledged) > 100, told);
    assert.equal(acknowledged, journal);
    rmSync(`/proc/${child.process.pid}/root${disk}/ballast`);
    await child.line((line) => line === 'closed');
    assert.ok(lines.includes('recovered ok true'));
    assert.equal(child.stderr(), '', 'LMDB met the full disk itself');
  } finally {
    child.process.kill('SIGKILL');
    await child.ended;
    directory.remove();
  }
});

it('a full disk ends no command that needs a new file: each is refused in words, and the store stays whole', async (t) => {
  if (!hasTool(t, 'unshare')) return;
  if (!hasMountNamespace(t)) return;
  const directory = makeTempDir('full-disk-new');
  const disk = directory.path;
  // By pages of 4 KiB that are left: LMDB met the end of the disk at other places with each.
  const script = `
    mount --make-rprivate /
    mount -t tmpfs -o size=32m none "${disk}"
    mkdir "${disk}/data"
    try() {
      done=0
      said=$("$@" 2>&1) || done=$?
      echo "$pages pages, $3: $done $(printf %s "$said" | tail -n 1)"
    }
    export DATA_DIR="${disk}/data"
    "$0" "$@" account create one@example.test
    for pages in 0 3 4 6 8; do
      rm -rf "$DATA_DIR/store/lock.mdb" "$DATA_DIR/store.compacting" "${disk}/other" "${disk}/ballast"
      mkdir "${disk}/other"
      cp "$DATA_DIR/master.key" "${disk}/other/master.key"
      dd if=/dev/zero of="${disk}/ballast" bs=4k 2>/dev/null || true
      truncate -s -$((pages * 4096)) "${disk}/ballast"
      try "$0" "$@" compact
      DATA_DIR="${disk}/other" try "$0" "$@" group list
    done
    rm "${disk}/ballast"
    "$0" "$@" verify`;
  const command = ['unshare', '--mount', 'sh', '-ec', script, process.execPath, program] as const;
  try {
    const done = spawnSync(command[0], command.slice(1), { encoding: 'utf8', timeout: 600_000 });
    const tried = done.stdout.match(/^\d+ pages, .*$/gm) ?? [];
    assert.equal(tried.length, 10, done.stdout + done.stderr);
    for (const line of tried) {
      assert.match(line, /: 1 portcullis: .*(make room|bytes of room)$/, done.stdout);
    }
    assert.match(done.stdout, /are as they were written and agree/, done.stderr);
  } finally {
    directory.remove();
  }
});

it('a file system that is read-only is told as one, with the way on', (t) => {
  if (!hasTool(t, 'unshare')) return;
  if (!hasMountNamespace(t)) return;
  const directory = makeTempDir('read-only');
  const script = `
    mount --make-rprivate /
    mount --bind "${directory.path}" "${directory.path}"
    mount -o remount,bind,ro "${directory.path}"
    exec "$0" "$@"`;
  const command = ['--mount', 'sh', '-ec', script, process.execPath, program, 'account', 'list'];
  const env = { ...process.env, DATA_DIR: directory.path };
  const { status, stderr } = spawnSync('unshare', command, { encoding: 'utf8', env });
  assert.equal(status, 1);
  assert.match(stderr, /^portcullis: .* is read-only \(EROFS\).*: copy DATA_DIR to a disk .*\n$/);
  directory.remove();
});
