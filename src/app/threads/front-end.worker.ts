/**
 * A front end: listens on the port that all of them share, answers checks from shared memory, sends
 * everything else to the main thread.
 *
 * The web server ends the whole process when its thread dies with the server open. So whatever
 * goes wrong here closes the server first, and only then lets the thread end.
 */

import { parentPort, workerData } from 'node:worker_threads';
import { createClientLimits, openLimitRecords } from '../../access/quota/client-limits.ts';
import { clientLimits } from '../../config/limits.ts';
import { openSharedTime } from '../../core/clock.ts';
import { OperatorError } from '../../core/errors.ts';
import { createLog, type LogLevel } from '../../core/log.ts';
import type { Result } from '../../core/result.ts';
import { openGarbageCollection, raiseThreadPriority } from '../../core/threads.ts';
import { createTimings } from '../../core/timings.ts';
import { openAccessLog } from '../../http/answer/access-log.ts';
import { createForwarder, type Forwarder } from '../../http/forward.ts';
import { createAnswerLimits } from '../../http/limits/admission.ts';
import { defaultLimits } from '../../http/limits/limits.ts';
import { loadChecked } from '../../http/native.ts';
import { addressRules } from '../../http/request/client-ip.ts';
import type { RenderProblem, Reply, Request } from '../../http/request/message.ts';
import type { Route } from '../../http/router.ts';
import { createServer, type HttpServer } from '../../http/server.ts';
import { createIndexRead, openIpIndexReader } from '../../index/reader.ts';
import { checkEndpoint } from '../../reputation/check/check.route.ts';
import { withHooks } from '../../web/guard/hooks.ts';
import { openErrorPages } from '../../web/page-tools.ts';
import { createRenderProblem, renderFailure } from '../../web/shape.ts';
import { areas, type ForwardedRoute, shownInAccessLog } from './forwarded.ts';
import { createFrontEnd, frontEndHooks, type SharedFiles } from './front-end.ts';
import { createThreadCounters, createThreadGauges, inFlightMaxOf } from './thread-counters.ts';
import type { FromThread, ThreadSetup, ToThread } from './threads.ts';

/** Behind the route's own deadline, which ends the exchange and says so here. */
const forwardGraceMs = 1_000;
const acceptAgainMs = 200;

function forwardRoute(
  described: ForwardedRoute,
  forwarder: Forwarder,
  renderProblem: RenderProblem,
  note: (ms: number) => void,
): Route {
  const deadlineMs = described.timeoutMs ?? defaultLimits.handlerTimeoutMs;
  const timeoutMs = deadlineMs + forwardGraceMs;
  const replyOf = (request: Request, result: Result<Reply>): Reply =>
    result.ok ? result.value : renderFailure(renderProblem, result, request);
  if (described.isStream) {
    return {
      ...described,
      kind: 'stream',
      timeoutMs: deadlineMs,
      handle: async (request, body) =>
        replyOf(request, await forwarder.stream(request, body, timeoutMs)),
    };
  }
  return {
    ...described,
    kind: 'plain',
    async handle(request, caller) {
      const startMs = performance.now();
      const result = await forwarder.forward(request, caller, timeoutMs);
      note(performance.now() - startMs);
      return replyOf(request, result);
    },
  };
}

function send(message: FromThread): void {
  parentPort?.postMessage(message);
}

