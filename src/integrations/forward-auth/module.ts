/**
 * Forward authentication: a proxy asks about each visitor (check.route.ts, in the front ends), and shows the
 * challenge under the site's own host.
 */

import type { Clock } from '../../core/clock.ts';
import type { Metrics } from '../../core/metrics.ts';
import type { Random } from '../../core/random.ts';
import type { Assets } from '../../web/assets.ts';
import type { Endpoint } from '../../web/guard/endpoint.ts';
import type { Guard } from '../../web/guard/guard.ts';
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
  gateEndpoint, // GET /gate/check
  envoyEndpoint, // GET /gate/envoy/*
  gateEndpoints.show, // GET /.portcullis/challenge
  gateEndpoints.blocked, // GET /.portcullis/blocked
  gateEndpoints.answer, // POST /.portcullis/challenge
  gateEndpoints.another, // GET /.portcullis/new
  gateEndpoints.start, // GET /.portcullis/start
  gateEndpoints.picture, // GET /.portcullis/img/:file
  gateEndpoints.sound, // GET /.portcullis/audio/:file
  gateEndpoints.file, // GET /.portcullis/static/*
];

export function openForwardAuth(needs: {
  readonly clock: Clock;
  readonly baseUrl: string;
  readonly random: Random;
  readonly guard: Guard;
  readonly assets: Pick<Assets, 'url' | 'brand'>;
  readonly asset: GateChallengeOptions['asset'];
  readonly challenges: GateChallengeOptions['challenges'];
  readonly media: GateChallengeOptions['media'];
  /** The key that passes are signed with, in the front ends too. */
  readonly passKey: Uint8Array;
  readonly counters: IntegrationCounters;
}) {
  const { clock, baseUrl, random, guard, assets, asset, challenges, media, passKey } = needs;
  const { siteName, accent } = assets.brand;
  const passes = createPasses({ key: passKey, clock, random });
  return {
    counts: { gate: () => needs.counters.read('gate') },
    routes: gateChallengeRoutes({
      guard,
      challenges,
      media,
      assets,
      asset,
      passes,
      clock,
      blocked: createBlockedPage({ baseUrl, siteName, accent }),
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
