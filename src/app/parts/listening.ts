/**
 * The front-end threads on the public port, and the routes that they send here. Nobody waits for a
 * client that hangs longer than the grace.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { nothingHere } from '../../http/answer/refusal.ts';
import { problemHeader } from '../../http/answer/wire.ts';
import { type DescriptorWatch, watchDescriptors } from '../../http/limits/descriptor-watch.ts';
import { openFilesWarning } from '../../http/limits/limits.ts';
import { loadNative } from '../../http/native.ts';
import { claimPort, type PortClaim } from '../../http/port-claim.ts';
import { firstHeader, type Problem, type RenderProblem } from '../../http/request/message.ts';
import { type PlainRoute, type Route, unknownPath } from '../../http/router.ts';
import type { UnixSocket } from '../../http/unix-socket.ts';
import { openPage, routeFacts } from '../../web/guard/endpoint.ts';
import { type Hook, withHooks } from '../../web/guard/hooks.ts';
import { pageRequestHeaders } from '../../web/page-tools.ts';
import { createRenderProblem, type RenderErrorPage } from '../../web/shape.ts';
import { checkTable } from '../endpoints.ts';
import type { State } from '../state.ts';
import { areas, describeForwarded, pathsOf } from '../threads/forwarded.ts';
import type { FrontEnd, FrontEndMemory } from '../threads/front-end.ts';
import {
  createThreadCounters,
  createThreadGauges,
  type ThreadCounters,
  type ThreadGauges,
} from '../threads/thread-counters.ts';
import { startThreads, type Threads } from '../threads/threads.ts';
import type { Opening } from './dependencies.ts';

export interface Listening {
  readonly port: number;
  readonly threads: Threads;
  readonly counters: ThreadCounters;
  readonly gauges: ThreadGauges;
  readonly descriptors: DescriptorWatch;
  /** From now on each answer ends its connection. */
  drain(): void;
}

/** Time for requests in flight when the server is asked to stop, milliseconds. */
const graceMs = 2_000;

/**
 * @param claim undefined: any port. One that nobody named is found when it is needed, for until then
 *   others could take it
 */
export async function listen(
  { config, log, closers, timings }: Opening,
  parts: {
    claim: PortClaim | undefined;
    sockets: readonly UnixSocket[];
    frontEnd: FrontEnd;
    memory: FrontEndMemory;
    state: State;
    modules: {
      readonly routes: readonly Route[];
      readonly hooks: readonly Hook[];
      readonly renderPage: RenderErrorPage;
      readonly closeCaptcha: () => Promise<void>;
    };
  },
): Promise<Listening> {
  const { claim, frontEnd, memory, modules } = parts;
  const { index } = parts.state;
  const renderProblem = createRenderProblem({
    routes: [...frontEnd.routes, ...modules.routes],
    areas,
    renderPage: modules.renderPage,
  });
  const unknown = withHooks([unknownRoute(renderProblem)], modules.hooks, () => unknownPage);
  const ownRoutes = [...modules.routes, ...unknown];
  const table = [...frontEnd.routes, ...ownRoutes];
  log.debug({ routes: table.map(({ method, path }) => `${method} ${path}`) }, 'routes');
  checkTable(table);
  const paths = pathsOf(frontEnd.routes, ownRoutes);
  const counters = createThreadCounters(config.httpThreads, paths);
  const warning = openFilesWarning();
  if (warning !== undefined) log.warn(warning);
  // The native library reads the environment once, when the first thread loads it.
  loadNative(config.webServerSha256);
  const { port, release } = claim ?? (await claimPort(config.host, 0));
  if (claim === undefined) closers.add(release);
  let threads: Threads | undefined;
  closers.add(async () => {
    const closing = threads?.stop(graceMs);
    // Rendering threads have the lowest priority, so they need time to end on a busy machine.
    await Promise.race([closing, sleep(graceMs / 2, undefined, { ref: false })]);
    await Promise.all([closing, modules.closeCaptcha()]);
  });
  const gauges = createThreadGauges(config.httpThreads);
  closers.add(gauges.writeMain());
  threads = await startThreads({
    threads: config.httpThreads,
    host: config.host,
    port,
    sockets: parts.sockets,
    memory,
    index,
    counters: counters.buffer,
    gauges: gauges.buffer,
    timings: timings.buffer,
    paths,
    routes: ownRoutes,
    forwarded: describeForwarded(ownRoutes),
    trustedProxies: config.trustedProxies,
    https: config.baseUrl.startsWith('https:'),
    clientLimitsOn: config.clientLimitsOn,
    logLevel: config.logLevel,
    webServerSha256: config.webServerSha256,
    accessLog: config.accessLog,
    log,
  });
  const { drain, accept } = threads;
  const descriptors = watchDescriptors(log, accept);
  closers.add(descriptors.stop);
  return { port, threads, counters, gauges, descriptors, drain };
}

const unknownPage = openPage(unknownPath, { headers: pageRequestHeaders });

/** A page that is not there, or a request that the transport refused, for somebody who may be signed in: the header says so. */
function unknownRoute(renderProblem: RenderProblem): PlainRoute {
  return {
    kind: 'plain',
    ...routeFacts(unknownPage),
    withCookie: 'session',
    handle(request) {
      const acceptLanguage = firstHeader(request, 'accept-language');
      // The transport refused a request, perhaps for a path that exists.
      const refused = firstHeader(request, problemHeader);
      const what: Problem = refused === undefined ? nothingHere : JSON.parse(refused);
      const reply = renderProblem(what, { ...request, acceptLanguage });
      return { ...reply, headers: [...reply.headers, ...what.headers] };
    },
  };
}
