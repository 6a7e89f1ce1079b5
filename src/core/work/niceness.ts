/**
 * Lets threads that answer requests go first. On Linux a priority belongs to a thread, and "process
 * 0" is the calling one; elsewhere it would slow the whole process, so nothing is done there.
 */

import { getPriority, setPriority } from 'node:os';

/** The threads' niceness above the process: a tenth of its weight when both want the processor. */
export const niceBehind = 10;
const nicest = 19;

/** To be called by the thread that steps back; there is no way up again without privileges. */
export function yieldToRequests(): void {
  if (process.platform !== 'linux') return;
  setPriority(0, Math.min(nicest, getPriority(0) + niceBehind));
}
