/**
 * Runs the thread that builds feeds, one build at a time. The first build starts the thread; after a failure the next
 * build starts it again.
 */

import { Worker } from 'node:worker_threads';
import type { IpIndex } from '../../index/ip-index.ts';
import type { ReaderHandle } from '../../index/reader.ts';
import type {
  Built,
  RestoredBuild,
  StoredBuild,
} from '../../reputation/blocklists/builder/build.ts';
import type { OperatorTexts } from '../../reputation/blocklists/pieces/lines.ts';
import type { BuildThread } from '../../reputation/blocklists/publish.ts';

export interface FeedThreadSetup {
  readonly reader: ReaderHandle;
  readonly geo: SharedArrayBuffer;
  readonly operatorTexts: OperatorTexts;
  readonly restored: RestoredBuild | undefined;
  readonly rowsMax: number;
  readonly entriesMax: number;
}

export type ToFeedThread =
  | { readonly nowMs: number; readonly adopted?: StoredBuild }
  | { readonly end: true };
export type FromFeedThread = { readonly built: Built | undefined } | { readonly failed: string };

/**
 * A thread that is terminated while it makes a compressor takes the whole process with it (seen
 * with Node 20: "close before init"). So it is asked to end, and terminated only when it doesn't
 * react.
 */
const endMsMaxDefault = 6_000;

export function openFeedThread(options: {
  index: IpIndex;
  geo: SharedArrayBuffer;
  operatorTexts: OperatorTexts;
  rowsMax: number;
  entriesMax: number;
  endMsMax?: number;
}): (restored: RestoredBuild | undefined) => BuildThread {
  const { index, endMsMax = endMsMaxDefault, ...plain } = options;
  return (restored) => {
    const reader = index.openReader();
    if (reader === undefined) throw new Error('no reader is left in the index');
    const setup: FeedThreadSetup = { ...plain, reader, restored };
    const worker = new Worker(new URL('./feed-thread.worker.js', import.meta.url), {
      workerData: setup,
      name: 'feeds',
    });
    let waiting:
      | { resolve: (built: Built | undefined) => void; reject: (error: Error) => void }
      | undefined;
    let ended = false;
    function failWith(error: Error): void {
      waiting?.reject(error);
      waiting = undefined;
    }
    worker.on('message', (message: FromFeedThread) => {
      if ('failed' in message) return failWith(new Error(`the building thread: ${message.failed}`));
      waiting?.resolve(message.built);
      waiting = undefined;
    });
    const gone = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
    worker.on('error', (error) => failWith(error as Error));
    worker.on('exit', () => {
      ended = true;
      index.closeReader(reader);
      failWith(new Error('the building thread ended'));
    });
    function ask(message: ToFeedThread): Promise<Built | undefined> {
      if (ended) return Promise.reject(new Error('the building thread has ended'));
      return new Promise((resolve, reject) => {
        waiting = { resolve, reject };
        worker.postMessage(message);
      });
    }
    return {
      build: (nowMs) => ask({ nowMs }),
      adopt: (nowMs, adopted) => ask({ nowMs, adopted }),
      async close() {
        if (ended) return;
        worker.postMessage({ end: true } satisfies ToFeedThread);
        const timer = setTimeout(() => worker.terminate(), endMsMax);
        await gone;
        clearTimeout(timer);
      },
    };
  };
}
