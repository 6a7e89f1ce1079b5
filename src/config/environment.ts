/**
 * Reads DATA_DIR without the other settings, since a command needs no more while a server runs; and the version.
 */

import { createRequire } from 'node:module';
import { resolve } from 'node:path';

/** Returns the process's environment, also to set what a library reads of it: `process.env` stands here alone. */
export function processEnvironment(): Record<string, string | undefined> {
  return process.env;
}

export const dataDirDefault = './var';

interface DataLocation {
  readonly dataDir: string;
  /** True if the store is shared with other machines: DATABASE_URL. */
  readonly isShared: boolean;
}

/** An empty value counts as absent, as in config.ts. */
export function dataLocation(): DataLocation {
  const env = processEnvironment();
  const given = (name: string) => (env[name] ?? '').trim();
  return {
    dataDir: resolve(given('DATA_DIR') || dataDirDefault),
    isShared: given('DATABASE_URL') !== '',
  };
}

// The version of this program, as package.json has it.

/** Reads the version from package.json, one folder above the sources or the compiled files. */
export function packageVersion(): string {
  const isCompiled = import.meta.url.endsWith('.js');
  const path = isCompiled ? '../../../package.json' : '../../package.json';
  const { version } = createRequire(import.meta.url)(path) as { version: string };
  return version;
}
