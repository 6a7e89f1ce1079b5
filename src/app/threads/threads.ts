/**
 * The front-end threads: started, watched, replaced when one dies, and stopped.
 *
 * Each has its own event loop and its own listening socket on the shared port. It reads the
 * shared memory itself and sends everything else here.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import { OperatorError } from '../../core/errors.ts';
import type { Log } from '../../core/log.ts';
import type { Metrics } from '../../core/metrics.ts';
import { type AnsweringThread, lowerOtherThreads } from '../../core/threads.ts';
import { type TimedWork, type Timings, timingBounds } from '../../core/timings.ts';
import { problemHeader } from '../../http/answer/wire.ts';
import { type ServeForwardedOptions, serveForwarded } from '../../http/forward.ts';
import {
  type DescriptorWatch,
  openFilesWarning,
  watchDescriptors,
} from '../../http/limits/limits.ts';
import { type CheckedBuild, loadNative } from '../../http/native.ts';
import { claimPort, type PortClaim } from '../../http/port-claim.ts';
import { createRouter, type Route } from '../../http/router.ts';
import type { UnixSocket } from '../../http/unix-socket.ts';
import type { IpIndex } from '../../index/ip-index.ts';
import type { ReaderHandle } from '../../index/reader.ts';
import type { Brand } from '../../web/assets.ts';
import type { SiteLinks } from '../../web/layout/layout.tsx';
import type { ServerContext } from '../data.ts';
import { describeForwarded, type ForwardedRoute, pathsOf } from './forwarded.ts';
import type { FrontEndMemory, SharedFiles } from './front-end.ts';
import {
  createThreadCounters,
  createThreadGauges,
  type ThreadCounters,
  type ThreadGauges,
} from './thread-counters.ts';

interface ServingFacts {
  readonly host: string;
  readonly port: number;
  /** Each belongs to one thread: the system lets one alone listen at a path. */
  readonly sockets: readonly UnixSocket[];
  readonly memory: FrontEndMemory;
  readonly counters: SharedArrayBuffer;
  /** See thread-counters.ts. */
  readonly gauges: SharedArrayBuffer;
  /** See core/timings.ts. */
  readonly timings: SharedArrayBuffer;
  readonly threads: number;
  /** Patterns in the order of the counters' rows. */
  readonly paths: readonly string[];
  readonly forwarded: readonly ForwardedRoute[];
  readonly trustedProxies: readonly string[];
  readonly https: boolean;
  readonly brand: Brand;
  readonly links: SiteLinks;
  readonly clientLimits: boolean;
  readonly logLevel: string;
  /** The build that the main thread has checked and loaded. */
  readonly webServer: CheckedBuild;
  readonly accessLog: string | undefined;
}

export interface ThreadSetup extends ServingFacts {
  readonly thread: number;
  readonly reader: ReaderHandle;
  /** Requests for the main thread. */
  readonly forwardPort: MessagePort;
}

/** `release`: shared buffers that the thread has sent are of no more use. */
export type ToThread =
  | { readonly stop: true; readonly graceMs: number }
  | { readonly drain: true }
  | { readonly accept: boolean }
  | { readonly release: true }
  | { readonly reopen: true }
  | { readonly serve: SharedFiles };
/** `isForOperator`: the text is for the operator, who can mend it. */
export type FromThread =
  | { readonly listening: true; readonly answering: AnsweringThread | undefined }
  | { readonly failed: string; readonly isForOperator: boolean };

interface ThreadsOptions {
  /** Everything that is cloned into each thread. */
  readonly facts: ServingFacts;
  readonly index: IpIndex;
  /** Routes of the main thread, for what the workers send here. */
  readonly routes: readonly Route[];
  readonly log: Log;
}

/** A thread that dies at once again and again must not keep the machine busy with starting it. */
const restartDelayMs = 200;

