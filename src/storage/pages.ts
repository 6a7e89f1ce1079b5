/** All rows under a prefix, for whoever needs each of them: the store gives out a page at a time. */

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Key } from './keys.ts';
import type { Entry, Store } from './store.ts';

const limitDefault = 200;

/**
 * In the order of their keys; others get their turn between two pages. Rows that come or go meanwhile behind the
 * last page are seen as they are then.
 * @param options `after`: this key and all before it are left out; `limit`: rows a page, at most
 */
export async function* pagesUnder(
  store: Pick<Store, 'scan'>,
  prefix: Key,
  options: { readonly after?: Key | undefined; readonly limit?: number } = {},
): AsyncGenerator<readonly Entry[]> {
  const limit = options.limit ?? limitDefault;
  for (let after = options.after; ; ) {
    const page = await store.scan(prefix, after === undefined ? { limit } : { after, limit });
    if (page.length === 0) return;
    yield page;
    after = page.at(-1)!.key;
    await nextTurn();
  }
}
