/** The Store contract, kept by LMDB. */

import { makeTempDir } from '../support/server/temp-dir.ts';
import { storeContract } from './contract.ts';
import { open } from './lmdb-opener.ts';

storeContract({
  name: 'lmdb',
  async create() {
    const directory = makeTempDir('lmdb');
    return { location: directory.path, destroy: async () => directory.remove() };
  },
  open,
  opener: new URL('./lmdb-opener.js', import.meta.url),
});
