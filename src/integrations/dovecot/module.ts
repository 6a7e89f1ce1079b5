/** Dovecot's questions about logins, and the failed ones that it sends. */

import type { Judge } from '../../contracts/reputation.ts';
import type { Clock } from '../../core/clock.ts';
import type { Metrics } from '../../core/metrics.ts';
import type { Endpoint } from '../../web/guard/endpoint.ts';
import { type IntegrationCounters, labelled } from '../counters.ts';
import {
  createLoginFailures,
  type PolicyRouteOptions,
  policyEndpoint,
  policyRoute,
} from './policy.route.ts';

export const dovecotEndpoints: readonly Endpoint[] = [policyEndpoint];

export function openDovecot(
  needs: Pick<PolicyRouteOptions, 'guard' | 'quotaGuard' | 'accountOf' | 'sendReports'> & {
    readonly clock: Clock;
    readonly judge: Judge;
    readonly counters: IntegrationCounters;
  },
) {
  const failures = createLoginFailures(needs.clock);
  return {
    routes: [
      policyRoute({
        guard: needs.guard,
        quotaGuard: needs.quotaGuard,
        accountOf: needs.accountOf,
        sendReports: needs.sendReports,
        clock: needs.clock,
        check: { judge: needs.judge },
        failures,
      }),
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
