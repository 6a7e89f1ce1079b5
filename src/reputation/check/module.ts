/**
 * The check's half in the main thread: the API's routes that walk reports and lists. A plain check is answered by
 * front ends (check.route.ts).
 */

import { createSemaphore } from '../../core/scheduling.ts';
import type { Endpoint } from '../../web/guard/endpoint.ts';
import type { Hostnames } from '../hostnames.ts';
import {
  type ClearAddressOptions,
  clearAddressEndpoint,
  clearAddressRoute,
  type ReportsRouteOptions,
  reportsEndpoint,
  reportsRoute,
} from '../reports/reports.route.ts';
import { createBlockCheck } from './block-check.ts';
import { checkEndpoint } from './check.route.ts';
import {
  type CheckBlockOptions,
  checkBlockEndpoint,
  checkBlockRoute,
} from './check-block.route.ts';
import { checkBulkEndpoint } from './check-bulk.route.ts';
import { type CheckDetailsOptions, checkDetailsRoute } from './check-details.route.ts';

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

/** Needs what its routes need, but for what they share here. */
export function openCheckReads(
  needs: Omit<
    CheckDetailsOptions & ReportsRouteOptions & CheckBlockOptions & ClearAddressOptions,
    'hostnames' | 'walks' | 'blockCheck'
  > &
    Parameters<typeof createBlockCheck>[0] & { readonly hostnames: Hostnames },
) {
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
