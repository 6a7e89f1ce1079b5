/** A directory of its own for a test, removed afterwards. */

import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The runner's folder in memory, where the machine has room for it. */
const inMemory = process.env.TEST_DATA;

/**
 * Where a test lays a store into it, the folder above is the one that is claimed: that is its own too.
 * @param place the disk where the doctor is asked, who warns of a store in memory
 */
export function makeTempDir(name: string, place: 'anywhere' | 'disk' = 'anywhere') {
  const above = place === 'disk' ? tmpdir() : (inMemory ?? tmpdir());
  const own = mkdtempSync(join(above, `portcullis-${name}-`));
  // What a test shows to another user is let through by its own mode.
  chmodSync(own, 0o755);
  const path = join(own, 'd');
  mkdirSync(path, { mode: 0o700 });
  // Who writes there is killed by then, and may not be gone yet.
  const remove = () => rmSync(own, { recursive: true, force: true, maxRetries: 10 });
  return { path, remove, [Symbol.dispose]: remove };
}
