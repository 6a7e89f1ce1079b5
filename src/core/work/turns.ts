/**
 * Cooperative scheduling of long work: it runs in slices, so that other work of the event loop gets
 * its turn after a few milliseconds. The work asks now and then whether its turn is over, and if so
 * awaits the next one.
 *
 * Jobs that share one `Turns` get one slice of all of them per turn of the loop. (Callbacks of
 * `setImmediate` that wait together run together: a hundred jobs that each yielded by themselves
 * would still hold the loop for a hundred slices.)
 */

export interface Turns {
  /** Resolves when it is this job's turn. First come, first served. */
  next(): Promise<void>;
  /**
   * Returns true when the turn that was given last has lasted long enough: ask for the next one. Costs a
   * tenth of a microsecond: in a tight loop, ask once in many rounds.
   */
  isOver(): boolean;
  /** Returns the milliseconds within turns, without those between; only right for a single job. */
  workedMs(): number;
}

/** The part of `Turns` that sliced work uses. `next` may reject to stop the work. */
export type Pace = Pick<Turns, 'next' | 'isOver'>;

/** Length of one turn. It leaves room below the 10 ms for which the loop may be held at most. */
const turnMs = 3;

/** The first turn begins at once. @param nowMs a clock that never goes back */
export function createTurns(nowMs: () => number = () => performance.now()): Turns {
  const waiting: (() => void)[] = [];
  let startMs = nowMs();
  let beforeMs = 0;

  function give(): void {
    startMs = nowMs();
    waiting.shift()?.();
    if (waiting.length > 0) setImmediate(give);
  }

  return {
    next() {
      beforeMs += nowMs() - startMs;
      return new Promise((resolve) => {
        if (waiting.push(resolve) === 1) setImmediate(give);
      });
    },
    isOver: () => nowMs() - startMs >= turnMs,
    workedMs: () => beforeMs + nowMs() - startMs,
  };
}
