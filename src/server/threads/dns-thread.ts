/** The thread of the DNS block list as its owner sees it: started once, started anew after it failed. */

import { Worker } from 'node:worker_threads';
import { OperatorError } from '../../core/errors.ts';
import type { Log } from '../../core/log/log.ts';
import { createCounters, type DnsOutcome } from '../../doors/dns/counters.ts';
import { type DnsEndpoint, endpointText } from '../../doors/dns/endpoint.ts';
import type { IpIndex } from '../../index/ip-index.ts';
import type { ReaderHandle } from '../../index/reader.ts';
import type { FrontEndMemory } from './front-end.ts';

/** What the thread is started with. */
export interface DnsThreadSetup {
  readonly zone: string;
  readonly nameServers: readonly string[];
  /** Begins the address of a page in TXT records. */
  readonly baseUrl: string;
  /** Endpoints, as they are written. */
  readonly listen: readonly string[];
  /** Addresses and prefixes. */
  readonly allow: readonly string[];
  readonly memory: FrontEndMemory;
  readonly reader: ReaderHandle;
  readonly counters: SharedArrayBuffer;
  /** Drawn at start. */
  readonly seed: number;
}

export type FromDnsThread =
  | { readonly listening: DnsEndpoint }
  | { readonly ready: true }
  | { readonly failed: string };

export interface DnsThread {
  /** Where it listens. */
  readonly endpoints: readonly DnsEndpoint[];
  read(): Iterable<[DnsOutcome, number]>;
  close(): Promise<void>;
}

/** A thread that dies at once again and again must not keep the machine busy with starting it. */
const restartDelayMs = 500;

/** @throws OperatorError when it can't listen */
export async function startDnsThread(
  options: Omit<DnsThreadSetup, 'reader' | 'counters'> & { index: IpIndex; log: Log },
): Promise<DnsThread> {
  const { index, log, ...plain } = options;
  const counters = createCounters();
  let worker: Worker | undefined;
  let ended: Promise<unknown> = Promise.resolve();
  let stopping = false;

  /** @param listen the addresses of the first start, with the ports that it found */
  async function start(listen: readonly string[]): Promise<readonly DnsEndpoint[]> {
    const reader = index.openReader();
    if (reader === undefined) throw new Error('no reader is left in the index');
    const setup: DnsThreadSetup = { ...plain, listen, reader, counters: counters.buffer };
    const started = new Worker(new URL('./dns-thread.worker.js', import.meta.url), {
      workerData: setup,
      name: 'dns',
    });
    worker = started;
    const endpoints: DnsEndpoint[] = [];
    let reason = 'it ended';
    ended = new Promise((resolve) => started.once('exit', resolve));
    return new Promise((resolve, reject) => {
      let isReady = false;
      started.on('message', (message: FromDnsThread) => {
        if ('listening' in message) endpoints.push(message.listening);
        else if ('failed' in message) reason = message.failed;
        else {
          isReady = true;
          resolve(endpoints);
        }
      });
      started.on('error', (error) => {
        reason = String(error);
      });
      started.on('exit', () => {
        index.closeReader(reader);
        if (!isReady)
          return reject(new OperatorError(`DNS_LISTEN ${listen.join(', ')}: ${reason}`));
        if (stopping) return;
        log.error({ reason }, 'dns: the thread failed');
        setTimeout(restart, restartDelayMs, endpoints.map(endpointText)).unref();
      });
    });
  }

  function restart(listen: readonly string[]): void {
    if (stopping) return;
    start(listen).then(
      () => log.warn('dns: thread replaced'),
      () => setTimeout(restart, restartDelayMs, listen).unref(),
    );
  }

  const endpoints = await start(options.listen);
  log.info({ zone: plain.zone, listen: endpoints.map(endpointText) }, 'dns: listening');
  return {
    endpoints,
    read: counters.read,
    async close() {
      stopping = true;
      await worker?.terminate();
      await ended;
    },
  };
}
