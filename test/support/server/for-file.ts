/**
 * What all tests of a file share, such as a server. The file needs a process of its own, as flows have. All is opened
 * before the first test is declared: the runner ends a file whose declared tests have run.
 */

import { after } from 'node:test';

const opened: (AsyncDisposable | Disposable)[] = [];

/** Keeps it until the last test has run. Then all are closed, the newest first. */
export function forFile<T extends AsyncDisposable | Disposable>(thing: T): T {
  if (opened.length === 0) after(closeAll);
  opened.push(thing);
  return thing;
}

async function closeAll(): Promise<void> {
  for (const thing of opened.splice(0).reverse()) {
    if (Symbol.asyncDispose in thing) await thing[Symbol.asyncDispose]();
    else thing[Symbol.dispose]();
  }
}
