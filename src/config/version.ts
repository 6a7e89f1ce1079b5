/** The version of this program, as package.json has it. */

import { createRequire } from 'node:module';

/** Reads the version from package.json, one folder above the sources or the compiled files. */
export function packageVersion(): string {
  const isCompiled = import.meta.url.endsWith('.js');
  const path = isCompiled ? '../../../package.json' : '../../package.json';
  const { version } = createRequire(import.meta.url)(path) as { version: string };
  return version;
}
