/**
 * Work that the start doesn't wait for: made when it is first asked for, and unless somebody asks
 * sooner, one piece in each turn of the event loop once the service listens. Requests are served
 * meanwhile: work of more than a few milliseconds is done in another thread.
 */

import { setImmediate as nextTurn } from 'node:timers/promises';

/** Returns a function that makes the value at its first call and returns the same one from then on. */
export function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
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
