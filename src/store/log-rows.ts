/**
 * Logs that lie in the store as rows, oldest first: the audit log of commands and the log of
 * sign-ins. Rows are added under `check: null` and never changed.
 */

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Key } from './keys.ts';
import type { Entry, Store } from './store.ts';

const pageRows = 500;

/** All rows behind `from`, in pages; others get their turn in between. */
export async function* logRows(
  store: Store,
  prefix: Key,
  from?: Key,
): AsyncGenerator<readonly Entry[]> {
  let after = from;
  for (;;) {
    const options = { limit: pageRows };
    const page = await store.scan(prefix, after === undefined ? options : { after, ...options });
    if (page.length === 0) return;
    yield page;
    after = page.at(-1)!.key;
    await nextTurn();
  }
}
