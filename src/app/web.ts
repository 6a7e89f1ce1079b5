/**
 * The ground of all routes in the main thread: the guard, the page builder, the tools of pages, the hooks and the
 * page of an unknown path.
 */

import type { RecordRefusal } from '../access/keys/refused-keys.ts';
import type { ClientLimits } from '../access/quota/client-limits.ts';
import type { QuotaGuard } from '../access/quota/quota.ts';
import type { ClientLimitName } from '../config/limits.ts';
import { readLogo } from '../config/logo.ts';
import type { Log } from '../core/log.ts';
import { notFound } from '../http/answer/refusal.ts';
import { problemHeader } from '../http/answer/wire.ts';
import { forwardingHeaders, isFromThisMachine, isProxied } from '../http/request/client-ip.ts';
import {
  firstHeader,
  type Problem,
  type RenderProblem,
  type Request,
} from '../http/request/message.ts';
import { type PlainRoute, type Route, unknownPath } from '../http/router.ts';
import { hostOfAuthority, isLoopback, isLoopbackAddress } from '../ip/special.ts';
import type { Check } from '../reputation/check/check.ts';
import type { SignonModule } from '../signon/module.ts';
import type { Session } from '../signon/sessions/sessions.ts';
import { openPageBuilder, type SignonPageOptions, signInLogging } from '../signon/signon.route.ts';
import type { Brand } from '../web/assets.ts';
import { appearance, headerPerson } from '../web/guard/appearance.ts';
import { createCallers } from '../web/guard/callers.ts';
import { createCookies } from '../web/guard/cookies.ts';
import {
  type Endpoint,
  type FailureNotes,
  isForOperators,
  isPage,
  openPage,
  routeFacts,
} from '../web/guard/endpoint.ts';
import { createGuard } from '../web/guard/guard.ts';
import { failureHooks, type Hook, refusedKeys, withHooks } from '../web/guard/hooks.ts';
import type { FramePerson } from '../web/layout/layout.tsx';
import {
  createPageTools,
  createRenderErrorPage,
  openAssets,
  pageRequestHeaders,
  siteLinks,
} from '../web/page-tools.ts';
import { createRenderProblem, noStore } from '../web/shape.ts';
import { areas } from './threads/forwarded.ts';

export function openWeb(
  needs: Pick<SignonPageOptions, 'config' | 'clock' | 'random' | 'masterKey' | 'geo'> & {
    readonly log: Log;
    readonly demo: boolean;
    /** Undefined: nobody is limited. */
    readonly limits: ClientLimits<ClientLimitName> | undefined;
    readonly check: Check;
    readonly quotaGuard: QuotaGuard;
    readonly signon: SignonModule;
    /** Counts what waits for an operator's decision. */
    readonly waiting: () => Promise<number>;
    /** The last part of the address of the page that shows a demo's mails. */
    readonly outboxName: string | undefined;
    readonly onFailure: NonNullable<FailureNotes['failed']>;
    readonly recordRefusal: RecordRefusal;
  },
) {
  const { config, clock, log, demo, limits, check, onFailure } = needs;
  const { service, profiles, signInLog } = needs.signon;
  const callers = createCallers({ limits, check, clock });
  const https = config.baseUrl.startsWith('https:');
  const cookies = createCookies(https);
  const brand: Brand = {
    siteName: config.siteName,
    logo: config.siteLogo === undefined ? undefined : readLogo(config.siteLogo),
    accent: config.siteAccent,
  };
  const assets = openAssets(brand);
  const keepsMails = demo && config.smtpUrl === undefined;
  const hasOutbox = keepsMails && needs.outboxName !== undefined && !isProxied(config);
  const radarMode = config.radar ?? (demo ? 'public' : 'operators');
  const links = radarMode === 'public' ? { ...siteLinks, radar: '/radar' } : siteLinks;
  const tools = createPageTools({
    assets,
    links,
    https,
    origin: config.baseUrl,
    brand,
    hasOutbox,
  });
  const renderPage = createRenderErrorPage(tools);
  async function personOf({ accountId, email, csrf, operator }: Session): Promise<FramePerson> {
    const [profile, waiting] = await Promise.all([
      profiles.load(accountId),
      operator ? needs.waiting() : 0,
    ]);
    return { email, csrf, operator, waiting, prefersGlass: profile?.liquidGlass ?? false };
  }
  // An operator of the demo asks from this machine, and is let in from there alone.
  const asksFactor = !(demo && isLoopback(config.host) && !isProxied(config));
  // The first is the outermost. `web/guard/hooks.ts` runs them; front ends have their own (threads/front-end.ts).
  const hooks: Hook[] = [
    ...(demo ? [oneOrigin(config)] : []),
    appearance(cookies),
    headerPerson({ cookies, tools, personOf, sessions: service.sessions }),
    signInLogging(signInLog),
    refusedKeys(({ who }) => who === 'api-key' || who === 'bouncer', needs.recordRefusal),
    ...(asksFactor ? [] : [loopbackOnly]),
    { name: 'counts of errors', appliesTo: () => true, onFailure },
  ];
  const notes = {
    error: (facts: object, text: string) => log.error(facts, text),
    failed: failureHooks(hooks),
  };
  async function isOperator(request: Request): Promise<boolean> {
    const token = cookies.read(request, 'session');
    if (token === undefined || !(asksFactor || isFromThisMachine(request))) return false;
    return (await service.sessions.find(token))?.operator ?? false;
  }
  return {
    callers,
    /** Returns whether an operator asks, from where the console answers. */
    isOperator,
    cookies,
    assets,
    links,
    tools,
    hasOutbox,
    radarMode,
    guard: createGuard({ quotaGuard: needs.quotaGuard, callers, renderPage, log: notes }),
    pageBuilder: openPageBuilder({
      masterKey: needs.masterKey,
      geo: needs.geo,
      config,
      clock,
      random: needs.random,
      asksOperatorsFactor: asksFactor,
      log: notes,
      tools,
      callers,
      signon: service,
      personOf,
    }),
    /**
     * Returns the main thread's routes, each with the hooks of its declaration, and the page of an unknown path.
     * @param frontEndRoutes routes that front ends answer
     */
    withHooksAndNotFound(
      routes: readonly Route[],
      frontEndRoutes: readonly Route[],
      endpoints: readonly Endpoint[],
    ): Route[] {
      const all = [...frontEndRoutes, ...routes];
      const unknown = unknownRoute(createRenderProblem({ routes: all, areas, renderPage }));
      const declared = new Map(endpoints.map((one) => [`${one.method} ${one.path}`, one]));
      return [
        ...withHooks(routes, hooks, ({ method, path }) => declared.get(`${method} ${path}`)),
        ...withHooks([unknown], hooks, () => unknownPage),
      ];
    },
  };
}

