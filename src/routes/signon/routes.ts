/** All pages of sign-on in one table, made at one desk (desk.ts). */

import type { Accounts } from '../../access/accounts.ts';
import type { SiteKeys } from '../../access/site-keys.ts';
import type { Config } from '../../config.ts';
import type { Clock } from '../../core/clock.ts';
import type { Random } from '../../core/random.ts';
import type { GeoReader } from '../../geo/reader.ts';
import type { PlainRoute } from '../../http/router.ts';
import type { Authorization } from '../../signon/authorization.ts';
import type { Signon } from '../../signon/open.ts';
import type { Profiles } from '../../signon/profile-store.ts';
import { type AccountRoutesOptions, accountRoutes } from '../account/routes.ts';
import type { Callers } from '../callers.ts';
import type { CaptchaOptions } from '../captcha.ts';
import type { PageTools } from '../pages.ts';
import { authorizeRoutes } from './authorize.ts';
import { consentRoute } from './consent.ts';
import { createCookies } from './cookies.ts';
import { createDesk } from './desk.ts';
import { recoverRoutes } from './recover.ts';
import { registerRoutes } from './register.ts';
import { signInRoutes } from './sign-in.ts';
import { signOutRoutes } from './sign-out.ts';
import { verifyRoutes } from './verify.ts';
import { createVisits } from './visit.ts';

export interface SignonRoutesOptions extends Omit<AccountRoutesOptions, 'desk'> {
  readonly config: Config;
  readonly clock: Clock;
  readonly random: Random;
  readonly tools: PageTools;
  readonly callers: Callers;
  readonly geo: GeoReader;
  readonly signon: Signon;
  readonly authorization: Authorization;
  readonly profiles: Profiles;
  readonly accounts: Accounts;
  readonly siteKeys: SiteKeys;
  readonly captcha: CaptchaOptions;
}

export function signonRoutes(options: SignonRoutesOptions): PlainRoute[] {
  const { config, signon } = options;
  const { baseUrl } = config;
  const cookies = createCookies(baseUrl.startsWith('https:'));
  const visitOf = createVisits({ ...options, sessions: signon.sessions, cookies });
  const desk = createDesk({ ...options, cookies, visitOf, baseUrl });
  const parts = { ...options, desk };
  return [
    ...registerRoutes(parts),
    ...verifyRoutes(parts),
    ...signInRoutes(parts),
    ...signOutRoutes(parts),
    ...recoverRoutes(parts),
    ...authorizeRoutes(parts),
    consentRoute(parts),
    ...accountRoutes(parts),
  ];
}
