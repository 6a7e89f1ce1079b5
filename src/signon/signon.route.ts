/** All pages of sign-on in one table, made by one page builder (page-builder.ts). */

import type { Accounts } from '../access/accounts/accounts.ts';
import type { MasterKey } from '../access/keys/master-key.ts';
import type { SiteKeys } from '../access/keys/site-keys.ts';
import type { Config } from '../config.ts';
import type { Clock } from '../core/clock.ts';
import type { Random } from '../core/random.ts';
import type { GeoReader } from '../geo/reader.ts';
import type { PlainRoute } from '../http/router.ts';
import { notice } from '../web/components/notice.ts';
import type { Callers } from '../web/guard/callers.ts';
import { createCookies } from '../web/guard/cookies.ts';
import type { FailureNotes } from '../web/guard/endpoint.ts';
import type { FormChallenges } from '../web/guard/form-challenges.ts';
import { type UnsavedSeals, unsavedBytesMax, unsavedLifeMs } from '../web/guard/intake/unsaved.ts';
import { createPageBuilder } from '../web/guard/page-builder.ts';
import { createRequestContexts } from '../web/guard/request-context.ts';
import { html, renderHtml } from '../web/html.ts';
import type { Language } from '../web/language.ts';
import type { PageTools } from '../web/page-tools.ts';
import { type AccountRoutesOptions, accountRoutes } from './account/account.route.ts';
import type { Signon } from './open-signon.ts';
import { recoverRoutes } from './people/pages/recover.route.ts';
import { registerRoutes } from './people/pages/register.route.ts';
import { verifyRoutes } from './people/pages/verify.route.ts';
import type { Profiles } from './people/profile/profile-store.ts';
import type { PageBuilder } from './request-context.route.ts';
import { createSealedTexts } from './sealed-text.ts';
import { failures } from './sessions/failure.page.ts';
import { createOnwards } from './sessions/onward.route.ts';
import { signInRoutes } from './sessions/sign-in/sign-in.route.ts';
import { signOutRoutes } from './sessions/sign-out.route.ts';
import type { Authorization } from './sites/authorization.ts';
import { authorizeRoutes } from './sites/pages/authorize.route.ts';
import { consentRoutes } from './sites/pages/consent.route.ts';
import { catalogueFor } from './words/words.ts';

export interface SignonPageOptions {
  readonly config: Config;
  readonly log: FailureNotes;
  readonly random: Random;
  readonly clock: Clock;
  readonly masterKey: MasterKey;
  readonly tools: PageTools;
  readonly callers: Callers;
  readonly geo: GeoReader;
  readonly signon: Signon;
  /** Returns whether the person of a session prefers translucent surfaces. */
  readonly prefersGlass: (session: { readonly accountId: string }) => Promise<boolean>;
}

const stampBytes = 8;

/** The seals of forms that were not saved, each for the browser that sent it. */
function createUnsavedSeals(options: {
  masterKey: MasterKey;
  clock: Clock;
  random: Random;
}): UnsavedSeals {
  const { clock } = options;
  const plainBytesMax = unsavedBytesMax + stampBytes;
  const texts = createSealedTexts({ ...options, purpose: 'unsaved form', plainBytesMax });
  return {
    seal(text, holder) {
      const stamp = Buffer.alloc(stampBytes);
      stamp.writeDoubleBE(clock.now());
      return texts.seal(Buffer.concat([stamp, Buffer.from(text)]), holder);
    },
    open(text, holder) {
      const opened = texts.open(text, holder);
      if (opened === undefined) return undefined;
      const plain = Buffer.from(opened.plain);
      const isOver = clock.now() >= plain.readDoubleBE() + unsavedLifeMs;
      return isOver ? undefined : plain.subarray(stampBytes).toString('utf8');
    },
  };
}

function unsavedNotice(language: Language, isKept: boolean): string {
  const { kept, nothing } = catalogueFor(language).signon.unsaved;
  const body = isKept ? kept : nothing;
  return renderHtml(
    html`<div class="wrap">${notice({ tone: 'warning', body, alert: true })}</div>`,
  );
}

/** Returns the page builder, which makes all pages with a session. */
export function openPageBuilder(options: SignonPageOptions): PageBuilder {
  const { config, signon } = options;
  const { baseUrl } = config;
  const cookies = createCookies(baseUrl.startsWith('https:'));
  const contextOf = createRequestContexts({ ...options, sessions: signon.sessions, cookies });
  return createPageBuilder({
    ...options,
    failures,
    sessions: signon.sessions,
    cookies,
    contextOf,
    baseUrl,
    unsavedNotice,
    unsaved: createUnsavedSeals(options),
    strengthOf: signon.changes.strengthOf,
  });
}

export interface SignonRoutesOptions extends Omit<AccountRoutesOptions, 'onwards'> {
  readonly config: Config;
  readonly clock: Clock;
  readonly random: Random;
  readonly tools: PageTools;
  readonly callers: Callers;
  readonly signon: Signon;
  readonly authorization: Authorization;
  readonly profiles: Profiles;
  readonly accounts: Accounts;
  readonly siteKeys: SiteKeys;
  readonly challenges: FormChallenges;
}

export function signonRoutes(options: SignonRoutesOptions): PlainRoute[] {
  const { config } = options;
  const parts = { ...options, onwards: createOnwards(options.authorization) };
  return [
    ...registerRoutes({ ...parts, registrationOpen: config.registrationOpen }),
    ...verifyRoutes(parts),
    ...signInRoutes(parts),
    ...signOutRoutes(parts),
    ...recoverRoutes(parts),
    ...authorizeRoutes(parts),
    ...consentRoutes(parts),
    ...accountRoutes(parts),
  ];
}
