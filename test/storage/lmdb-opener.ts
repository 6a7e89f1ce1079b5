/** Opens the LMDB store in the contract suite's processes. */

import type { Clock } from '../../src/core/clock.ts';
import { createLog } from '../../src/core/log.ts';
import { openLmdbStore } from '../../src/storage/lmdb/store.ts';
import type { Store } from '../../src/storage/store.ts';

export async function open(location: string, clock: Clock): Promise<Store> {
  return openLmdbStore({ path: location, clock, log: createLog('fatal') });
}
