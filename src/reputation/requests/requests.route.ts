/** Two forms about one address, for visitors: a report by hand, and a request for removal. */

import type { PlainRoute } from '../../http/router.ts';
import type { RequestPageOptions } from './asked.route.ts';
import { removalRoutes } from './removal.route.ts';
import { reportFormRoutes } from './report-form.route.ts';

export function requestRoutes(options: RequestPageOptions): PlainRoute[] {
  return [...removalRoutes(options), ...reportFormRoutes(options)];
}
