/** All pages of sign-on in one table, made by one page builder (page-builder.ts). */

import { deflateRawSync, inflateRawSync } from 'node:zlib';
import type { Accounts } from '../access/accounts/accounts.ts';
import type { MasterKey } from '../access/keys/master-key.ts';
import type { SiteKeys } from '../access/keys/site-keys.ts';
import type { Config } from '../config.ts';
import type { Clock } from '../core/clock.ts';
import type { Random } from '../core/random.ts';
import type { GeoReader } from '../geo/reader.ts';
import type { PlainRoute } from '../http/router.ts';
import type { Callers } from '../web/guard/callers.ts';
import { createCookies } from '../web/guard/cookies.ts';
import type { Endpoint, FailureNotes } from '../web/guard/endpoint.ts';
import type { FormChallenges } from '../web/guard/form-challenges.ts';
import { type UnsavedSeals, unsavedBytesMax, unsavedLifeMs } from '../web/guard/intake/unsaved.ts';
import { createPageBuilder } from '../web/guard/page-builder.ts';
import { createRequestContexts } from '../web/guard/request-context.ts';
import type { PageTools } from '../web/page-tools.ts';
import {
  type AccountRoutesOptions,
  accountRoutes,
  dataEndpoints,
  reportsEndpoints,
  siteEndpoints,
} from './account/account.route.ts';
import { confirmEndpoints, reviewEndpoints } from './account/confirm.route.ts';
import { keyEndpoints } from './account/keys.route.ts';
import { avatarEndpoint, ownAvatarEndpoints, profileEndpoints } from './account/profile.route.ts';
import { securityEndpoints } from './account/security.route.ts';
import { webhookEndpoints } from './account/webhooks.route.ts';
import type { Signon } from './open-signon.ts';
import type { Profiles } from './people/profile/profile-store.ts';
import { registerEndpoints, registerRoutes } from './people/register.route.ts';
import {
  recoverEndpoints,
  recoverRoutes,
  verifyEndpoints,
  verifyRoutes,
} from './people/verify.route.ts';
import { createSealedTexts } from './sealed-text.ts';
import { failures, unsavedNotice } from './sessions/failure.page.tsx';
import { createOnwards, type PageBuilder } from './sessions/onward.route.ts';
import * as signIn from './sessions/sign-in.route.ts';
import * as signInLink from './sessions/sign-in.route.ts';
import * as signOut from './sessions/sign-in.route.ts';
import { signInRoutes, signOutRoutes } from './sessions/sign-in.route.ts';
import type { Authorization } from './sites/authorization.ts';
import * as authorize from './sites/authorize.route.ts';
import * as consent from './sites/authorize.route.ts';
import { authorizeRoutes, consentRoutes } from './sites/authorize.route.ts';

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
  // Packed: text of many languages becomes half as long.
  const plainBytesMax = unsavedBytesMax + stampBytes;
  const texts = createSealedTexts({ ...options, purpose: 'unsaved form', plainBytesMax });
  return {
    seal(text, holder) {
      const stamp = Buffer.alloc(stampBytes);
      stamp.writeDoubleBE(clock.now());
      const packed = deflateRawSync(text);
      if (packed.length > unsavedBytesMax) return undefined;
      return texts.seal(Buffer.concat([stamp, packed]), holder);
    },
    open(text, holder) {
      const opened = texts.open(text, holder);
      if (opened === undefined) return undefined;
      const plain = Buffer.from(opened.plain);
      const isOver = clock.now() >= plain.readDoubleBE() + unsavedLifeMs;
      return isOver ? undefined : inflateRawSync(plain.subarray(stampBytes)).toString('utf8');
    },
  };
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

