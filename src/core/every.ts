/**
 * Repeats work at intervals: one run at a time, the next run whatever became of the last one, and an
 * end that waits for the run under way. The process may end between two runs.
 */

export interface Run {
  readonly signal: AbortSignal;
  /** Delays or hastens the next run, milliseconds; the one after it follows the interval again. */
  readonly wait: (ms: number) => void;
}

interface EveryOptions {
  /** Called with what a run threw. Absent: that is a bug, and ends the process. */
  readonly onFailure?: (error: unknown) => void;
  /** The first run begins at once, not after the first interval. */
  readonly isImmediate?: boolean;
}

/** Runs the work each `ms` milliseconds, except while it still runs. */
export function every(
  ms: number,
  work: (run: Run) => unknown,
  { onFailure, isImmediate = false }: EveryOptions = {},
) {
  const stopping = new AbortController();
  const { signal } = stopping;
  let running: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;

  function wait(waitMs: number): void {
    clearTimeout(timer);
    if (signal.aborted) return;
    timer = setTimeout(next, waitMs);
    timer.unref();
  }

  function next(): void {
    wait(ms);
    void run();
  }

  async function once(): Promise<void> {
    try {
      await work({ signal, wait });
    } catch (error) {
      if (onFailure === undefined) throw error;
      onFailure(error);
    }
  }

  function run(): Promise<void> {
    if (!signal.aborted) {
      running ??= once().finally(() => {
        running = undefined;
      });
    }
    return running ?? Promise.resolve();
  }

  if (isImmediate) next();
  else wait(ms);
  return {
    /** Runs the work now. @returns the end of that run, or of the one under way */
    run,
    wait,
    /** Ends the loop. @returns the end of the run under way */
    async stop(): Promise<void> {
      stopping.abort();
      clearTimeout(timer);
      await running;
    },
  };
}

export type Loop = ReturnType<typeof every>;