export async function startThreads(options: ThreadsOptions) {
  const { facts, index, log } = options;
  const workers = new Map<number, Worker>();
  const handle = forwardedHandler(options.routes);
  let listening = 0;
  let replaced = 0;
  let stopping = false;
  let serving: SharedFiles = {};

  async function start(thread: number): Promise<AnsweringThread | undefined> {
    const reader = index.openReader();
    if (reader === undefined) throw new Error('no reader is left in the index');
    const { port1, port2 } = new MessageChannel();
    serveForwarded({ port: port1, log, handle });
    const sockets = facts.sockets.filter((_, i) => i % facts.threads === thread);
    const setup: ThreadSetup = { ...facts, sockets, thread, reader, forwardPort: port2 };
    let worker: Worker;
    try {
      worker = new Worker(new URL('./front-end.worker.js', import.meta.url), {
        workerData: setup,
        transferList: [port2],
        name: `front-end-${thread}`,
      });
    } catch (error) {
      // The system may refuse a thread. An open port would hold the process, and each try would use up a reader.
      index.closeReader(reader);
      port1.close();
      throw error;
    }
    workers.set(thread, worker);
    worker.postMessage({ serve: serving } satisfies ToThread);
    return new Promise((resolve, reject) => {
      let isListening = false;
      let why: Error = new Error(`front-end thread ${thread} did not start`);
      worker.on('message', (message: FromThread) => {
        if ('listening' in message) {
          isListening = true;
          listening++;
          resolve(message.answering);
        } else if (message.isForOperator) why = new OperatorError(message.failed);
        else log.error({ thread, reason: message.failed }, 'front end: a thread failed');
      });
      worker.on('error', (error) =>
        log.error({ thread, err: error }, 'front end: a thread failed'),
      );
      worker.on('exit', () => {
        workers.delete(thread);
        index.closeReader(reader);
        port1.close();
        if (!isListening) return reject(why);
        listening--;
        if (!stopping) replace(thread);
      });
    });
  }

  function sendAll(message: ToThread): void {
    for (const worker of workers.values()) worker.postMessage(message);
  }

  /** The timer holds the process: where this was the only thread, nothing else may. */
  function replace(thread: number): void {
    setTimeout(() => {
      if (stopping) return;
      replaced++;
      log.warn({ thread }, 'front end: thread replaced');
      start(thread).catch(() => replace(thread));
    }, restartDelayMs);
  }

  async function stop(graceMs: number): Promise<void> {
    stopping = true;
    const ended = [...workers.values()].map(
      (worker) => new Promise<void>((resolve) => worker.once('exit', () => resolve())),
    );
    sendAll({ stop: true, graceMs });
    await Promise.all(ended);
  }

  const starts = Array.from({ length: facts.threads }, (_, thread) => start(thread));
  try {
    lowerOtherThreads((await Promise.all(starts)).filter((one) => one !== undefined));
  } catch (error) {
    // Workers that still start read the stop from their queue when they listen, and end.
    await stop(0);
    throw error;
  }
  return {
    /** Resolves when all have stopped listening and ended. */
    stop,
    /** Calls `HttpServer.drain` in all threads. */
    drain: (): void => sendAll({ drain: true }),
    accept: (isOn: boolean): void => sendAll({ accept: isOn }),
    /** Lets all give back shared memory that they have sent and nobody needs any more. */
    release: (): void => sendAll({ release: true }),
    /** Calls `OpenAccessLog.reopen` in all threads. */
    reopen: (): void => sendAll({ reopen: true }),
    /** Replaces what all threads serve. */
    serve(served: SharedFiles): void {
      serving = { ...serving, ...served };
      sendAll({ serve: served });
    },
    alive: (): number => listening,
    replaced: (): number => replaced,
  };
}

export type Threads = Awaited<ReturnType<typeof startThreads>>;

/** A worker has matched the route already; here the same table finds the same handler. */
function forwardedHandler(routes: readonly Route[]): ServeForwardedOptions['handle'] {
  const router = createRouter(routes);
  return (request, caller, body) => {
    // A refusal of the transport is answered by the handler of unknown paths.
    const isRefused = problemHeader in request.headers;
    const known = isRefused ? undefined : router.match(request.path);
    const match = known ?? router.unknown?.match;
    const route = match?.resource.byMethod.get(isRefused ? 'GET' : request.method);
    if (route?.kind === 'plain') return route.handle(request, caller);
    if (route?.kind === 'stream' && body !== undefined) return route.handle(request, body);
    throw new Error(`${request.path} is not forwarded`);
  };
}

/** Time for requests in flight when the server is asked to stop, milliseconds. */
const graceMs = 2_000;

/**
 * Opens the front-end threads on the public port. Nobody waits for a client that hangs longer than the grace.
 * @param needs.claim undefined: any port. One that nobody named is found when it is needed, for until then others
 *   could take it
 */
