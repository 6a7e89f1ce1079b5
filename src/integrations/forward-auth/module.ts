/**
 * Forward authentication: a proxy asks about each visitor (check.route.ts, in the front ends), and shows the
 * challenge under the site's own host.
 */

import type { Metrics } from '../../core/metrics.ts';
import type { Random } from '../../core/random.ts';
import type { Endpoint } from '../../web/guard/endpoint.ts';
import { type IntegrationCounters, labelled } from '../counters.ts';
import { createBlockedPage } from './blocked.page.ts';
import {
  type GateChallengeOptions,
  gateChallengeRoutes,
  gateEndpoints,
} from './challenge.route.ts';
import { envoyEndpoint, gateEndpoint } from './check.route.ts';
import { createPasses } from './pass.ts';

export const forwardAuthEndpoints: readonly Endpoint[] = [
  gateEndpoint,
  envoyEndpoint,
  gateEndpoints.show,
  gateEndpoints.blocked,
  gateEndpoints.answer,
  gateEndpoints.another,
  gateEndpoints.start,
  gateEndpoints.picture,
  gateEndpoints.sound,
  gateEndpoints.file,
];

export function openForwardAuth(
  needs: Pick<
    GateChallengeOptions,
    'guard' | 'challenges' | 'media' | 'assets' | 'asset' | 'clock'
  > & {
    readonly baseUrl: string;
    readonly random: Random;
    /** The key that passes are signed with, in the front ends too. */
    readonly passKey: Uint8Array;
    readonly counters: IntegrationCounters;
  },
) {
  return {
    counts: { gate: () => needs.counters.read('gate') },
    routes: gateChallengeRoutes({
      clock: needs.clock,
      guard: needs.guard,
      challenges: needs.challenges,
      media: needs.media,
      assets: needs.assets,
      asset: needs.asset,
      passes: createPasses({ clock: needs.clock, random: needs.random, key: needs.passKey }),
      blocked: createBlockedPage({ ...needs.assets.brand, baseUrl: needs.baseUrl }),
    }),
    metrics(metrics: Metrics): void {
      metrics.counterBy(
        'portcullis_gate_requests_total',
        'Questions to the gate, by what became of them.',
        ['outcome'],
        () => labelled('outcome', needs.counters.read('gate')),
      );
    },
  };
}
