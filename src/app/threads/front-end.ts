/**
 * Builds what every front-end thread holds: readers of the shared memory and the routes answered
 * from it alone. The main thread builds the same from the same handles for its own look-ups.
 */

import { openAccountsTable } from '../../access/accounts/accounts-table.ts';
import { createKeyCache } from '../../access/keys/key-cache.ts';
import { openKeyTableReader } from '../../access/keys/key-table.ts';
import { createMarkSpotter, type MarkMemory } from '../../access/marks.ts';
import type { ClientLimits, LimitMemory } from '../../access/quota/client-limits.ts';
import { createQuotaGuard, openQuotas } from '../../access/quota/quota.ts';
import type { ClientLimitName } from '../../config/limits.ts';
import { entryFlags } from '../../contracts/reputation.ts';
import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';
import { systemRandom } from '../../core/random.ts';
import { createHeartbeat } from '../../core/threads.ts';
import { createGeoFragments, openGeoReader } from '../../geo/reader.ts';
import type { IndexView } from '../../index/reader.ts';
import { metaOf } from '../../index/records.ts';
import { createIntegrationCounters } from '../../integrations/counters.ts';
import { openBanReader } from '../../integrations/crowdsec/ban-table.ts';
import { liveRoute, upRoute } from '../../integrations/crowdsec/live.route.ts';
import {
  createLoginFairShare,
  createPolicyIntegration,
} from '../../integrations/dovecot/policy.route.ts';
import { gateRoutes } from '../../integrations/forward-auth/check.route.ts';
import { createPasses } from '../../integrations/forward-auth/pass.ts';
import { checkRoute } from '../../reputation/check/check.route.ts';
import { openCheck } from '../../reputation/check/check.ts';
import { checkBulkRoute } from '../../reputation/check/check-bulk.route.ts';
import { maliciousBy } from '../../reputation/check/score.ts';
import { createCallers } from '../../web/guard/callers.ts';
import { createGuard } from '../../web/guard/guard.ts';
import { healthRoute } from '../health.route.ts';
import type { SharedState } from '../state.ts';

export interface FrontEndMemory extends SharedState {
  readonly geo: SharedArrayBuffer;
  /** Bans of agents: see integrations/crowdsec/ban-table.ts. */
  readonly bans: SharedArrayBuffer;
  /** Heartbeat of the main thread: see core/threads.ts. */
  readonly heartbeat: SharedArrayBuffer;
  /** The database's time, which nodes of a cluster use: see core/clock.ts. */
  readonly time: SharedArrayBuffer | undefined;
  /** Limits per client, counted by all front ends together. */
  readonly limits: LimitMemory;
  readonly gate: GateMemory;
  readonly marks: MarkMemory;
}

export interface GateMemory {
  /** Memory of `createIntegrationCounters`: a row for each front end. */
  readonly counters: SharedArrayBuffer;
  readonly threads: number;
  /** 32 bytes that passes are signed with. Secret. */
  readonly passKey: Uint8Array;
  /** True if TRUSTED_PROXIES names any address. */
  readonly hasProxies: boolean;
}

export function createFrontEnd(options: {
  memory: FrontEndMemory;
  index: Parameters<typeof openCheck>[0]['index'] &
    Pick<IndexView, 'readPrefix' | 'walk' | 'listNames'>;
  clock: Clock;
  log: Log;
  /** Left out: nobody is limited. */
  limits?: ClientLimits<ClientLimitName>;
  /** Which front end it is; the main thread, which answers nothing of it, stands in for the first. */
  thread?: number;
  /** Around each look at the index that comes later than its request. */
  within?: <T>(work: () => T) => T;
}) {
  const { memory, index, clock, log } = options;
  const accounts = openAccountsTable(memory.accounts);
  const gate = createQuotaGuard({
    keys: createKeyCache(openKeyTableReader(memory.keys)),
    accounts,
    quotas: openQuotas({ handle: memory.quotas, accounts, clock }),
    clock,
  });
  const geo = openGeoReader(memory.geo);
  const check = openCheck({ index, geo: createGeoFragments(geo) });
  const callers = createCallers({ limits: options.limits, check, clock });
  const { counters, threads, passKey, hasProxies } = memory.gate;
  const counted = createIntegrationCounters(threads, counters);
  const thread = options.thread ?? 0;
  const random = systemRandom();
  const passes = createPasses({ key: passKey, clock, random });
  const isSpent = (keyId: string) => callers.takeFor('decisions', keyId) > 0;
  // Nothing of what they answer is a page.
  const guard = createGuard({
    gate,
    callers,
    log,
    renderPage: () => ({ html: '', headers: [] }),
    ...(options.within === undefined ? {} : { within: options.within }),
  });
  const count = counted.recorder('dovecot', thread);
  const spotMark = createMarkSpotter(memory.marks, clock);
  const shares = createLoginFairShare(clock, Buffer.from(random.bytes(4)).readUInt32BE(0));
  return {
    policy: createPolicyIntegration({ gate, check, clock, isSpent, shares, count }),
    gate,
    check,
    geo,
    guard,
    spotMark,
    /** Answered by front ends; all other routes belong to the main thread. */
    routes: [
      checkRoute({ gate, check, clock }),
      checkBulkRoute({ guard, check, clock }),
      liveRoute({
        gate,
        check,
        index,
        clock,
        log,
        bans: openBanReader(memory.bans),
        maliciousBy: (entry) => maliciousBy(index, entry),
        spares: (entry) =>
          ((metaOf(index.records, entry) >>> 8) &
            (entryFlags.allowlisted | entryFlags.knownGood)) !==
          0,
        isSpent,
        count: counted.recorder('decisions', thread),
      }),
      ...gateRoutes({
        check,
        passes,
        clock,
        hasProxies,
        spotMark,
        count: counted.recorder('gate', thread),
      }),
      upRoute(),
      healthRoute(createHeartbeat(clock, memory.heartbeat).silentMs),
    ],
  };
}

export type FrontEnd = ReturnType<typeof createFrontEnd>;
