/**
 * Requests by front-end thread, route and status class, in shared memory: each thread writes
 * its own row without atomics, the main thread adds them up when /metrics is asked.
 */

import { monitorEventLoopDelay } from 'node:perf_hooks';
import { every } from '../../core/every.ts';
import { defaultLimits } from '../../http/limits/limits.ts';
import type { TransportUsage } from '../../http/server.ts';

// Gauges of each front-end thread. Every thread writes its own row from time to time; the main thread reads all of
// them for /metrics and the log. A thread that replaces another one resets the row.

/**
 * Returns how many requests of a front end the main thread works on at once; health checks have
 * request slots of their own. With several front ends, each has half of what a single one has.
 */
export function inFlightMaxOf(threads: number): number {
  return threads === 1 ? defaultLimits.inFlightMax : defaultLimits.inFlightMax / 2;
}

type Name = keyof TransportUsage;

/** Limits of a front end without others. The names are those of the tables. */
const limits: TransportUsage = {
  in_flight: defaultLimits.inFlightMax,
  probes: defaultLimits.probesMax,
  arriving_bodies: defaultLimits.waitingMax,
  unread_answers: defaultLimits.waitingMax,
  unread_bytes: defaultLimits.unreadBytesInAllMax,
  refused_bodies: defaultLimits.refusedMax,
  body_bytes: defaultLimits.bodyBytesInAllMax,
};
const names = Object.keys(limits) as Name[];

/** The interval between writes of a row, milliseconds. */
const writeMs = 250;
/** Least time over which the longest pause is reported: a scrape each quarter of a minute sees all. */
const pauseWindowMs = 15_000;
const pauseResolutionMs = 10;
/** A row: what is held, by name, and the longest pause in seconds. */
const columns = names.length + 1;

/** The longest pause in this window and the one before it. */
function watchPauses(): { longest(): number; stop(): void } {
  const delay = monitorEventLoopDelay({ resolution: pauseResolutionMs });
  delay.enable();
  let before = 0;
  let beganMs = performance.now();
  return {
    longest() {
      const now = Math.max(0, delay.max / 1e9 - pauseResolutionMs / 1_000);
      const longest = Math.max(before, now);
      if (performance.now() - beganMs > pauseWindowMs) {
        before = now;
        beganMs = performance.now();
        delay.reset();
      }
      return longest;
    },
    stop: () => void delay.disable(),
  };
}

export function createThreadGauges(
  threads: number,
  buffer = new SharedArrayBuffer((threads + 1) * columns * 8),
) {
  const values = new Float64Array(buffer);
  const all = Array.from({ length: threads }, (_, thread) => thread);
  const of = (thread: number, name: Name) => values[thread * columns + names.indexOf(name)]!;
  const pauseOf = (thread: number) => values[thread * columns + names.length]!;
  const limitOf = (name: Name) => (name === 'in_flight' ? inFlightMaxOf(threads) : limits[name]);
  /** The main thread's stands behind those of the front ends. */
  function write(row: number, read: () => TransportUsage | undefined): () => void {
    const pauses = watchPauses();
    const sample = () => {
      const held = read();
      for (const [i, name] of names.entries()) {
        values[row * columns + i] = held?.[name] ?? 0;
      }
      values[row * columns + names.length] = pauses.longest();
    };
    const loop = every(writeMs, sample, { isImmediate: true });
    return () => {
      void loop.stop();
      pauses.stop();
    };
  }
  return {
    buffer,
    /** Writes the row of a front end from now on. @returns its end */
    write,
    /** The same of the main thread, which holds nothing of the transport. */
    writeMain: (): (() => void) => write(threads, () => undefined),
    /** Longest pause of each thread's event loop in the last 15 to 30 s, in seconds. */
    pauses: (): Iterable<[thread: string, seconds: number]> => [
      ...all.map((thread): [string, number] => [String(thread), pauseOf(thread)]),
      ['main', pauseOf(threads)],
    ],
    /** Each name over all threads, and, where there are several, of each thread: one may be full alone. */
    tables: [
      ...names.map((name) => ({
        name,
        used: () => all.reduce((sum, thread) => sum + of(thread, name), 0),
        limit: threads * limitOf(name),
      })),
      ...(threads === 1 ? [] : all).flatMap((thread) =>
        names.map((name) => ({
          name: `${name}_of_thread_${thread}`,
          used: () => of(thread, name),
          limit: limitOf(name),
        })),
      ),
    ],
  };
}

export type ThreadGauges = ReturnType<typeof createThreadGauges>;

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
      // Nearly all requests are checks that are answered: the cell of the last one is kept.
      let [lastPath, lastStatus, cell]: [string | undefined, number, number] = [undefined, 0, 0];
      return (path, status) => {
        if (path !== lastPath || status !== lastStatus) {
          [lastPath, lastStatus] = [path, status];
          const row = rowOf.get(path) ?? routes.length - 1;
          cell = base + row * classes + Math.floor(status / 100);
        }
        counts[cell]! += 1;
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
