/** /docs: the documentation as pages, their Markdown twins, and the index of the search. */

import { once } from '../../core/preparation.ts';
import type { Reply, Request } from '../../http/message.ts';
import { negotiate, type Representation } from '../../http/negotiate.ts';
import type { PlainRoute } from '../../http/router.ts';
import { type DocPage, docsPath, markdownPath } from '../../pages/docs/library.ts';
import { docsPage, searchIndex } from '../../pages/docs/page.ts';
import { type Language, languages } from '../../pages/language.ts';
import { errorReply, languageOf, type PageTools, pageRequestHeaders } from '../pages.ts';
import { openRoute, readyRequestHeaders, readyText } from './ready-text.ts';

export const searchPath = `${docsPath}/search.json`;
export const markdownType = 'text/markdown; charset=utf-8';

const requestHeaders = [...readyRequestHeaders, ...pageRequestHeaders];

export function docsRoutes(options: { tools: PageTools; pages: readonly DocPage[] }): PlainRoute[] {
  const { tools, pages } = options;

  function rendered(page: DocPage, language: Language): Representation {
    const headers = tools
      .headers(language, { connect: true })
      .filter(([name]) => name !== 'content-type');
    const html = docsPage(tools.frame(language), { pages, page, searchPath });
    return readyText('text/html; charset=utf-8', html, headers);
  }

  const bySlug = new Map(
    pages.map((page) => {
      const ready = languages.map(
        (language) => [language, once(() => rendered(page, language))] as const,
      );
      return [page.slug as string, new Map(ready)];
    }),
  );

  /** The first page has one address, /docs. */
  function show(request: Request): Reply {
    const language = languageOf(request);
    const slug = request.param === '' ? 'index' : request.param;
    const ready = request.param === 'index' ? undefined : bySlug.get(slug)?.get(language);
    return ready === undefined ? errorReply(tools, language, 404) : negotiate(request, ready());
  }

  return [
    { kind: 'plain', method: 'GET', path: docsPath, headers: requestHeaders, handle: show },
    {
      kind: 'plain',
      method: 'GET',
      path: `${docsPath}/`,
      handle: () => ({
        status: 301,
        headers: [
          ['Location', docsPath],
          ['Cache-Control', 'public, max-age=86400'],
        ],
      }),
    },
    {
      kind: 'plain',
      method: 'GET',
      path: `${docsPath}/:page`,
      headers: requestHeaders,
      handle: show,
    },
    ...pages.map(({ slug, markdown }) =>
      openRoute(markdownPath(slug), markdownType, () => markdown),
    ),
    openRoute(searchPath, 'application/json', () => searchIndex(pages)),
  ];
}
