/** /docs: the documentation as pages, their Markdown twins, and the index of the search. */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Language, languages } from '../../core/language.ts';
import { once } from '../../core/preparation.ts';
import { negotiate, type Representation } from '../../http/answer/negotiate.ts';
import type { Reply, Request } from '../../http/request/message.ts';
import type { PlainRoute } from '../../http/router.ts';
import { type Endpoint, openPage } from '../../web/guard/endpoint.ts';
import { type Guard, movedTo } from '../../web/guard/guard.ts';
import {
  errorReply,
  languageOf,
  type PageTools,
  pageRequestHeaders,
} from '../../web/page-tools.ts';
import {
  readyEndpoint,
  readyRequestHeaders,
  readyRoute,
  readyText,
  searchDocs,
} from '../manifest/ready-text.route.ts';
import { docsPage, type SearchScreen, searchIndex } from './docs.page.tsx';
import { type DocPage, docsPath, markdownPath, markdownPaths, textFor } from './library.ts';

const searchPaths: Readonly<Record<Language, string>> = {
  en: `${docsPath}/search.json`,
  fr: `${docsPath}/search.fr.json`,
};
const markdownType = 'text/markdown; charset=utf-8';

const requestHeaders = [...readyRequestHeaders, ...pageRequestHeaders];

const docsEndpoint = openPage(docsPath, { headers: requestHeaders });
const docsSlashEndpoint = openPage(`${docsPath}/`);
const docEndpoint = openPage(`${docsPath}/:page`, { headers: requestHeaders });
const markdownEndpointOf = new Map(
  markdownPaths.map((path) => [path, readyEndpoint(path, 'text')]),
);
const searchEndpoints = languages.map((language) => ({
  language,
  declared: readyEndpoint(searchPaths[language], searchDocs(language)),
}));

export const docsEndpoints: readonly Endpoint[] = [
  docsEndpoint,
  docsSlashEndpoint,
  docEndpoint,
  ...markdownEndpointOf.values(),
  ...searchEndpoints.map(({ declared }) => declared),
];

export function docsRoutes(options: {
  guard: Guard;
  tools: PageTools;
  pages: readonly DocPage[];
  screens: (language: Language) => readonly SearchScreen[];
}): PlainRoute[] {
  const { guard, tools, pages, screens } = options;

  /**
   * Reads and renders in turns.
   * @param isAsked its address names the language, and so do its links to other pages
   */
  async function rendered(
    page: DocPage,
    language: Language,
    isAsked: boolean,
  ): Promise<Representation> {
    for (const listed of pages) {
      void textFor(listed, language).intro;
      await nextTurn();
    }
    void textFor(page, language).article;
    await nextTurn();
    const headers = tools
      .headers(language, { connect: true })
      .filter(([name]) => name !== 'content-type');
    const html = docsPage(tools.frame(language), {
      pages,
      page,
      searchPath: searchPaths[language],
    });
    const shown = isAsked
      ? html.replace(/href="(\/docs(?:\/[a-z-]+)?)(#[^"]*)?"/g, `href="$1?language=${language}$2"`)
      : html;
    return readyText('text/html; charset=utf-8', shown, headers);
  }

  const bySlug = new Map(
    pages.map((page) => {
      const ready = languages.map((language) => {
        const plain = once(() => rendered(page, language, false));
        const asked = once(() => rendered(page, language, true));
        return [language, { plain, asked }] as const;
      });
      return [page.slug as string, new Map(ready)];
    }),
  );

  /** The first page has one address, /docs. A link to the other language says which. */
  async function show(request: Request): Promise<Reply> {
    const named = new URLSearchParams(request.query).get('language');
    const asked = languages.find((one) => one === named);
    const language = asked ?? languageOf(request);
    const slug = request.param === '' ? 'index' : request.param;
    const ready = request.param === 'index' ? undefined : bySlug.get(slug)?.get(language);
    return ready === undefined
      ? errorReply(tools, language, 404)
      : negotiate(request, await (asked === undefined ? ready.plain : ready.asked)());
  }

  return [
    guard.open(docsEndpoint, show),
    guard.open(docsSlashEndpoint, () => movedTo(docsPath)),
    guard.open(docEndpoint, show),
    ...pages.flatMap(({ slug, english, french }) =>
      [english, french].flatMap((text) => {
        if (text === undefined) return [];
        const declared = markdownEndpointOf.get(markdownPath(slug, text.language))!;
        return [readyRoute(guard, declared, markdownType, () => text.markdown)];
      }),
    ),
    ...searchEndpoints.map(({ language, declared }) =>
      readyRoute(guard, declared, 'application/json', () =>
        searchIndex(pages, language, screens(language)),
      ),
    ),
  ];
}
