/**
 * Requests by front-end thread, route and status class, in shared memory: each thread writes
 * its own row without atomics, the main thread adds them up when /metrics is asked.
 */

/** 0 stands for "the client left first", 1 to 5 for the hundreds of the status. */
const classes = 6;

/** @param paths the routes' patterns, in the same order in every thread */
export function createThreadCounters(
  threads: number,
  paths: readonly string[],
  buffer = new SharedArrayBuffer(threads * (paths.length + 1) * classes * 8),
) {
  const counts = new Float64Array(buffer);
  // The last row of a thread is for requests that no route matched.
  const routes = [...new Set(paths), ''];
  const rowOf = new Map(routes.map((path, row) => [path, row]));
  const width = routes.length * classes;
  return {
    buffer,
    /** The counting side of one thread; given to the transport. */
    recorder(thread: number): (path: string, status: number) => void {
      const base = thread * width;
      // Nearly all requests are checks that are answered: the place of the last one is kept.
      let [lastPath, lastStatus, place]: [string | undefined, number, number] = [undefined, 0, 0];
      return (path, status) => {
        if (path !== lastPath || status !== lastStatus) {
          [lastPath, lastStatus] = [path, status];
          const row = rowOf.get(path) ?? routes.length - 1;
          place = base + row * classes + Math.floor(status / 100);
        }
        counts[place]! += 1;
      };
    },
    *read(): Iterable<[{ thread: string; route: string; status: string }, number]> {
      for (let thread = 0; thread < threads; thread++) {
        for (const [row, path] of routes.entries()) {
          for (let kind = 0; kind < classes; kind++) {
            const value = counts[thread * width + row * classes + kind]!;
            if (value === 0) continue;
            const status = kind === 0 ? 'aborted' : `${kind}xx`;
            yield [{ thread: String(thread), route: path || 'none', status }, value];
          }
        }
      }
    },
  };
}

export type ThreadCounters = ReturnType<typeof createThreadCounters>;
