/** Processes of this machine as Linux tells of them. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

/** It and all below it, at this moment. */
export function treeOf(pid: number): number[] {
  return [pid, ...childrenOf(pid).flatMap(treeOf)];
}

/** What has ended and waits for its parent's look is not running. */
export function isRunning(pid: number): boolean {
  const stat = read(`/proc/${pid}/stat`);
  return stat !== '' && !/^.*\) [ZX]/s.test(stat);
}

/** Its words, each with a space behind it. */
export function commandOf(pid: number): string {
  return read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ');
}

function childrenOf(pid: number): number[] {
  return readdirOf(`/proc/${pid}/task`)
    .flatMap((task) => read(`/proc/${pid}/task/${task}/children`).split(' '))
    .filter(Boolean)
    .map(Number);
}

function readdirOf(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** Limits the files that a running process may write, its log and its store alike, as a full disk does. */
export function limitFileSize(pid: number, limit: string): void {
  const done = spawnSync('prlimit', ['--pid', String(pid), `--fsize=${limit}`]);
  assert.equal(done.status, 0, String(done.stderr));
}
