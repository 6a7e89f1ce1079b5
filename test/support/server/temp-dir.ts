/** A directory of its own for a test, removed afterwards. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export function makeTempDir(name: string): { path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), `portcullis-${name}-`));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}
