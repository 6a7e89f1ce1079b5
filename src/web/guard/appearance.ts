/**
 * The language and the theme that a reader chose in the footer, kept in a cookie of the browser. Pages
 * know nothing of it: the language takes the place of `Accept-Language`, and the theme is put into the
 * finished page, which then is for one browser.
 */

import { type Language, languages } from '../../core/language.ts';
import { conditionHeaders } from '../../http/answer/negotiate.ts';
import type { Header, Reply, Request } from '../../http/request/message.ts';
import { type FramePerson, withPersonMenu } from '../layout/layout.tsx';
import { languageOf, type PageTools } from '../page-tools.ts';
import { noStore } from '../shape.ts';
import type { Cookies } from './cookies.ts';
import { isPage, isSessionEndpoint } from './endpoint.ts';
import type { Hook } from './hooks.ts';
import type { SessionLike } from './request-context.ts';

// A finished page that is changed for one reader: asked for whole, and kept by nobody.

/** They ask for a part, a copy or an encoding of the page that everybody gets. */
const conditions: readonly string[] = [...conditionHeaders, 'accept-encoding', 'range', 'if-range'];
/** They speak of that page. */
const replacedHeaders = ['cache-control', 'etag', 'last-modified', 'accept-ranges', 'age'];

function unconditional(request: Request): Request {
  const headers = Object.entries(request.headers).filter(([name]) => !conditions.includes(name));
  return { ...request, headers: Object.fromEntries(headers) };
}

function isHtml({ headers }: Reply): boolean {
  return headers.some(
    ([name, value]) => name.toLowerCase() === 'content-type' && value.startsWith('text/html'),
  );
}

function bodyTextOf({ body }: Reply): string | undefined {
  if (body === undefined || typeof body === 'string') return body;
  return Buffer.concat(body instanceof Uint8Array ? [body] : body).toString('utf8');
}

export const themes = ['light', 'dark'] as const;
export type Theme = (typeof themes)[number];

/** Undefined: as the browser says. */
export interface Appearance {
  readonly language?: Language | undefined;
  readonly theme?: Theme | undefined;
}

const unset = '-';

export function appearanceOf(cookies: Cookies, request: Request): Appearance {
  const [first, second] = cookies.read(request, 'looks')?.split('.') ?? [];
  return {
    language: languages.find((one) => one === first),
    theme: themes.find((one) => one === second),
  };
}

/** Returns the cookie's value; undefined when there is nothing to keep. */
export function appearanceText({ language, theme }: Appearance): string | undefined {
  if (language === undefined && theme === undefined) return undefined;
  return `${language ?? unset}.${theme ?? unset}`;
}

/** Applies the reader's language to the request and the theme to the page. */
export function appearance(cookies: Cookies): Hook {
  return {
    name: 'appearance',
    appliesTo: isPage,
    headers: ['cookie', 'accept-language'],
    onRequest(request) {
      const { language, theme } = appearanceOf(cookies, request);
      const headers = language && { ...request.headers, 'accept-language': [language] };
      const asked = headers === undefined ? request : { ...request, headers };
      return theme === undefined ? asked : unconditional(asked);
    },
    onResponse(reply, request) {
      const { theme } = appearanceOf(cookies, request);
      return theme === undefined ? reply : themed(reply, theme);
    },
  };
}

function themed(reply: Reply, theme: Theme): Reply {
  const markup = isHtml(reply) ? bodyTextOf(reply) : undefined;
  if (markup === undefined) return reply;
  const kept = reply.headers.filter(([name]) => !replacedHeaders.includes(name.toLowerCase()));
  const body = markup.replace('<html ', `<html data-theme="${theme}" `);
  return { ...reply, headers: [...kept, noStore], body };
}

// Public pages with the session in their header. They are made, and kept, for everybody; for who is
// signed in the header is put into the finished page. That answer is for one browser: nobody may
// keep it. Every other one says that it depends on the cookie.

export function headerPerson<Session extends SessionLike>(options: {
  readonly sessions: { find(token: string): Promise<Session | undefined> };
  readonly personOf: (session: Session) => Promise<FramePerson>;
  readonly cookies: Cookies;
  readonly tools: PageTools;
}): Hook {
  const { sessions, personOf, cookies, tools } = options;
  return {
    name: 'person in the header',
    // Pages of signed-in people load the person themselves.
    appliesTo: (declared) =>
      declared.method === 'GET' && isPage(declared) && !isSessionEndpoint(declared),
    headers: ['cookie', 'accept-language'],
    async around(run, request) {
      const token = cookies.read(request, 'session');
      const session = token === undefined ? undefined : await sessions.find(token);
      if (session === undefined) return forAll(await run(request));
      const reply = await run(unconditional(request));
      const markup = isHtml(reply) ? bodyTextOf(reply) : undefined;
      if (markup === undefined) return forAll(reply);
      const person = await personOf(session);
      const body = withPersonMenu(markup, { ...tools.frame(languageOf(request)), person });
      const kept = reply.headers.filter(([name]) => !replacedHeaders.includes(name.toLowerCase()));
      return forAll({ status: reply.status, headers: [...kept, noStore], body });
    },
  };
}

/** A cache must not give one visitor's page to another. */
function forAll(reply: Reply): Reply {
  const vary: Header = ['Vary', 'Cookie'];
  return isHtml(reply) || reply.status === 304
    ? { ...reply, headers: [...reply.headers, vary] }
    : reply;
}
