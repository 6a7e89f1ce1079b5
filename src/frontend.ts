/**
 * What every front-end thread holds: readers of the shared memory and the routes answered from
 * it alone. The main thread and the workers build the same thing from the same handles, so an
 * answer doesn't depend on the thread that gives it.
 */

import { openAccountsTable } from './access/accounts-table.ts';
import { createGate, type Gate } from './access/gate.ts';
import { createKeyCache } from './access/key-cache.ts';
import { openKeyTableReader } from './access/key-table.ts';
import { openQuotas } from './access/quota.ts';
import type { Clock } from './core/clock.ts';
import { createGeoFragments } from './geo/fragments.ts';
import { type GeoReader, openGeoReader } from './geo/reader.ts';
import type { Route } from './http/router.ts';
import type { Lookup } from './index/lookup.ts';
import type { Records } from './index/records.ts';
import { type Check, openCheck } from './reputation/check.ts';
import { checkRoute } from './routes/check.ts';
import { checkBulkRoute } from './routes/check-bulk.ts';
import type { SharedState } from './state.ts';

export interface FrontEndMemory extends SharedState {
  readonly geo: SharedArrayBuffer;
}

export interface FrontEnd {
  readonly gate: Gate;
  readonly check: Check;
  readonly geo: GeoReader;
  /** Answered in every thread; all other routes belong to the main thread. */
  readonly routes: readonly Route[];
}

export function createFrontEnd(options: {
  memory: FrontEndMemory;
  lookup: Lookup;
  records: Records;
  clock: Clock;
}): FrontEnd {
  const { memory, lookup, records, clock } = options;
  const accounts = openAccountsTable(memory.accounts);
  const gate = createGate({
    keys: createKeyCache(openKeyTableReader(memory.keys)),
    accounts,
    quotas: openQuotas({ handle: memory.quotas, accounts, clock }),
    clock,
  });
  const geo = openGeoReader(memory.geo);
  const check = openCheck({ lookup, records, geo: createGeoFragments(geo) });
  return {
    gate,
    check,
    geo,
    routes: [checkRoute({ gate, check, clock }), checkBulkRoute({ gate, check, clock })],
  };
}