/** Declarations of the pages and forms of sign-on, grouped by who may call. */
export const signonEndpoints: readonly Endpoint[] = [
  // Whoever comes to sign in, to register, or from another site.
  registerEndpoints.ask, // GET /register
  registerEndpoints.register, // POST /register
  registerEndpoints.noPasskey, // GET /register/passkey
  registerEndpoints.registerPasskey, // POST /register/passkey
  registerEndpoints.sent, // GET /register/sent
  registerEndpoints.again, // POST /register/again
  verifyEndpoints.ask, // GET /verify
  verifyEndpoints.verify, // POST /verify
  verifyEndpoints.passkeyOptions, // POST /verify/passkey/options
  signIn.signInEndpoints.ask, // GET /signin
  signIn.signInEndpoints.withPassword, // POST /signin
  signInLink.signInLinkEndpoints.show, // GET /signin/link
  signInLink.signInLinkEndpoints.use, // POST /signin/link
  signInLink.signInLinkEndpoints.sent, // GET /signin/link/sent
  signIn.signInEndpoints.secondFactor, // GET /signin/second-factor
  signIn.signInEndpoints.withSecondFactor, // POST /signin/second-factor
  signIn.signInEndpoints.passkeyOptions, // POST /signin/passkey/options
  signIn.signInEndpoints.withPasskey, // POST /signin/passkey
  recoverEndpoints.ask, // GET /recover
  recoverEndpoints.request, // POST /recover
  recoverEndpoints.sent, // GET /recover/sent
  recoverEndpoints.askReset, // GET /reset
  recoverEndpoints.reset, // POST /reset
  authorize.authorizeEndpoints.begin, // GET /authorize.php
  authorize.authorizeEndpoints.goOn, // GET /authorize.php/continue
  consent.consentAgainEndpoint, // GET /authorize.php/consent
  consent.consentEndpoint, // POST /authorize.php/consent
  dataEndpoints.gone, // GET /goodbye
  avatarEndpoint, // GET /avatars/:name
  // Whoever has a session, verified or not.
  verifyEndpoints.resend, // POST /verify/resend
  signOut.signOutEndpoint, // POST /signout
  // The same with a verified mail address, while a review of the account is due too.
  confirmEndpoints.show, // GET /account/confirm
  confirmEndpoints.byPassword, // POST /account/confirm
  confirmEndpoints.passkeyOptions, // POST /account/confirm/passkey/options
  confirmEndpoints.byPasskey, // POST /account/confirm/passkey
  reviewEndpoints.ask, // GET /account/review
  reviewEndpoints.decide, // POST /account/review
  // Whoever has a session, a verified mail address and no review due.
  profileEndpoints.show, // GET /account
  profileEndpoints.save, // POST /account/profile
  profileEndpoints.changeEmail, // POST /account/email
  recoverEndpoints.askConfirm, // GET /account/email/confirm
  recoverEndpoints.confirm, // POST /account/email/confirm
  ownAvatarEndpoints.put, // POST /account/avatar
  ownAvatarEndpoints.remove, // POST /account/avatar/remove
  keyEndpoints.show, // GET /account/keys
  reportsEndpoints.show, // GET /account/reports
  reportsEndpoints.takeBack, // POST /account/reports/take-back
  webhookEndpoints.show, // GET /account/webhooks
  webhookEndpoints.test, // POST /account/webhooks/test
  webhookEndpoints.remove, // POST /account/webhooks/remove
  keyEndpoints.createSiteKey, // POST /account/site-keys/create
  keyEndpoints.revokeSiteKey, // POST /account/site-keys/revoke
  securityEndpoints.show, // GET /account/security
  securityEndpoints.changePassword, // POST /account/security/password
  securityEndpoints.showTotp, // GET /account/security/totp
  securityEndpoints.beginTotp, // POST /account/security/totp/begin
  securityEndpoints.enableTotp, // POST /account/security/totp/enable
  securityEndpoints.renewCodes, // POST /account/security/totp/renew
  securityEndpoints.disableTotp, // POST /account/security/totp/disable
  securityEndpoints.passkeyOptions, // POST /account/security/passkeys/options
  securityEndpoints.addPasskey, // POST /account/security/passkeys
  securityEndpoints.removePasskey, // POST /account/security/passkeys/remove
  securityEndpoints.endSession, // POST /account/security/sessions/end
  securityEndpoints.endOthers, // POST /account/security/sessions/end-others
  siteEndpoints.show, // GET /account/sites
  siteEndpoints.revoke, // POST /account/sites/revoke
  dataEndpoints.show, // GET /account/data
  // The same with a fresh proof of identity.
  profileEndpoints.sendCode, // POST /account/phone
  profileEndpoints.verifyCode, // POST /account/phone/verify
  profileEndpoints.removePhone, // POST /account/phone/remove
  keyEndpoints.create, // POST /account/keys/create
  keyEndpoints.reveal, // POST /account/keys/reveal
  keyEndpoints.revoke, // POST /account/keys/revoke
  keyEndpoints.createNamed, // POST /account/keys/named/create
  keyEndpoints.rename, // POST /account/keys/named/rename
  keyEndpoints.removeNamed, // POST /account/keys/named/remove
  webhookEndpoints.create, // POST /account/webhooks/create
  dataEndpoints.download, // POST /account/export
  dataEndpoints.remove, // POST /account/delete
];

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
