/**
 * The check's half in the main thread: the API's routes that walk reports and lists. A plain check is answered by
 * front ends (check.route.ts).
 */

import type { Clock } from '../../core/clock.ts';
import { createSemaphore, type Turns } from '../../core/scheduling.ts';
import type { GeoReader } from '../../geo/reader.ts';
import type { IpIndex } from '../../index/ip-index.ts';
import type { Guard } from '../../web/guard/guard.ts';
import type { EvidenceReader } from '../address/evidence.ts';
import {
  type ClearAddressOptions,
  clearAddressRoute,
  reportsRoute,
} from '../reports/reports.route.ts';
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

export function openCheckReads(needs: {
  readonly guard: Guard;
  readonly check: Check;
  readonly index: IpIndex;
  readonly geo: GeoReader;
  readonly clock: Clock;
  readonly turns: Turns;
  readonly reports: ReportStore;
  readonly evidence: EvidenceReader;
  readonly secureUrl: string;
  /** Account id by slot. */
  readonly accountOf: ClearAddressOptions['accountOf'];
  /** Resolves when the journal event is in memory. */
  readonly catchUpTo: ClearAddressOptions['catchUpTo'];
}) {
  const { guard, check, index, geo, clock, turns, reports, evidence, secureUrl } = needs;
  const { accountOf, catchUpTo } = needs;
  const walks = createSemaphore(walksMax);
  const blockCheck = createBlockCheck({ index, check, reports, clock, turns });
  return {
    routes: [
      checkDetailsRoute({ guard, check, clock, reports, evidence, walks }),
      reportsRoute({ guard, clock, reports, secureUrl, walks }),
      checkBlockRoute({ guard, geo, clock, turns, walks, blockCheck }),
      clearAddressRoute({ guard, reports, walks, accountOf, catchUpTo }),
    ],
    tables: [walks.table('report_walks')],
  };
}
