/**
 * What a program did to its files and what it printed, in order: made by `recorder.c`, which is
 * compiled at the first use and preloaded into the program.
 */

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { dirname } from 'node:path';

const source = 'test/support/power-loss/recorder.c';
const library = 'test-output/power-loss/recorder.so';
const headBytes = 20;

/** One record; the kinds stand in `recorder.c`. */
export interface Step {
  readonly kind: string;
  readonly file: number;
  readonly number: number;
  readonly bytes: Buffer;
}

/** Path of the library, compiled. Throws what the compiler says. */
export function recorderLibrary(): string {
  mkdirSync(dirname(library), { recursive: true });
  const own = `${library}.${process.pid}`;
  const args = ['-shared', '-fPIC', '-O2', '-Wall', '-Werror', '-o', own, source, '-ldl'];
  const made = spawnSync('gcc', [...args, '-lpthread'], { encoding: 'utf8' });
  if (made.status !== 0 || !existsSync(own)) {
    throw new Error(`gcc: ${made.error?.message ?? made.stderr}`);
  }
  renameSync(own, library);
  return `${process.cwd()}/${library}`;
}

/** Of a program that was killed the last record may be cut: it is left out. */
export function readRecording(path: string): Step[] {
  const all = readFileSync(path);
  const steps: Step[] = [];
  for (let at = 0; at + headBytes <= all.length; ) {
    const end = at + headBytes + all.readUInt32LE(at + 16);
    if (end > all.length) break;
    steps.push({
      kind: String.fromCharCode(all[at]!),
      file: all.readUInt32LE(at + 4),
      number: Number(all.readBigUInt64LE(at + 8)),
      bytes: all.subarray(at + headBytes, end),
    });
    at = end;
  }
  return steps;
}
