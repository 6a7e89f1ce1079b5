/** Libraries in C for LD_PRELOAD, compiled when a test needs one. */

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync } from 'node:fs';
import { basename, resolve } from 'node:path';

const folder = 'test-output/preload';

/** @param source path of the C file. @returns path of the library. Throws what the compiler says. */
export function compilePreload(source: string): string {
  mkdirSync(folder, { recursive: true });
  const library = `${folder}/${basename(source, '.c')}.so`;
  const own = `${library}.${process.pid}`;
  const args = ['-shared', '-fPIC', '-O2', '-Wall', '-Werror', '-o', own, source];
  const made = spawnSync('gcc', [...args, '-ldl', '-lpthread'], { encoding: 'utf8' });
  if (made.status !== 0 || !existsSync(own)) {
    throw new Error(`gcc: ${made.error?.message ?? made.stderr}`);
  }
  renameSync(own, library);
  return resolve(library);
}
