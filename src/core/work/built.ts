/**
 * The files that the build made of those that come with the service: compressed or zipped. Each lies
 * in dist/built, named by the hash of its source, so none is found for another source; a caller that
 * finds none makes it.
 */

import { existsSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { type Prepared, prepared } from './preparation.ts';

/** Found from the compiled file: dist/src/core/work/. */
const folder = fileURLToPath(new URL('../../../built/', import.meta.url));

/**
 * @param name holds the hash
 * @param makeAside the same as `make`, without holding the event loop
 */
export function builtOr(
  name: string,
  make: () => Buffer,
  makeAside: () => Promise<Buffer>,
): Prepared<Buffer> {
  const path = folder + name;
  return prepared(
    () => (existsSync(path) ? readFileSync(path) : make()),
    async () => {
      const built = await readFile(path).catch(() => undefined);
      return built ?? makeAside();
    },
  );
}