const unknownPage = openPage(unknownPath, { headers: pageRequestHeaders });

/**
 * Answers unknown paths, and requests that the transport refused, for people who may be signed in: the header then
 * shows their name.
 */
function unknownRoute(renderProblem: RenderProblem): PlainRoute {
  return {
    kind: 'plain',
    ...routeFacts(unknownPage),
    withCookie: 'session',
    handle(request) {
      const acceptLanguage = firstHeader(request, 'accept-language');
      // The transport refused a request, perhaps for a path that exists.
      const refused = firstHeader(request, problemHeader);
      const what: Problem = refused === undefined ? notFound : JSON.parse(refused);
      const reply = renderProblem(what, { ...request, acceptLanguage });
      return { ...reply, headers: [...reply.headers, ...what.headers] };
    },
  };
}

/** The console of a demo asks for no second factor, so it answers this machine alone: no proxy, tunnel or socket. */
const loopbackOnly: Hook = {
  name: 'console on this machine',
  appliesTo: ({ who }) => isForOperators(who),
  headers: forwardingHeaders,
  onRequest: (request) =>
    isFromThisMachine(request)
      ? undefined
      : {
          status: 403,
          headers: [['Content-Type', 'text/plain; charset=utf-8'], noStore],
          body: 'The console of a demo answers on its own machine alone.\n',
        },
};

// Gives a demo one name. It listens on a loopback address, but links, cookies and passkeys belong to the
// `localhost` of BASE_URL, so a page asked for by address redirects there. Calls of programs are answered
// where they arrive.

function oneOrigin({ baseUrl, port }: { baseUrl: string; port: number }): Hook {
  const base = new URL(baseUrl);
  // A port that nobody named is in no link.
  const isNamed = port !== 0 && Number(base.port || 80) === port;
  const isOn = base.hostname === 'localhost' && isNamed;
  return {
    name: 'one origin',
    appliesTo: (declared) => isOn && declared.method === 'GET' && isPage(declared),
    headers: ['host', 'accept'],
    onRequest(request) {
      if (!isByAddress(request)) return undefined;
      const query = request.query === '' ? '' : `?${request.query}`;
      const location = `${baseUrl}${request.path}${query}`;
      return { status: 307, headers: [['Location', location], noStore] };
    },
  };
}

function isByAddress(request: Request): boolean {
  const accept = firstHeader(request, 'accept') ?? '';
  const isProgram = accept.includes('application/json') && !accept.includes('text/html');
  return !isProgram && isLoopbackAddress(hostOfAuthority(firstHeader(request, 'host') ?? ''));
}
