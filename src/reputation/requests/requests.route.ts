/** Two forms about one address, for visitors: a report by hand, and a request for removal. */

import type { PlainRoute } from '../../http/router.ts';
import type { RequestPageOptions } from './asked.route.ts';
import { removalEndpoints, removalRoutes } from './removal.route.ts';
import { reportFormEndpoints, reportFormRoutes } from './report-form.route.ts';

export const requestEndpoints = [
  removalEndpoints.ask, // GET /removal
  removalEndpoints.send, // POST /removal
  reportFormEndpoints.ask, // GET /report
  reportFormEndpoints.send, // POST /report
];

export function requestRoutes(options: RequestPageOptions): PlainRoute[] {
  return [...removalRoutes(options), ...reportFormRoutes(options)];
}