async function run(setup: ThreadSetup): Promise<void> {
  let close = () => {};
  endOnUncaught(() => close(), setup);
  const clock = openSharedTime(setup.memory.time);
  const log = createLog(setup.logLevel as LogLevel);
  const reader = openIpIndexReader(setup.reader);
  const forwarder = createForwarder({
    port: setup.forwardPort,
    outstandingMax: inFlightMaxOf(setup.threads) + defaultLimits.probesMax,
  });
  const { memory } = setup;
  const bounds = setup.clientLimits ? clientLimits : undefined;
  const records = openLimitRecords(memory.limits);
  const limits = bounds && createClientLimits(bounds, records);
  const inIndexRead = createIndexRead(reader);
  let served: SharedFiles = {};
  const frontEnd = createFrontEnd({
    memory,
    index: reader,
    clock,
    log,
    thread: setup.thread,
    inIndexRead,
    feedVersion: () => served.feeds?.changes.version,
    limits,
  });
  const counters = createThreadCounters(setup.threads, setup.paths, setup.counters);
  const count = counters.recorder(setup.thread);
  const timings = createTimings(setup.threads + 1, setup.timings);
  timings.watchGarbage(setup.thread);
  const note = timings.recorder(setup.thread);
  const forwarded = (ms: number) => note('forward', ms);
  const renderProblem = createRenderProblem({
    routes: [...frontEnd.routes, ...setup.forwarded],
    areas,
    renderPage: openErrorPages(setup.https, setup.brand, setup.links),
  });
  const accessLog =
    setup.accessLog === undefined
      ? undefined
      : openAccessLog(setup.accessLog, shownInAccessLog, clock);
  const server = createServer({
    routes: withHooks(
      [
        ...frontEnd.routes,
        ...setup.forwarded.map((described) =>
          forwardRoute(described, forwarder, renderProblem, forwarded),
        ),
      ],
      frontEndHooks(frontEnd, () => served, inIndexRead),
      (route) => route,
    ),
    renderProblem,
    addresses: addressRules(setup.trustedProxies),
    https: setup.https,
    native: loadChecked(setup.webServer),
    limits: { inFlightMax: inFlightMaxOf(setup.threads) },
    clock,
    log,
    answerLimits: createAnswerLimits(bounds, clock, records),
    accessLog: accessLog?.note,
    onFinished(path, status, elapsedMs) {
      count(path, status);
      if (elapsedMs !== undefined && path === checkEndpoint.path) note('check', elapsedMs);
    },
  });
  createThreadGauges(setup.threads, setup.gauges).write(setup.thread, server.taken);
  close = server.closeNow;
  const collectGarbage = openGarbageCollection();
  const follow = openAccepting(server);
  parentPort?.on('message', (message: ToThread) => {
    if ('release' in message) return collectGarbage();
    if ('drain' in message) return server.drain();
    if ('reopen' in message) {
      accessLog?.reopen().catch((error: unknown) => {
        const reason = error instanceof Error ? error.message : String(error);
        log.warn({ thread: setup.thread, reason }, 'access log: not reopened, the file is kept');
      });
      return;
    }
    if ('accept' in message) return follow(message.accept);
    if ('serve' in message) {
      served = { ...served, ...message.serve };
      return;
    }
    void server.close(message.graceMs).finally(() => end(setup));
  });
  await server.listen(setup.host, setup.port, setup.sockets);
  send({ listening: true, answering: raiseThreadPriority() });
}

/** Listening that the system refuses is tried again until somebody says otherwise. */
function openAccepting(server: HttpServer): (isOn: boolean) => void {
  let wanted = true;
  async function attempt(): Promise<void> {
    try {
      await server.accept(wanted);
    } catch {
      setTimeout(attempt, acceptAgainMs).unref();
    }
  }
  return (isOn) => {
    wanted = isOn;
    void attempt();
  };
}

/** Nothing holds the thread after this: it ends by itself. */
function end(setup: ThreadSetup): void {
  setup.forwardPort.close();
  parentPort?.close();
}

/** @param close closes the server, once it is open */
function endOnUncaught(close: () => void, setup: ThreadSetup): void {
  function die(error: unknown): void {
    close();
    const isForOperator = error instanceof OperatorError;
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    send({ failed: isForOperator ? error.message : text, isForOperator });
    end(setup);
  }
  process.on('uncaughtException', die);
  process.on('unhandledRejection', die);
}

await run(workerData as ThreadSetup);
