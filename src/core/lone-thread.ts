/**
 * One thread for work that comes now and then: it starts at the first job and ends after a quiet minute.
 * It stands apart from threads.ts, since threads that answer requests load that one, and no pool.
 */

import { Piscina } from 'piscina';
import { minuteMs } from './time.ts';

const idleTimeoutMs = minuteMs;

/**
 * @param worker the compiled module
 * @param waitingMax jobs that wait at most; beyond, `run` rejects
 */
export function openLoneThread<Job, Answer>(worker: URL, waitingMax: number) {
  const pool = new Piscina<Job, Answer>({
    filename: worker.href,
    minThreads: 0,
    maxThreads: 1,
    maxQueue: waitingMax,
    idleTimeout: idleTimeoutMs,
    recordTiming: false,
  });
  let closed = false;
  return {
    async run(job: Job): Promise<Answer> {
      // A destroyed piscina pool would start new threads.
      if (closed) throw new Error('the thread is closed');
      return pool.run(job);
    },
    waiting: () => pool.queueSize,
    isClosed: () => closed,
    async close(): Promise<void> {
      closed = true;
      await pool.destroy();
    },
  };
}
