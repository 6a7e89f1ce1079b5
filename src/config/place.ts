/** The place of the data, read without the other settings: all that a command beside a server needs. */

import { resolve } from 'node:path';

/** The only reader of `process.env`. */
export function processEnvironment(): Record<string, string | undefined> {
  return process.env;
}

export const dataDirDefault = './var';

export interface DataPlace {
  readonly dataDir: string;
  /** True if the store is shared with other machines: DATABASE_URL. */
  readonly isShared: boolean;
}

/** An empty value counts as absent, as in config.ts. */
export function placeOfData(env = processEnvironment()): DataPlace {
  const given = (name: string) => (env[name] ?? '').trim();
  return {
    dataDir: resolve(given('DATA_DIR') || dataDirDefault),
    isShared: given('DATABASE_URL') !== '',
  };
}
