/**
 * What a program did to its files and what it printed, in order: made by `recorder.c`, which is
 * preloaded into the program.
 */

import { readFileSync } from 'node:fs';

const headBytes = 20;

/** One record; the kinds stand in `recorder.c`. */
export interface Step {
  readonly kind: string;
  readonly file: number;
  readonly number: number;
  readonly bytes: Buffer;
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
