/** What is asked of a store, counted, and when nothing is asked any more. */

import type { Store } from '../../../src/storage/store.ts';

const quietMs = 5;

/** Until `stop`. `work` may be set to zero at any time. */
export function countStoreWork(store: Pick<Store, 'get' | 'commit'>) {
  const { get, commit } = store;
  const work = { gets: 0, commits: 0 };
  let [begun, ended] = [0, 0];
  function noted<T>(call: Promise<T>): Promise<T> {
    begun += 1;
    return call.finally(() => {
      ended += 1;
    });
  }
  Object.assign(store, {
    get: (...args: Parameters<typeof get>) => {
      work.gets += 1;
      return noted(get.apply(store, args));
    },
    commit: (...args: Parameters<typeof commit>) => {
      work.commits += 1;
      return noted(commit.apply(store, args));
    },
  });
  return {
    work,
    /** All that was asked for is there, and nothing more was asked for in a while. */
    async quiet(): Promise<void> {
      for (let seen = -1; seen !== begun || ended < begun; ) {
        seen = begun;
        await new Promise((resolve) => setTimeout(resolve, quietMs));
      }
    },
    stop: () => void Object.assign(store, { get, commit }),
  };
}
