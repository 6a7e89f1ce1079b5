/**
 * Keeps a reserve of file descriptors. At the limit of the process the web server would retry the same connection in
 * a busy loop, and files, mails and backups would fail.
 *
 * So while few descriptors are left no thread listens, and new connections are refused at once. Idle connections end
 * after some seconds, so this does not last longer.
 */

import { statSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { every } from '../../core/every.ts';
import type { Log } from '../../core/log.ts';
import { openFilesMaxNow } from './limits.ts';

const pollMs = 100;
const reserveMax = 256;
const folder = '/proc/self/fd';

/** @param accept false: connections are refused, until true */
export function watchDescriptors(log: Log, accept: (isOn: boolean) => void) {
  let limit = openFilesMaxNow() ?? Number.POSITIVE_INFINITY;
  let isPaused = false;
  let pauses = 0;

  async function poll(): Promise<void> {
    const open = await countDescriptors();
    if (open === undefined) return;
    // Read each time: an operator may change it while the server runs. If no descriptor is left to read it with, the
    // open ones are the limit.
    limit = openFilesMaxNow() ?? Math.min(limit, open);
    judge(open);
  }

  function judge(open: number): void {
    const reserve = Math.min(reserveMax, Math.ceil(limit / 8));
    if (!isPaused && open >= limit - reserve) {
      isPaused = true;
      pauses += 1;
      log.warn(
        { open, limit },
        'open files: nearly all are in use, no connection is taken for now; raise ulimit -n',
      );
      accept(false);
    } else if (isPaused && open < limit - 2 * reserve) {
      accept(true);
      isPaused = false;
      log.warn({ open, limit }, 'open files: connections are taken again');
    }
  }

  const loop = every(pollMs, poll, {
    onFailure: (err) => log.warn({ err }, 'open files: count failed, will retry'),
  });
  return {
    isPaused: () => isPaused,
    /** Returns the number of pauses since the start. */
    pauses: () => pauses,
    stop: loop.stop,
  };
}

export type DescriptorWatch = ReturnType<typeof watchDescriptors>;

/** Linux 6.2 and later say it at once; before, the names must be read. */
async function countDescriptors(): Promise<number | undefined> {
  try {
    return statSync(folder).size || (await readdir(folder)).length;
  } catch (error) {
    // No descriptor is left to count with.
    if ((error as NodeJS.ErrnoException).code === 'EMFILE') return Number.MAX_SAFE_INTEGER;
    return undefined;
  }
}
