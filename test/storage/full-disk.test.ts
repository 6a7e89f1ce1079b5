/**
 * A file that can't grow (as on a full disk): commits answer `store_unavailable`, reads go on,
 * nothing rejects unhandled, and writes come back when there is room again.
 */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startCommand } from '../support/server/child.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';

const module = fileURLToPath(new URL('./full-disk-child.js', import.meta.url));

it('survives a full disk and recovers without a restart', () => fillDisk());

it('survives it with groups of commits under way behind the one that fails', () =>
  fillDisk('apart'));

async function fillDisk(...how: string[]): Promise<void> {
  const directory = makeTempDir('full');
  // Soft limit only, so that it can be lifted from outside. In KiB.
  const script = 'ulimit -S -f 16384 && exec "$0" "$@"';
  const child = startCommand('bash', [
    '-c',
    script,
    process.execPath,
    module,
    directory.path,
    ...how,
  ]);
  try {
    await child.line((line) => line === 'waiting');
    const lifted = spawnSync('prlimit', ['--pid', String(child.process.pid), '--fsize=unlimited']);
    assert.equal(lifted.status, 0, String(lifted.stderr));
    await child.line((line) => line === 'closed');
    const { lines } = child;
    assert.deepEqual(
      lines.filter((line) => line.startsWith('unhandled')),
      [],
    );
    assert.ok(lines.includes('state unavailable'));
    const answers = lines.filter((line) => line.startsWith('answer'));
    assert.ok(answers.length > 0);
    assert.ok(answers.every((line) => line === 'answer store_unavailable'));
    assert.ok(lines.includes('later store_unavailable'));
    assert.ok(lines.includes('read 3000'));
    const [, acknowledged, , journal] = lines
      .find((line) => line.startsWith('acknowledged'))!
      .split(' ');
    assert.ok(Number(acknowledged) > 0);
    assert.equal(acknowledged, journal, 'all of a failed transaction is gone');
    assert.ok(lines.includes('state available'));
    assert.ok(lines.includes('recovered ok true'));
    assert.equal(child.stderr(), '', 'LMDB met the limit itself');
  } finally {
    child.process.kill('SIGKILL');
    await child.ended;
    directory.remove();
  }
}
