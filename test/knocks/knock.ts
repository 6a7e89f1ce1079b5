/** One hard knock: what it does to the program, and what must hold all the same. */

import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import type { TestServer } from '../support/server/server.ts';

export interface Knock {
  readonly name: string;
  /** What must hold, one sentence. */
  readonly promise: string;
  /** @throws when the promise is broken. @returns figures for the table, in words */
  run(options: { readonly seed: number }): Promise<string>;
}

/** Test files that knock already, each in a process of its own. @returns their counts */
export function runTests(files: readonly string[]): string {
  const paths = files.map((file) => `dist/test/${file}.test.js`);
  const done = spawnSync(process.execPath, ['--test', '--test-reporter=tap', ...paths], {
    encoding: 'utf8',
    maxBuffer: 1 << 28,
  });
  const count = (what: string) =>
    Number(new RegExp(`^# ${what} (\\d+)$`, 'm').exec(done.stdout)?.[1]);
  if (done.status !== 0 || !(count('pass') > 0)) {
    const bad = done.stdout.split('\n').filter((line) => /^\s*not ok|error:/.test(line));
    throw new Error(`${files.join(', ')}: ${bad.slice(0, 5).join('; ')}`);
  }
  return `${count('pass')} tests of ${files.length} files`;
}

/** Resident memory of a process, MB. */
export function residentMb(pid: number): number {
  const pages = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'));
  return Math.round(Number(pages?.[1]) / 1_024);
}

export function openFiles(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

/** Seconds of processor time so far. */
export function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]!.split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

/** Lines of the log that tell of a fault. */
export function errorsIn(server: Pick<TestServer, 'stderr'>): string[] {
  return server
    .stderr()
    .split('\n')
    .filter((line) => /"level":(50|60)/.test(line));
}
