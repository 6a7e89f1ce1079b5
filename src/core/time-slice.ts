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
}

/** Leaves room below the 10 ms that nobody may hold the loop. */
const sliceMsDefault = 3;

export function createTimeSlice(sliceMs: number = sliceMsDefault): TimeSlice {
  let endMs = performance.now() + sliceMs;
  return {
    isOver: () => performance.now() >= endMs,
    async next() {
      await nextTurn();
      endMs = performance.now() + sliceMs;
    },
  };
}
