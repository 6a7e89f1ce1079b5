/** A store on a small disk of its own that fills up: writes end before the disk does, and come back when there is room. */

import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { hasMountNamespace, hasTool } from '../support/house/tools.ts';
import { startCommand } from '../support/server/child.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';

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
