/** How tests of the Store seam make and open an embedded store. */

import { makeTempDir } from '../support/server/temp-dir.ts';
import type { StoreFactory } from './fixture.ts';
import { open } from './lmdb-opener.ts';

export const lmdbFactory: StoreFactory = {
  name: 'lmdb',
  isShared: false,
  async create() {
    const directory = makeTempDir('lmdb');
    return { location: directory.path, destroy: async () => directory.remove() };
  },
  open,
  opener: new URL('./lmdb-opener.js', import.meta.url),
};
