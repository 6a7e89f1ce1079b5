/** The bytes of a data directory, read while a store in it is open in this process. */

import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';

/**
 * LMDB holds a lock on this file for as long as a store is open. POSIX (fcntl, F_SETLK) drops it when the
 * process closes the file a second time, as a read does; then another process takes this one for dead and
 * gives its place as a reader away. The file has process ids and transaction numbers, nobody's data.
 */
const lockFile = 'lock.mdb';

/** A file may be renamed or removed meanwhile, as the outbox does: it is seen under its name, or not. */
export function filesOf(folder: string): [path: string, content: Buffer][] {
  const files: [string, Buffer][] = [];
  for (const name of existsSync(folder) ? readdirSync(folder, { recursive: true }) : []) {
    const path = join(folder, String(name));
    if (basename(path) === lockFile) continue;
    const content = contentOf(path);
    if (content !== undefined) files.push([path, content]);
  }
  return files;
}

/** Undefined: it is no file, or gone. */
function contentOf(path: string): Buffer | undefined {
  try {
    return statSync(path).isFile() ? readFileSync(path) : undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Files below a folder that hold this anywhere. */
export function holdersOf(folder: string, part: string | Buffer): string[] {
  return filesOf(folder)
    .filter(([, content]) => content.includes(part))
    .map(([path]) => path);
}
