/**
 * The check's half in the main thread: the API's routes that walk reports and lists. A plain check is answered by
 * front ends (check.route.ts).
 */

import type { Clock } from '../../core/clock.ts';
import { createSemaphore, type Turns } from '../../core/scheduling.ts';
import type { GeoReader } from '../../geo/reader.ts';
import type { IpIndex } from '../../index/ip-index.ts';
import type { Endpoint } from '../../web/guard/endpoint.ts';
import type { Guard } from '../../web/guard/guard.ts';
import type { EvidenceReader } from '../address/evidence.ts';
import type { Hostnames } from '../hostnames.ts';
import {
  type ClearAddressOptions,
  clearAddressEndpoint,
  clearAddressRoute,
  reportsEndpoint,
  reportsRoute,
} from '../reports/reports.route.ts';
import type { ReportStore } from '../reports/store/report-store.ts';
import { createBlockCheck } from './block-check.ts';
import { checkEndpoint } from './check.route.ts';
import type { Check } from './check.ts';
import { checkBlockEndpoint, checkBlockRoute } from './check-block.route.ts';
import { checkBulkEndpoint } from './check-bulk.route.ts';
import { checkDetailsRoute } from './check-details.route.ts';

/**
 * Walks over the reports of an address or a network at a time, each a third of a second of work at worst, most of
 * them none. Those that wait cost little.
 */
const walksMax = { runningMax: 4, waitingMax: 1_000 };

export const checkEndpoints: readonly Endpoint[] = [
  checkEndpoint, // GET /api/v2/check
  checkBulkEndpoint, // POST /api/v2/check-bulk
  checkBlockEndpoint, // GET /api/v2/check-block
  reportsEndpoint, // GET /api/v2/reports
  clearAddressEndpoint, // DELETE /api/v2/clear-address
];

export function openCheckReads(needs: {
  readonly guard: Guard;
  readonly check: Check;
  readonly index: IpIndex;
  readonly geo: GeoReader;
  readonly clock: Clock;
  readonly turns: Turns;
  readonly reports: ReportStore;
  readonly evidence: EvidenceReader;
  readonly hostnames: Hostnames;
  readonly secureUrl: string;
  /** Account id by slot. */
  readonly accountOf: ClearAddressOptions['accountOf'];
  /** Resolves when the journal event is in memory. */
  readonly catchUpTo: ClearAddressOptions['catchUpTo'];
}) {
  const { guard, check, index, geo, clock, turns, reports, evidence, secureUrl } = needs;
  const { accountOf, catchUpTo } = needs;
  const hostnames = needs.hostnames.isInChecks ? needs.hostnames : undefined;
  const walks = createSemaphore(walksMax);
  const blockCheck = createBlockCheck({ index, check, reports, clock, turns });
  return {
    routes: [
      checkDetailsRoute({ guard, check, clock, reports, evidence, hostnames, walks }),
      reportsRoute({ guard, clock, reports, secureUrl, walks }),
      checkBlockRoute({ guard, geo, clock, turns, walks, blockCheck }),
      clearAddressRoute({ guard, reports, walks, accountOf, catchUpTo }),
    ],
    tables: [walks.table('report_walks')],
  };
}
