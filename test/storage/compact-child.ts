/** Child of the kill rounds: compacts the store again and again until it is killed. */

import { compactStore } from '../../src/storage/lmdb/compact.ts';

for (;;) {
  await compactStore(process.argv[2]!);
  process.stdout.write('compacted\n');
}
