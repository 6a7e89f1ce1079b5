/** Opens the PostgreSQL store in the contract suite's processes. */

import type { Clock } from '../../src/core/clock.ts';
import { createLog } from '../../src/core/log.ts';
import { openPostgresStore } from '../../src/storage/postgres/store.ts';

export async function open(location: string, clock: Clock) {
  return openPostgresStore({ url: location, clock, log: createLog('fatal') });
}
