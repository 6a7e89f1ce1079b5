/**
 * Long work in slices: whoever shares the event loop gets its turn after a few milliseconds.
 * The work asks now and then whether its slice is over, and if so awaits the next one.
 */

import { setImmediate as nextTurn } from 'node:timers/promises';

export interface TimeSlice {
  /** Costs a tenth of a microsecond: in a tight loop, ask once in many rounds. */
  isOver(): boolean;
  /** Lets others run, then begins a new slice. */
  next(): Promise<void>;
  /** Milliseconds of all slices together, without what others had in between. */
  workedMs(): number;
}

/** Leaves room below the 10 ms that nobody may hold the loop. */
const sliceMs = 3;

/** @param nowMs a clock that never goes back */
export function createTimeSlice(nowMs: () => number = () => performance.now()): TimeSlice {
  let startMs = nowMs();
  let beforeMs = 0;
  return {
    isOver: () => nowMs() - startMs >= sliceMs,
    async next() {
      beforeMs += nowMs() - startMs;
      await nextTurn();
      startMs = nowMs();
    },
    workedMs: () => beforeMs + nowMs() - startMs,
  };
}
