/**
 * What each front-end thread holds at the moment, in shared memory: every thread writes its own row
 * now and then, the main thread reads all of them for /metrics and the log. A thread that was
 * replaced begins its row anew.
 */

import type { BoundedTable } from '../../core/bounded-tables.ts';
import { defaultLimits } from '../../http/limits.ts';
import type { Taken } from '../../http/server.ts';

/** Requests of a worker that the main thread works on; probes have places beside them. */
export const workerInFlightMax = 2_048;

type Name = keyof Taken;

/** Of the main thread. The names are those of the tables. */
const limits: Taken = {
  in_flight: defaultLimits.inFlightMax,
  probes: defaultLimits.probesMax,
  arriving_bodies: defaultLimits.waitingMax,
  unread_answers: defaultLimits.waitingMax,
  refused_bodies: defaultLimits.refusedMax,
  body_bytes: defaultLimits.bodyBytesInAllMax,
};
const names = Object.keys(limits) as Name[];

/** How stale a row may be, milliseconds. */
const writeMs = 250;

function limitOf(thread: number, name: Name): number {
  return name === 'in_flight' && thread > 0 ? workerInFlightMax : limits[name];
}

export interface ThreadGauges {
  readonly buffer: SharedArrayBuffer;
  /** Writes the row of this thread from now on. @returns its end */
  write(thread: number, read: () => Taken): () => void;
  /** Each name over all threads, and, where there are several, of each thread: one may be full alone. */
  readonly tables: readonly BoundedTable[];
}

export function createThreadGauges(
  threads: number,
  buffer = new SharedArrayBuffer(threads * names.length * 8),
): ThreadGauges {
  const values = new Float64Array(buffer);
  const all = Array.from({ length: threads }, (_, thread) => thread);
  const of = (thread: number, name: Name) => values[thread * names.length + names.indexOf(name)]!;
  return {
    buffer,
    write(thread, read) {
      const look = () => {
        const held = read();
        for (const [i, name] of names.entries()) {
          values[thread * names.length + i] = held[name];
        }
      };
      look();
      const timer = setInterval(look, writeMs);
      timer.unref();
      return () => clearInterval(timer);
    },
    tables: [
      ...names.map((name) => ({
        name,
        used: () => all.reduce((sum, thread) => sum + of(thread, name), 0),
        limit: all.reduce((sum, thread) => sum + limitOf(thread, name), 0),
      })),
      ...(threads === 1 ? [] : all).flatMap((thread) =>
        names.map((name) => ({
          name: `${name}_of_thread_${thread}`,
          used: () => of(thread, name),
          limit: limitOf(thread, name),
        })),
      ),
    ],
  };
}
