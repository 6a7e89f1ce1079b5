/** Dovecot's questions about logins, and the failed ones that it sends. */

import type { QuotaGuard } from '../../access/quota/quota.ts';
import type { Judge, SendReports } from '../../contracts/reputation.ts';
import type { Clock } from '../../core/clock.ts';
import type { Metrics } from '../../core/metrics.ts';
import type { Endpoint } from '../../web/guard/endpoint.ts';
import type { Guard } from '../../web/guard/guard.ts';
import { type IntegrationCounters, labelled } from '../counters.ts';
import { createLoginFailures } from './failures.ts';
import { policyEndpoint, policyRoute } from './policy.route.ts';

export const dovecotEndpoints: readonly Endpoint[] = [
  policyEndpoint, // POST /policy/dovecot
];

export function openDovecot(needs: {
  readonly clock: Clock;
  readonly quotaGuard: QuotaGuard;
  readonly guard: Guard;
  readonly judge: Judge;
  readonly counters: IntegrationCounters;
  /** Account id by slot. */
  readonly accountOf: (slot: number) => string | undefined;
  readonly report: SendReports;
}) {
  const { clock, quotaGuard, guard, judge, accountOf, report } = needs;
  const failures = createLoginFailures(clock);
  return {
    routes: [
      policyRoute({ guard, quotaGuard, check: { judge }, clock, failures, accountOf, report }),
    ],
    tables: [failures.table],
    metrics(metrics: Metrics): void {
      metrics.counterBy(
        'portcullis_dovecot_requests_total',
        'Questions and reports of Dovecot, by what became of them.',
        ['outcome'],
        () => labelled('outcome', needs.counters.read('dovecot')),
      );
    },
  };
}
