/**
 * The language and the theme that a reader chose in the footer, kept in a cookie of the browser. Pages
 * know nothing of it: the language takes the place of `Accept-Language`, and the theme is put into the
 * finished page, which then is for one browser.
 */

import { conditionHeaders } from '../../http/answer/negotiate.ts';
import type { Reply, Request } from '../../http/request/message.ts';
import { type Language, languages } from '../language.ts';
import { noStore } from '../shape.ts';
import type { Cookies } from './cookies.ts';
import { isPage } from './endpoint.ts';
import type { Hook } from './hooks.ts';

// A finished page that is changed for one reader: asked for whole, and kept by nobody.

/** They ask for a part, a copy or an encoding of the page that everybody gets. */
const conditions: readonly string[] = [...conditionHeaders, 'accept-encoding', 'range', 'if-range'];
/** They speak of that page. */
export const replacedHeaders = ['cache-control', 'etag', 'last-modified', 'accept-ranges', 'age'];

export function unconditional(request: Request): Request {
  const headers = Object.entries(request.headers).filter(([name]) => !conditions.includes(name));
  return { ...request, headers: Object.fromEntries(headers) };
}

export function isHtml({ headers }: Reply): boolean {
  return headers.some(
    ([name, value]) => name.toLowerCase() === 'content-type' && value.startsWith('text/html'),
  );
}

export function textOf({ body }: Reply): string | undefined {
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

export function looksOf(cookies: Cookies, request: Request): Appearance {
  const [first, second] = cookies.read(request, 'looks')?.split('.') ?? [];
  return {
    language: languages.find((one) => one === first),
    theme: themes.find((one) => one === second),
  };
}

/** Returns the cookie's value; undefined when there is nothing to keep. */
export function looksText({ language, theme }: Appearance): string | undefined {
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
      const { language, theme } = looksOf(cookies, request);
      const headers = language && { ...request.headers, 'accept-language': [language] };
      const asked = headers === undefined ? request : { ...request, headers };
      return theme === undefined ? asked : unconditional(asked);
    },
    onResponse(reply, request) {
      const { theme } = looksOf(cookies, request);
      return theme === undefined ? reply : themed(reply, theme);
    },
  };
}

function themed(reply: Reply, theme: Theme): Reply {
  const markup = isHtml(reply) ? textOf(reply) : undefined;
  if (markup === undefined) return reply;
  const kept = reply.headers.filter(([name]) => !replacedHeaders.includes(name.toLowerCase()));
  const body = markup.replace('<html ', `<html data-theme="${theme}" `);
  return { ...reply, headers: [...kept, noStore], body };
}
