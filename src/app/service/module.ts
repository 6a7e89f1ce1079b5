/** The service's own routes: readiness, metrics, robots.txt and their like; some of them on ADMIN_LISTEN too. */

import type { Config } from '../../config.ts';
import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';
import type { Route } from '../../http/router.ts';
import type { Membership } from '../../storage/nodes/nodes.ts';
import type { Store } from '../../storage/store.ts';
import type { Endpoint } from '../../web/guard/endpoint.ts';
import type { State } from '../state.ts';
import { openAdminListener } from './admin-listener.ts';
import { healthEndpoint } from './health.route.ts';
import {
  changePasswordEndpoint,
  metricsEndpoint,
  passkeyEndpointsEndpoint,
  readinessEndpoint,
  readinessOf,
  robotsEndpoint,
  securityTxtEndpoint,
  serviceRoutes,
  webManifestEndpoint,
} from './service.route.ts';

export const serviceEndpoints: readonly Endpoint[] = [
  healthEndpoint, // GET /healthz
  readinessEndpoint, // GET /readyz
  robotsEndpoint, // GET /robots.txt
  securityTxtEndpoint, // GET /.well-known/security.txt
  changePasswordEndpoint, // GET /.well-known/change-password
  passkeyEndpointsEndpoint, // GET /.well-known/passkey-endpoints
  webManifestEndpoint, // GET /site.webmanifest
  metricsEndpoint, // GET /metrics
];

export function openService(
  needs: Omit<Parameters<typeof serviceRoutes>[0], 'readiness'> & {
    readonly config: Config;
    readonly clock: Clock;
    readonly log: Log;
    readonly store: Store;
    readonly state: State;
    readonly member: Membership | undefined;
    readonly ofFrontEnds: readonly Route[];
  },
) {
  const { config, clock, log, store, state, member } = needs;
  let isDraining = false;
  const routes = serviceRoutes({
    ...needs,
    readiness: () => readinessOf(state, store, clock, isDraining, member),
  });
  return {
    routes,
    /** Says at /readyz that the server is about to stop. */
    drain(): void {
      isDraining = true;
    },
    /** Opens the listener of ADMIN_LISTEN; a server without the setting has none. */
    async listen() {
      const { adminListen } = config;
      if (adminListen === undefined) return {};
      return openAdminListener({ ...adminListen, routes: [...needs.ofFrontEnds, ...routes], log });
    },
  };
}
