/**
 * Long work in slices, one slice of all such work per turn of the event loop. (Callbacks of
 * `setImmediate` that wait together run together: a hundred jobs that each gave way by
 * themselves would still hold the loop for a hundred slices.)
 */

import type { Clock } from './clock.ts';

export interface Turns {
  /** Resolves when it is this job's turn. First come, first served. */
  next(): Promise<void>;
  /** True when the turn that was given last has lasted long enough: ask for the next one. */
  isOver(): boolean;
}

/** What one turn may take; requests that arrive meanwhile wait so long. */
const turnMs = 3;

export function createTurns(clock: Clock): Turns {
  const waiting: (() => void)[] = [];
  let endMs = 0;

  function give(): void {
    endMs = clock.monotonicMs() + turnMs;
    waiting.shift()?.();
    if (waiting.length > 0) setImmediate(give);
  }

  return {
    next: () =>
      new Promise((resolve) => {
        if (waiting.push(resolve) === 1) setImmediate(give);
      }),
    isOver: () => clock.monotonicMs() >= endMs,
  };
}
