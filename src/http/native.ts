/**
 * Is it really the native server that runs? The package falls back to a slow imitation in
 * JavaScript when its binary does not load, with nothing but a line on the console. The
 * module cache tells which file was loaded, on every platform and in every thread.
 */

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename } from 'node:path';
import { OperatorError } from '../core/errors.ts';

/** SHA-256 of binaries that this wrapper's tests were run against. */
const knownBinaries: ReadonlyMap<string, string> = new Map([
  [
    'f158fb441f7e2e37b3ab9a56782fe37f4c0d33b5cd32e96ee5c0120ce7db7ced',
    'uws_linux_x64_115.node of 20.30.0',
  ],
]);

export interface NativeBinary {
  readonly path: string;
  readonly sha256: string;
  readonly isKnown: boolean;
}

function loadedFiles(): readonly string[] {
  return Object.keys(createRequire(import.meta.url).cache);
}

/** Throws an `OperatorError` if the imitation is in place. `files` is for tests. */
export function inspectNative(files: readonly string[] = loadedFiles()): NativeBinary {
  const path = files.find((file) => /^uws_.*\.node$/.test(basename(file)));
  if (path === undefined) {
    throw new OperatorError(
      `the native web server did not load on ${process.platform}-${process.arch} with Node ${process.version}` +
        ' (see README, "Supported platforms"); the slow replacement in JavaScript is not used',
    );
  }
  const sha256 = createHash('sha256').update(readFileSync(path)).digest('hex');
  return { path, sha256, isKnown: knownBinaries.has(sha256) };
}