export async function listen(
  { config, log, closers, timings }: ServerContext,
  needs: {
    readonly claim: PortClaim | undefined;
    readonly sockets: readonly UnixSocket[];
    readonly memory: FrontEndMemory;
    readonly brand: Brand;
    readonly links: SiteLinks;
    readonly index: IpIndex;
    /** Answered by the front ends. */
    readonly frontEndRoutes: readonly Route[];
    /** Answered by the main thread. */
    readonly routes: readonly Route[];
    readonly closeCaptcha: () => Promise<void>;
  },
) {
  const { claim, sockets, memory, brand, links, index, frontEndRoutes, routes } = needs;
  const paths = pathsOf(frontEndRoutes, routes);
  const counters = createThreadCounters(config.httpThreads, paths);
  const warning = openFilesWarning();
  if (warning !== undefined) log.warn(warning);
  // The native library reads the environment once, when the first thread loads it.
  const { library: _, ...webServer } = loadNative(config.webServerSha256);
  const { port, release } = claim ?? (await claimPort(config.host, 0));
  if (claim === undefined) closers.add(release);
  let started: Threads | undefined;
  closers.add(async () => {
    const closing = started?.stop(graceMs);
    // Rendering threads have the lowest priority, so they need time to end on a busy machine.
    await Promise.race([closing, sleep(graceMs / 2, undefined, { ref: false })]);
    await Promise.all([closing, needs.closeCaptcha()]);
  });
  const gauges = createThreadGauges(config.httpThreads);
  closers.add(gauges.writeMain());
  const threads = await startThreads({
    facts: {
      threads: config.httpThreads,
      host: config.host,
      port,
      sockets,
      memory,
      counters: counters.buffer,
      gauges: gauges.buffer,
      timings: timings.buffer,
      paths,
      forwarded: describeForwarded(routes),
      trustedProxies: config.trustedProxies,
      https: config.baseUrl.startsWith('https:'),
      brand,
      links,
      clientLimits: config.clientLimits,
      logLevel: config.logLevel,
      webServer,
      accessLog: config.accessLog,
    },
    index,
    routes,
    log,
  });
  started = threads;
  const descriptors = watchDescriptors(log, threads.accept);
  return {
    port,
    threads,
    counters,
    /** Threads that listen, those that were replaced, and the longest pause of each event loop. */
    facts: () => ({ listening: threads.alive(), pauses: [...gauges.pauses()] }),
    tables: gauges.tables,
    metrics(metrics: Metrics): void {
      registerMetrics(metrics, { counters, gauges, threads, descriptors });
      registerTimings(metrics, timings, config.httpThreads);
    },
    close: descriptors.stop,
  };
}

export type Listening = Awaited<ReturnType<typeof listen>>;

function registerMetrics(
  metrics: Metrics,
  parts: {
    readonly counters: ThreadCounters;
    readonly gauges: ThreadGauges;
    readonly threads: Threads;
    readonly descriptors: DescriptorWatch;
  },
): void {
  const { counters, gauges, threads, descriptors } = parts;
  metrics.counterBy(
    'portcullis_http_requests_total',
    'Requests answered, by front-end thread, route and status class.',
    ['thread', 'route', 'status'],
    () => counters.read(),
  );
  metrics.gauge('portcullis_http_threads', 'Front-end threads that listen.', threads.alive);
  metrics.counterBy(
    'portcullis_http_threads_replaced_total',
    'Front-end threads started in place of one that died.',
    [],
    () => [[{}, threads.replaced()]],
  );
  metrics.gauge(
    'portcullis_accept_paused',
    '1 while no connection is taken because nearly all open files are in use.',
    () => (descriptors.isPaused() ? 1 : 0),
  );
  metrics.counterBy(
    'portcullis_accept_pauses_total',
    'How often no connection was taken because nearly all open files were in use.',
    [],
    () => [[{}, descriptors.pauses()]],
  );
  metrics.gaugeBy(
    'portcullis_event_loop_pause_seconds',
    'Longest pause of the event loop in the last 15 to 30 s, by front-end thread and of the main one.',
    'thread',
    gauges.pauses,
  );
}

const timedWork: readonly [kind: TimedWork, help: string][] = [
  ['check', 'One check in 64, from its request to the handing over of its answer.'],
  ['forward', 'Requests that a front end sends to the main thread, until the answer is back.'],
  ['commit', 'Commits of the store, from the call until they are on disk.'],
  ['render', 'Batches of images and clips of the CAPTCHA, the wait for a thread included.'],
];

/** @param main row of the main thread */
function registerTimings(metrics: Metrics, timings: Timings, main: number): void {
  for (const [kind, help] of timedWork) {
    metrics.histogram(`portcullis_${kind}_duration_seconds`, help, timingBounds, () =>
      timings.read(kind),
    );
  }
  function* byThread(what: 'seconds' | 'runs'): Iterable<[{ thread: string }, number]> {
    for (let row = 0; row <= main; row++) {
      yield [{ thread: row === main ? 'main' : String(row) }, timings.garbage(row)[what]];
    }
  }
  metrics.counterBy(
    'portcullis_gc_seconds_total',
    'Time of the garbage collection, by thread.',
    ['thread'],
    () => byThread('seconds'),
  );
  metrics.counterBy(
    'portcullis_gc_runs_total',
    'Runs of the garbage collection, by thread.',
    ['thread'],
    () => byThread('runs'),
  );
}
