/**
 * The check's half in the main thread: the API's routes that walk reports and lists. A plain check is answered by
 * front ends (check.route.ts).
 */

import type { AccountOf, CatchUpTo } from '../../contracts/reputation.ts';
import type { Clock } from '../../core/clock.ts';
import { createSemaphore, type SliceScheduler } from '../../core/scheduling.ts';
import type { GeoReader } from '../../geo/reader.ts';
import type { IpIndex } from '../../index/ip-index.ts';
import type { Endpoint } from '../../web/guard/endpoint.ts';
import type { Guard } from '../../web/guard/guard.ts';
import type { EvidenceReader } from '../address/evidence.ts';
import type { Hostnames } from '../hostnames.ts';
import {
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
  checkEndpoint,
  checkBulkEndpoint,
  checkBlockEndpoint,
  reportsEndpoint,
  clearAddressEndpoint,
];

export function openCheckReads(needs: {
  readonly clock: Clock;
  readonly scheduler: SliceScheduler;
  readonly guard: Guard;
  readonly check: Check;
  readonly index: IpIndex;
  readonly geo: GeoReader;
  readonly reports: ReportStore;
  readonly evidence: EvidenceReader;
  readonly hostnames: Hostnames;
  readonly accountOf: AccountOf;
  readonly catchUpTo: CatchUpTo;
  /** The beginning of links to other pages. */
  readonly secureUrl: string;
}) {
  const hostnames = needs.hostnames.isInChecks ? needs.hostnames : undefined;
  const walks = createSemaphore(walksMax);
  const given = { ...needs, hostnames, walks, blockCheck: createBlockCheck(needs) };
  return {
    routes: [
      checkDetailsRoute(given),
      reportsRoute(given),
      checkBlockRoute(given),
      clearAddressRoute(given),
    ],
    tables: [walks.table('report_walks')],
  };
}
