/** Commands as a user who owns nothing, for tests about permissions. */

import { spawnSync } from 'node:child_process';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { spawn } from './spawn.ts';

const nobody = 65_534;
const entry = fileURLToPath(new URL('../../../../bin/portcullis.js', import.meta.url));

/** True if this process may become another user who can read the program; else it is skipped, and counted. */
export function hasOtherUser(context: TestContext): boolean {
  const looked = spawnSync('test', ['-r', entry], { uid: nobody, gid: nobody });
  if (looked.status === 0 && process.getuid?.() !== nobody) return true;
  context.skip('missing another-user');
  return false;
}

interface OtherResult {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command as that user. */
export function startAsOther(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<OtherResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [entry, ...args], {
      env: { PATH: process.env.PATH ?? '', ...env },
      uid: nobody,
      gid: nobody,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let [stdout, stderr] = ['', ''];
    child.stdout!.on('data', (chunk) => {
      stdout += String(chunk);
    });
    child.stderr!.on('data', (chunk) => {
      stderr += String(chunk);
    });
    child.once('error', reject);
    child.once('close', (code, signal) => resolve({ code, signal, stdout, stderr }));
  });
}
