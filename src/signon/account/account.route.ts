/** All routes of a person's account pages. */

import type { PlainRoute } from '../../http/router.ts';
import type { PageTools } from '../../web/page-tools.ts';
import { type AccountAreaOptions, createAccountArea } from './account-area.route.ts';
import { avatarRoutes } from './avatar.route.ts';
import { confirmRoutes } from './confirm.route.ts';
import { dataRoutes } from './data.route.ts';
import { keyRoutes } from './keys.route.ts';
import { profileRoutes } from './profile.route.ts';
import { reportsRoutes } from './reports.route.ts';
import { reviewRoutes } from './review.route.ts';
import { securityRoutes } from './security.route.ts';
import { siteRoutes } from './sites.route.ts';
import { webhookRoutes } from './webhooks.route.ts';

export type AccountRoutesOptions = AccountAreaOptions & { readonly tools: PageTools };

export function accountRoutes(options: AccountRoutesOptions): PlainRoute[] {
  const area = createAccountArea(options);
  return [
    ...profileRoutes(area),
    ...avatarRoutes(area, options.tools),
    ...keyRoutes(area),
    ...reportsRoutes(area),
    ...webhookRoutes(area),
    ...securityRoutes(area),
    ...siteRoutes(area),
    ...dataRoutes(area),
    ...confirmRoutes(area),
    ...reviewRoutes(area),
  ];
}
