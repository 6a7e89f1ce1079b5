/** All routes of a person's own space. */

import type { PlainRoute } from '../../http/router.ts';
import type { PageTools } from '../../web/page-tools.ts';
import { avatarRoutes } from './avatar.route.ts';
import { confirmRoutes } from './confirm.route.ts';
import { dataRoutes } from './data.route.ts';
import { keyRoutes } from './keys.route.ts';
import { profileRoutes } from './profile.route.ts';
import { reportsRoutes } from './reports.route.ts';
import { reviewRoutes } from './review.route.ts';
import { securityRoutes } from './security.route.ts';
import { siteRoutes } from './sites.route.ts';
import { createSpace, type SpaceOptions } from './space.route.ts';
import { webhookRoutes } from './webhooks.route.ts';

export type AccountRoutesOptions = SpaceOptions & { readonly tools: PageTools };

export function accountRoutes(options: AccountRoutesOptions): PlainRoute[] {
  const space = createSpace(options);
  return [
    ...profileRoutes(space),
    ...avatarRoutes(space, options.tools),
    ...keyRoutes(space),
    ...reportsRoutes(space),
    ...webhookRoutes(space),
    ...securityRoutes(space),
    ...siteRoutes(space),
    ...dataRoutes(space),
    ...confirmRoutes(space),
    ...reviewRoutes(space),
  ];
}
