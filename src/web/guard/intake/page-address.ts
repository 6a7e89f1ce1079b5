/**
 * The address that shows the page of a request once more. The answer to a form may stand on a path that
 * nobody can open: then it is the nearest page above it. The query stays, for it says what the page is about.
 */

import { createRouter } from '../../../http/router.ts';

export interface PageAddresses {
  /** @param path of a page that can be opened, as declared */
  add(path: string): void;
  /** @param above the page that a form belongs to, where it is not the nearest one above its path */
  of(request: { readonly path: string; readonly query: string }, above?: string): string;
}

export function createPageAddresses(): PageAddresses {
  const paths = new Set<string>();
  let router: ReturnType<typeof routerOf> | undefined;

  function isPage(path: string): boolean {
    router ??= routerOf([...paths]);
    return router.match(path) !== undefined;
  }

  return {
    add(path) {
      paths.add(path);
      router = undefined;
    },
    of({ path, query }, above) {
      let page = path;
      if (!isPage(page) && above !== undefined) return above;
      while (page !== '' && !isPage(page)) page = page.slice(0, page.lastIndexOf('/'));
      const shown = page === '' ? '/' : page;
      return query === '' ? shown : `${shown}?${query}`;
    },
  };
}

function routerOf(paths: readonly string[]) {
  const handle = () => ({ status: 404, headers: [] });
  return createRouter(paths.map((path) => ({ kind: 'plain', method: 'GET', path, handle })));
}
