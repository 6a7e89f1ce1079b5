/**
 * Runs the thread of an integration with its own listener: starts it, and again after it failed.
 */

import { Worker } from 'node:worker_threads';
import { OperatorError } from '../../../core/errors.ts';
import type { Log } from '../../../core/log.ts';
import type { IpIndex } from '../../../index/ip-index.ts';
import type { ReaderHandle } from '../../../index/reader.ts';
import { endpointText, type IntegrationEndpoint } from '../../../integrations/endpoint.ts';

/** Setup that all such threads share. */
export interface IntegrationThreadSetup {
  /** Endpoints, as they are written. */
  readonly listen: readonly string[];
  readonly reader: ReaderHandle;
}

export type FromIntegrationThread =
  | { readonly listening: IntegrationEndpoint }
  | { readonly ready: true }
  | { readonly failed: string };

/** Only threads that say so listen to it. */
export type ToIntegrationThread = { readonly drain: true } | { readonly end: true };

export interface IntegrationThread {
  /** Endpoints that it listens on, with the ports that were taken. */
  readonly endpoints: readonly IntegrationEndpoint[];
  drain(): void;
  close(): Promise<void>;
}

/** A thread that dies at once again and again must not keep the machine busy with starting it. */
const restartDelayMs = 500;

/** @throws OperatorError when it can't listen */
export async function startIntegrationThread<Setup extends IntegrationThreadSetup>(options: {
  /** Also begins its lines in the log. */
  readonly name: string;
  readonly script: URL;
  /** Which setting says where it listens. */
  readonly setting: string;
  readonly listen: readonly string[];
  readonly setup: Omit<Setup, keyof IntegrationThreadSetup>;
  /** Its first line in the log: with endpoints as they are written. */
  readonly send: (listen: readonly string[]) => void;
  /** Time for a stop, milliseconds; 0: the thread may be ended at any moment. */
  readonly endMsMax: number;
  readonly index: IpIndex;
  readonly log: Log;
}): Promise<IntegrationThread> {
  const { name, script, setting, endMsMax, index, log } = options;
  let worker: Worker | undefined;
  let ended: Promise<unknown> = Promise.resolve();
  let stopping = false;
  let isDraining = false;

  /** @param listen the addresses of the first start, with the ports that it found */
  async function start(listen: readonly string[]): Promise<readonly IntegrationEndpoint[]> {
    const reader = index.openReader();
    if (reader === undefined) throw new Error('no reader is left in the index');
    const started = new Worker(script, { workerData: { ...options.setup, listen, reader }, name });
    worker = started;
    const endpoints: IntegrationEndpoint[] = [];
    let reason = 'it ended';
    ended = new Promise((resolve) => started.once('exit', resolve));
    return new Promise((resolve, reject) => {
      let isReady = false;
      started.on('message', (message: FromIntegrationThread) => {
        if ('listening' in message) endpoints.push(message.listening);
        else if ('failed' in message) reason = message.failed;
        else {
          isReady = true;
          if (isDraining) started.postMessage({ drain: true } satisfies ToIntegrationThread);
          resolve(endpoints);
        }
      });
      started.on('error', (error) => {
        reason = String(error);
      });
      started.on('exit', () => {
        index.closeReader(reader);
        if (!isReady)
          return reject(new OperatorError(`${setting} ${listen.join(', ')}: ${reason}`));
        if (stopping) return;
        log.error({ reason }, `${name}: the thread failed`);
        setTimeout(restart, restartDelayMs, endpoints.map(endpointText)).unref();
      });
    });
  }

  function restart(listen: readonly string[]): void {
    if (stopping) return;
    start(listen).then(
      () => log.warn(`${name}: thread replaced`),
      () => setTimeout(restart, restartDelayMs, listen).unref(),
    );
  }

  const endpoints = await start(options.listen);
  options.send(endpoints.map(endpointText));
  return {
    endpoints,
    drain() {
      isDraining = true;
      worker?.postMessage({ drain: true } satisfies ToIntegrationThread);
    },
    async close() {
      stopping = true;
      if (endMsMax > 0) worker?.postMessage({ end: true } satisfies ToIntegrationThread);
      const timer = setTimeout(() => worker?.terminate(), endMsMax);
      await ended;
      clearTimeout(timer);
    },
  };
}
