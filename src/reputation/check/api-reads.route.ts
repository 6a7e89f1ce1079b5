/** The API's routes that walk reports and lists in the main thread, put together. */

import type { BoundedTables } from '../../core/bounded-tables.ts';
import type { Clock } from '../../core/clock.ts';
import type { Metrics } from '../../core/metrics.ts';
import { createSemaphore, type Turns } from '../../core/scheduling.ts';
import type { GeoReader } from '../../geo/reader.ts';
import type { Route } from '../../http/router.ts';
import type { IpIndex } from '../../index/ip-index.ts';
import type { Guard } from '../../web/guard/guard.ts';
import type { EvidenceReader } from '../address/evidence.ts';
import { blacklistRoute } from '../blocklists/blacklist.route.ts';
import { createBlacklist } from '../blocklists/blacklist.ts';
import { type ClearAddressOptions, clearAddressRoute } from '../reports/clear-address.route.ts';
import { reportsRoute } from '../reports/reports.route.ts';
import type { ReportStore } from '../reports/store/report-store.ts';
import { createBlockCheck } from './block-check.ts';
import type { Check } from './check.ts';
import { checkBlockRoute } from './check-block.route.ts';
import { checkDetailsRoute } from './check-details.route.ts';

/**
 * Walks over the reports of an address or a network at a time, each a third of a second of work at worst, most of
 * them none. Those that wait cost little.
 */
const walksMax = { runningMax: 4, waitingMax: 1_000 };

export function apiReadRoutes(options: {
  guard: Guard;
  check: Check;
  index: IpIndex;
  geo: GeoReader;
  clock: Clock;
  metrics: Pick<Metrics, 'gauge'>;
  tables: Pick<BoundedTables, 'add'>;
  reports: ReportStore;
  secureUrl: string;
  /** See `Reducer.allowChanges`. */
  allowChanges: () => number;
  turns: Turns;
  evidence: EvidenceReader;
  accountOf: ClearAddressOptions['accountOf'];
  catchUpTo: ClearAddressOptions['catchUpTo'];
}): Route[] {
  const walks = createSemaphore(walksMax);
  options.tables.add(walks.table('report_walks'));
  const blacklist = createBlacklist(options);
  options.metrics.gauge(
    'portcullis_blacklist_entries_left_out',
    'Entries that found no room in the last blacklist that was made for the API.',
    blacklist.leftOut,
  );
  return [
    checkDetailsRoute({ ...options, walks }),
    reportsRoute({ ...options, walks }),
    checkBlockRoute({ ...options, walks, blockCheck: createBlockCheck(options) }),
    clearAddressRoute({ ...options, walks }),
    blacklistRoute({ ...options, blacklist }),
  ];
}
