/** All routes of a person's own space. */

import type { PlainRoute } from '../../http/router.ts';
import type { PageTools } from '../pages.ts';
import { avatarRoutes } from './avatar.ts';
import { confirmRoutes } from './confirm.ts';
import { dataRoutes } from './data.ts';
import { keyRoutes } from './keys.ts';
import { profileRoutes } from './profile.ts';
import { securityRoutes } from './security.ts';
import { siteRoutes } from './sites.ts';
import { createSpace, type SpaceOptions } from './space.ts';

export type AccountRoutesOptions = SpaceOptions & { readonly tools: PageTools };

export function accountRoutes(options: AccountRoutesOptions): PlainRoute[] {
  const space = createSpace(options);
  return [
    ...profileRoutes(space),
    ...avatarRoutes(space, options.tools),
    ...keyRoutes(space),
    ...securityRoutes(space),
    ...siteRoutes(space),
    ...dataRoutes(space),
    ...confirmRoutes(space),
  ];
}
