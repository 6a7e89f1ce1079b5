/**
 * Work that the start doesn't wait for: made when it is first asked for, and unless somebody asks
 * sooner, one piece in each turn of the event loop once the service listens. Requests are served
 * meanwhile: work of more than a few milliseconds is done in another thread.
 */

import { existsSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

/**
 * Returns a function that makes the value at its first call and returns the same one from then on. A promise that is
 * rejected is made anew at the next call.
 */
export function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    if (made !== undefined) return made.value;
    const value = make();
    made = { value };
    if (value instanceof Promise) {
      value.catch(() => {
        made = undefined;
      });
    }
    return value;
  };
}

export interface Prepared<T> {
  /** Returns the value, which is made in this turn if it is not there yet. */
  get(): T;
  /** Has it made elsewhere; whoever calls `get` meanwhile does not wait for that. */
  prepare(): Promise<void>;
}

/** @param makeAside the same value, without holding the event loop */
export function prepared<T>(make: () => T, makeAside: () => Promise<T>): Prepared<T> {
  let made: { readonly value: T } | undefined;
  return {
    get() {
      made ??= { value: make() };
      return made.value;
    },
    async prepare() {
      if (made !== undefined) return;
      const value = await makeAside();
      made ??= { value };
    },
  };
}

export type Preparation = () => unknown;

/** @returns ends it behind the piece under way; a piece that throws ends it too, and is reported */
export function prepareInTurns(
  pieces: readonly Preparation[],
  onError: (error: unknown) => void,
): () => Promise<void> {
  let isStopped = false;
  async function run(): Promise<void> {
    for (const piece of pieces) {
      await nextTurn();
      if (isStopped) return;
      await piece();
    }
  }
  const running = run().catch(onError);
  return () => {
    isStopped = true;
    return running;
  };
}

/** Found from the compiled file: dist/src/core/. */
const folder = fileURLToPath(new URL('../../built/', import.meta.url));

/**
 * Reads a file that the build made of those that come with the service, compressed or zipped; makes it if there
 * is none. Each lies in dist/built, named by the hash of its source, so none is found for another source.
 * @param name holds the hash
 * @param makeAside the same as `make`, without holding the event loop
 */
export function builtOr(
  name: string,
  make: () => Buffer,
  makeAside: () => Promise<Buffer>,
): Prepared<Buffer> {
  const path = folder + name;
  return prepared(
    () => (existsSync(path) ? readFileSync(path) : make()),
    async () => {
      const built = await readFile(path).catch(() => undefined);
      return built ?? makeAside();
    },
  );
}
