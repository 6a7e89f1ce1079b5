/**
 * Lets threads that answer requests go first. On Linux a priority belongs to a thread, and "process
 * 0" is the calling one; elsewhere it would slow the whole process, so nothing is done there.
 */

import { setPriority } from 'node:os';

/** A tenth of the weight of a thread at 0 when both want the processor. */
export const backgroundNiceness = 10;

/** To be called by the thread that steps back; there is no way up again without privileges. */
export function yieldToRequests(): void {
  if (process.platform === 'linux') setPriority(0, backgroundNiceness);
}
