/** POST /looks: the language or the theme that a reader chose in the footer, kept in the browser. */

import { fail } from '../../core/result.ts';
import { daySeconds } from '../../core/time.ts';
import { parseForm } from '../../http/request/body.ts';
import { firstHeader, type Reply, type Request } from '../../http/request/message.ts';
import { createRouter, type PlainRoute } from '../../http/router.ts';
import { type Appearance, looksOf, looksText, themes } from '../../web/guard/appearance.ts';
import type { Cookies } from '../../web/guard/cookies.ts';
import { type Endpoint, openPage } from '../../web/guard/endpoint.ts';
import type { Guard } from '../../web/guard/guard.ts';
import { isOwnOrigin } from '../../web/guard/intake/form.ts';
import { ownPath } from '../../web/guard/intake/local-path.ts';
import { languages } from '../../web/language.ts';
import { pageRequestHeaders } from '../../web/page-tools.ts';
import { noStore } from '../../web/shape.ts';

/** With the address of the page, which may hold a site's whole request, escaped twice. */
const bodyBytesMax = 65_536;
const backCharsMax = 16_384;
const keptSeconds = 400 * daySeconds;

export const looksEndpoint = openPage('/looks', {
  method: 'POST',
  headers: [
    'content-type',
    'cookie',
    'origin',
    'referer',
    'sec-fetch-site',
    'host',
    ...pageRequestHeaders,
  ],
  body: { types: ['form'], bytesMax: bodyBytesMax },
  errors: ['invalid_parameter'],
  robots: 'disallow',
});

export function looksRoute(options: {
  guard: Guard;
  cookies: Cookies;
  baseUrl: string;
  /** All of the service. */
  endpoints: readonly Endpoint[];
}): PlainRoute {
  const { guard, cookies, baseUrl, endpoints } = options;
  const backOf = createBackOf(endpoints);

  return guard.open(looksEndpoint, (request): Reply | ReturnType<typeof fail> => {
    if (!isOwnOrigin(request, baseUrl)) return fail('foreign_form');
    const form = parseForm(request.body, { pairsMax: 3 });
    if (!form.ok) return fail('bad_request');
    const language = form.value.get('language');
    const theme = form.value.get('theme');
    const known: Appearance = looksOf(cookies, request);
    const chosen: Appearance = {
      language: languages.find((one) => one === language) ?? known.language,
      theme: theme === 'auto' ? undefined : (themes.find((one) => one === theme) ?? known.theme),
    };
    const isUnknown = (value: string | undefined, values: readonly string[]) =>
      value !== undefined && !values.includes(value);
    if (isUnknown(language, languages)) return fail('invalid_parameter', undefined, 'language');
    if (isUnknown(theme, [...themes, 'auto'])) return fail('invalid_parameter', undefined, 'theme');
    const text = looksText(chosen);
    return {
      status: 303,
      headers: [
        // A page with an address of its own says it; a browser leaves out a long one of itself.
        ['Location', ownPath(form.value.get('back'), backCharsMax) ?? backOf(request)],
        noStore,
        text === undefined ? cookies.clear('looks') : cookies.set('looks', text, keptSeconds),
      ],
    };
  });
}

/**
 * The page that the reader is on, as far as it is ours. The answer to a form may stand on a path that
 * nobody can open: then the nearest page above it.
 */
function createBackOf(endpoints: readonly Endpoint[]): (request: Request) => string {
  const paths = new Map<string, Pick<Endpoint, 'method' | 'path'>>();
  for (const { method, path } of endpoints) paths.set(`${method} ${path}`, { method, path });
  const handle = () => ({ status: 404, headers: [] });
  const router = createRouter(
    [...paths.values()].map((one) => ({ kind: 'plain', ...one, handle })),
  );
  const pages = new Set(
    endpoints.filter(({ method, docs }) => method === 'GET' && docs === 'page').map((e) => e.path),
  );

  function openPath(path: string): string {
    const resource = router.match(path)?.resource;
    // A path that nobody has is a page that says so.
    if (resource === undefined || resource.byMethod.has('GET')) return path;
    let above = path;
    do {
      above = above.slice(0, above.lastIndexOf('/'));
    } while (above !== '' && !pages.has(router.match(above)?.resource.path ?? ''));
    return above === '' ? '/' : above;
  }

  return (request) => {
    const referer = firstHeader(request, 'referer') ?? '';
    if (!URL.canParse(referer)) return '/';
    const { host, pathname, search } = new URL(referer);
    if (host !== firstHeader(request, 'host') || ownPath(pathname) === undefined) return '/';
    const path = openPath(pathname);
    return path === pathname ? (ownPath(`${path}${search}`, backCharsMax) ?? '/') : path;
  };
}
