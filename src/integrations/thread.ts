/**
 * The thread of an integration that listens itself: where it listens, and its start, also after it
 * failed. The script is app's: it opens the shared memory and runs the integration in it.
 */

import { once } from 'node:events';
import type { Server } from 'node:net';
import { Worker } from 'node:worker_threads';
import type { AccountsTable } from '../access/accounts/accounts-table.ts';
import type { KeyTableReader } from '../access/keys/key-table.ts';
import type { NoteMark } from '../access/marks.ts';
import type { Quotas } from '../access/quota/quota.ts';
import type { Judge } from '../contracts/reputation.ts';
import type { Clock } from '../core/clock.ts';
import { OperatorError } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import type { IpIndex } from '../index/ip-index.ts';
import type { IndexRead, IpIndexReader, ReaderHandle } from '../index/reader.ts';
import { formatIp, type IpFamily, readIp } from '../ip/address.ts';

/** The address and the port at which an integration listens. */
export interface IntegrationEndpoint {
  readonly family: IpFamily;
  /** Canonical text. */
  readonly address: string;
  readonly port: number;
}

const pattern = /^(?:\[([0-9a-fA-F:.]+)\]|([0-9.]+)):(\d{1,5})$/;

/**
 * `192.0.2.1:53`, `[2001:db8::1]:53`. Undefined for anything else, and for the wildcards: an answer
 * over UDP would leave from whatever address the system picks, and its client would not take it.
 */
export function parseHostPort(text: string): IntegrationEndpoint | undefined {
  const [, bracketed, quad, digits] = pattern.exec(text) ?? [];
  const ip = readIp(bracketed ?? quad ?? '');
  const port = Number(digits);
  // An IPv4 address in brackets would be a second spelling; one is enough.
  if (ip === undefined || port > 65_535) return undefined;
  const { family, words } = ip;
  if ((family === 4) !== (quad !== undefined) || words.every((word) => word === 0))
    return undefined;
  return { family, address: formatIp(family, words), port };
}

/** As it is written in settings. */
function endpointText({ family, address, port }: IntegrationEndpoint): string {
  return family === 6 ? `[${address}]:${port}` : `${address}:${port}`;
}

/** @throws the system's error, such as EADDRINUSE */
export async function listenAt(
  server: Server,
  { address, port }: IntegrationEndpoint,
): Promise<void> {
  server.listen({ host: address, port, ipv6Only: true });
  await once(server, 'listening');
}

/** Shared memory as an integration has it in its thread. */
export interface ThreadParts {
  readonly listen: readonly IntegrationEndpoint[];
  /** To be called for each endpoint, with the port that was taken. */
  readonly onListening: (endpoint: IntegrationEndpoint) => void;
  readonly clock: Clock;
  readonly log: Log;
  readonly index: IpIndexReader;
  readonly judge: Judge;
  readonly accounts: AccountsTable;
  readonly quotas: Quotas;
  readonly keys: KeyTableReader;
  readonly noteMark: NoteMark;
  /** The key that passes are signed with. */
  readonly passKey: Uint8Array;
  /** Runs a piece of work while the index may be read. */
  readonly inIndexRead: IndexRead;
}

/** An integration that runs in its thread. */
export interface RunningIntegration {
  drain?(): void;
  /** Ends what holds the thread. Left out: it may be ended at any moment. */
  close?(): Promise<void>;
}

export interface IntegrationThreadSetup {
  /** Endpoints, as they are written. */
  readonly listen: readonly string[];
  readonly reader: ReaderHandle;
}

export type FromIntegrationThread =
  | { readonly listening: IntegrationEndpoint }
  | { readonly ready: true }
  | { readonly failed: string };

export type ToIntegrationThread = 'drain' | 'end';

/** A thread that dies at once again and again must not keep the machine busy with starting it. */
const restartDelayMs = 500;

export function createThreadStarter(shared: {
  readonly script: URL;
  /** Goes to each thread. */
  readonly setup: object;
  readonly index: IpIndex;
  readonly log: Log;
}) {
  const { index, log } = shared;

  /** @throws OperatorError when it can't listen */
  return async (options: {
    /** Which integration the script runs. It begins the lines of the log, too. */
    readonly name: string;
    /** Which setting says where it listens. */
    readonly setting: string;
    readonly listen: readonly string[];
    /** Its needs besides `ThreadParts`. */
    readonly own: object;
    /** Shown in the line of the log that says where it listens. */
    readonly facts?: object;
    /** Time for a stop, milliseconds; left out: the thread may be ended at any moment. */
    readonly endMsMax?: number;
  }) => {
    const { name, setting, own, facts, endMsMax = 0 } = options;
    let worker: Worker | undefined;
    let ended: Promise<unknown> = Promise.resolve();
    let stopping = false;
    let isDraining = false;
    const send = (message: ToIntegrationThread) => worker?.postMessage(message);

    /** @param listen the addresses of the first start, with the ports that it found */
    async function start(listen: readonly string[]): Promise<readonly string[]> {
      const reader = index.openReader();
      if (reader === undefined) throw new Error('no reader is left in the index');
      const workerData = { ...shared.setup, name, own, listen, reader };
      const started = new Worker(shared.script, { workerData, name });
      worker = started;
      const endpoints: string[] = [];
      let reason = 'it ended';
      ended = new Promise((resolve) => started.once('exit', resolve));
      return new Promise((resolve, reject) => {
        let isReady = false;
        started.on('message', (message: FromIntegrationThread) => {
          if ('listening' in message) endpoints.push(endpointText(message.listening));
          else if ('failed' in message) reason = message.failed;
          else {
            isReady = true;
            if (isDraining) send('drain');
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
          setTimeout(restart, restartDelayMs, endpoints).unref();
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

    log.info({ ...facts, listen: await start(options.listen) }, `${name}: listening`);
    return {
      drain() {
        isDraining = true;
        send('drain');
      },
      async close() {
        stopping = true;
        if (endMsMax > 0) send('end');
        const timer = setTimeout(() => worker?.terminate(), endMsMax);
        await ended;
        clearTimeout(timer);
      },
    };
  };
}

export type StartThread = ReturnType<typeof createThreadStarter>;
