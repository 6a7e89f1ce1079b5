/**
 * Tools that a test needs from the operating system. A missing one fails the test, unless
 * ALLOW_MISSING names it (`ALLOW_MISSING=wrk,…`): then it is a skip, and the last line of
 * `npm run test:system` counts it.
 */

import { spawnSync } from 'node:child_process';
import type { TestContext } from 'node:test';

export function isInstalled(name: string): boolean {
  return spawnSync('sh', ['-c', 'command -v "$0"', name]).status === 0;
}

/** True if the test can go on; false after it was skipped. Throws when the tool is missing. */
export function hasTool(context: TestContext, name: string): boolean {
  if (isInstalled(name)) return true;
  const allowed = (process.env.ALLOW_MISSING ?? '').split(',').map((part) => part.trim());
  if (!allowed.includes(name)) {
    throw new Error(`${name} is not installed; ALLOW_MISSING=${name} skips what needs it`);
  }
  context.skip(`missing ${name}`);
  return false;
}

/** True if the kernel lets this user have a network of its own; else it is skipped, and counted. */
export function hasNetworkNamespace(context: TestContext): boolean {
  if (spawnSync('unshare', ['--net', 'true']).status === 0) return true;
  context.skip('missing network-namespace');
  return false;
}

/** True if the kernel lets this user mount what others don't see; else it is skipped, and counted. */
export function hasMountNamespace(context: TestContext): boolean {
  if (spawnSync('unshare', ['--mount', 'true']).status === 0) return true;
  context.skip('missing mount-namespace');
  return false;
}
