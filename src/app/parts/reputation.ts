/** Opens geo tables, the check, reports and the use of accounts. */

import { openAccountsTable } from '../../access/accounts/accounts-table.ts';
import { deriveKey } from '../../access/keys/master-key.ts';
import {
  createSightingBoard,
  markKeyPurpose,
  type Sightings,
  startSightings,
} from '../../access/marks.ts';
import { createClientLimits, openLimitRecords } from '../../access/quota/client-limits.ts';
import { type DistributedLimits, quotaParty } from '../../access/quota/distributed-limits.ts';
import { secondsLeftOfDay } from '../../access/quota/points.ts';
import { openQuotas } from '../../access/quota/quota.ts';
import { createUsage, type Usage } from '../../access/quota/usage.ts';
import { clientLimits } from '../../config/limits.ts';
import type { BoundedTable } from '../../core/bounded-tables.ts';
import { shareTime } from '../../core/clock.ts';
import { createHeartbeat } from '../../core/threads.ts';
import { openSystems, type Systems } from '../../geo/systems/systems.ts';
import {
  createIntegrationCounters,
  type IntegrationCounters,
} from '../../integrations/counters.ts';
import { passKeyPurpose } from '../../integrations/forward-auth/pass.ts';
import { type BandSurvey, startBandSurvey } from '../../reputation/counts/entry-bands.ts';
import {
  createRefusedReports,
  createReportAdmission,
  type RefusedReports,
} from '../../reputation/reports/report-admission.ts';
import {
  createReportStore,
  type ReportStore,
} from '../../reputation/reports/store/report-store.ts';
import { startDetailsBound, startExpiry, startSampling } from '../maintenance.ts';
import { createFrontEnd, type FrontEnd, type FrontEndMemory } from '../threads/front-end.ts';
import type { Data } from './data.ts';
import type { Opening } from './dependencies.ts';

export interface ReputationParts {
  /** Shared memory that each front-end thread reads. */
  readonly memory: FrontEndMemory;
  readonly frontEnd: FrontEnd;
  readonly reports: ReportStore;
  readonly refusedReports: RefusedReports;
  readonly usage: Usage;
  /** Clients that front ends count. */
  readonly counted: BoundedTable;
  readonly integrationCounters: IntegrationCounters;
  readonly systems: Systems;
  readonly survey: BandSurvey;
  readonly sightings: Sightings;
}

/** Clients and networks that front ends remember, over all limits. */
const countedClientsMax = 65_536;

export function openReputation(
  opening: Opening,
  {
    store,
    state,
    maintenance,
    geo,
    banTable,
    shares,
  }: Pick<Data, 'store' | 'state' | 'maintenance' | 'geo' | 'banTable'> & {
    shares: DistributedLimits;
  },
): ReputationParts {
  const { config, clock, random, log, closers } = opening;
  const { geoAsnMmdb: asnMmdbPath } = config;
  const { index, entries, access, follower } = state;
  const { newAddresses, generationOf } = access;
  const heartbeat = createHeartbeat(clock);
  closers.add(heartbeat.start());
  const time = maintenance.isShared ? shareTime(clock) : undefined;
  if (time !== undefined) closers.add(time.start());
  const integrationCounters = createIntegrationCounters(config.httpThreads);
  const memory: FrontEndMemory = {
    ...state.shared,
    geo,
    bans: banTable.buffer,
    heartbeat: heartbeat.buffer,
    time: time?.buffer,
    limits: shares.memory('front ends', countedClientsMax),
    gate: {
      counters: integrationCounters.buffer,
      threads: config.httpThreads,
      passKey: deriveKey(opening.masterKey, passKeyPurpose),
      hasProxies: config.trustedProxies.length > 0,
    },
    marks: {
      key: deriveKey(opening.masterKey, markKeyPurpose),
      board: createSightingBoard().buffer,
    },
  };
  const records = openLimitRecords(memory.limits);
  const frontEnd = createFrontEnd({
    memory,
    index,
    clock,
    log,
    ...(config.clientLimitsOn ? { limits: createClientLimits(clientLimits, records) } : {}),
  });
  const { quotas, accounts } = state.shared;
  shares.add(
    quotaParty({
      handle: quotas,
      accountCount: access.count,
      clock,
      quotas: openQuotas({ handle: quotas, accounts: openAccountsTable(accounts), clock }),
    }),
  );
  const { catchUpTo } = follower;
  const counted = { newAddresses, secondsLeftOfDay, catchUpTo };
  const admission = createReportAdmission({ entries, clock, ...counted });
  const reports = createReportStore({ store, clock, random, admission, generationOf });
  const old = createReportStore({ store: maintenance.store, clock, random });
  closers.add(startExpiry(old, maintenance, log));
  const survey = startBandSurvey({ index, clock });
  closers.add(startDetailsBound(survey, maintenance, log));
  closers.add(survey.stop);
  const usage = createUsage({ handle: quotas, accountCount: access.count, generationOf, clock });
  closers.add(startSampling(usage));
  const systems = openSystems({
    clock,
    asnMmdbPath,
    onFailure: (err) => log.warn({ err }, 'geo: a network was not looked up'),
  });
  closers.add(() => systems.close());
  const sightings = startSightings({ memory: memory.marks, store, clock, log });
  closers.add(sightings.close);
  const table = { name: 'paced_networks', used: () => records.size, limit: records.capacity };
  const refusedReports = createRefusedReports();
  return {
    memory,
    frontEnd,
    reports,
    refusedReports,
    usage,
    integrationCounters,
    systems,
    survey,
    sightings,
    counted: table,
  };
}
