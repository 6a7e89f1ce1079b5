/**
 * A download in a thread of its own: reading, unpacking and sorting a list of millions of rows takes
 * seconds, and nothing on the main thread waits for it. The thread is asked to end, never killed in
 * the middle: Node 20 ends the whole process when a thread goes while it makes a decompressor.
 */

import { Worker } from 'node:worker_threads';
import { minuteMs } from '../../../core/time.ts';
import type { RowBatch } from '../../state/events.ts';
import type { Validators } from '../import/download.ts';
import { type BadLine, batchRowsMax } from '../import/rows.ts';
import type { SubscriptionTerms } from './subscriptions.ts';

/** Bounds of one download. */
export interface FetchBounds {
  /** After unpacking. */
  readonly bytesMax: number;
  readonly rowsMax: number;
  /** Bound on the wait for an answer, and for each next piece. */
  readonly waitMsMax: number;
  readonly fetchMsMax: number;
}

export const fetchBounds: FetchBounds = {
  bytesMax: 256 * 1024 * 1024,
  rowsMax: 4_000_000,
  waitMsMax: 30_000,
  fetchMsMax: 10 * minuteMs,
};

export interface FetchJob extends FetchBounds {
  readonly terms: Pick<
    SubscriptionTerms,
    'url' | 'format' | 'confidence' | 'allowDocumentation' | 'service'
  >;
  readonly allowPrivate: boolean;
  /** Validators of the rows that are here and complete; undefined: all is to be sent. */
  readonly known: Validators | undefined;
}

export interface FetchedRows {
  readonly batches: readonly RowBatch[];
  readonly rows: number;
  /** SHA-256 of the rows, base64url. */
  readonly digest: string;
  readonly badLines: number;
  readonly samples: readonly BadLine[];
  readonly leftOut: number;
  readonly validators: Validators;
}

/** As the thread sends it: all rows in one array a field. Thousands of small ones take 60 ms to receive. */
export type SentRows = { readonly sent: Omit<FetchedRows, 'batches'>; readonly all: RowBatch };

export type Fetched =
  | { readonly fetched: FetchedRows }
  | { readonly unchanged: true }
  /** `waitMs`: the server wants to be left alone for as long. */
  | { readonly failed: string; readonly waitMs?: number };

/** A thread that has not ended by then is in one long sort at most. */
const endMsMax = 2_000;

/** @param signal asks the thread to end; its answer is then of no interest */
export function fetchInThread(job: FetchJob, signal: AbortSignal): Promise<Fetched> {
  const worker = new Worker(new URL('./fetch.worker.js', import.meta.url), {
    workerData: job,
    name: 'list',
  });
  let late: NodeJS.Timeout | undefined;
  function end(): void {
    worker.postMessage('end');
    late ??= setTimeout(() => void worker.terminate(), endMsMax);
  }
  signal.addEventListener('abort', end, { once: true });
  if (signal.aborted) end();
  return new Promise<Fetched>((resolve) => {
    let answer: Fetched = { failed: 'the thread that reads it ended' };
    worker.once('message', (message: SentRows | Exclude<Fetched, { fetched: unknown }>) => {
      answer =
        'sent' in message
          ? { fetched: { ...message.sent, batches: inBatches(message.all) } }
          : message;
    });
    worker.once('error', (error: Error) => {
      answer = { failed: `the thread that reads it failed: ${error.message}` };
    });
    worker.once('exit', () => {
      clearTimeout(late);
      signal.removeEventListener('abort', end);
      resolve(answer);
    });
  });
}

function inBatches({ count, families, words, lengths, scores, reports }: RowBatch): RowBatch[] {
  return Array.from({ length: Math.ceil(count / batchRowsMax) }, (_, i) => {
    const from = i * batchRowsMax;
    const to = Math.min(count, from + batchRowsMax);
    return {
      count: to - from,
      families: families.subarray(from, to),
      words: words.subarray(4 * from, 4 * to),
      lengths: lengths.subarray(from, to),
      scores: scores.subarray(from, to),
      ...(reports === undefined ? {} : { reports: reports.subarray(from, to) }),
    };
  });
}
