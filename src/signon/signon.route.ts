/** All pages of sign-on in one table, made by one page builder (page-builder.ts). */

import { deflateRawSync, inflateRawSync } from 'node:zlib';
import type { MasterKey } from '../access/keys/master-key.ts';
import type { Config } from '../config.ts';
import type { Clock } from '../core/clock.ts';
import type { Random } from '../core/random.ts';
import type { GeoReader } from '../geo/reader.ts';
import type { Request } from '../http/request/message.ts';
import type { PlainRoute } from '../http/router.ts';
import type { FormChallenges } from '../web/components/challenge.tsx';
import type { Callers } from '../web/guard/callers.ts';
import { createCookies } from '../web/guard/cookies.ts';
import type { Endpoint, FailureNotes } from '../web/guard/endpoint.ts';
import type { Hook } from '../web/guard/hooks.ts';
import { type UnsavedSeals, unsavedBytesMax, unsavedLifeMs } from '../web/guard/intake/unsaved.ts';
import { createPageBuilder } from '../web/guard/page-builder.ts';
import { createRequestContexts } from '../web/guard/request-context.ts';
import type { FramePerson } from '../web/layout/layout.tsx';
import type { PageTools } from '../web/page-tools.ts';
import {
  type AccountAreaNeeds,
  type AccountAreaParts,
  createAccountArea,
  dataEndpoints,
  dataRoutes,
  reportsEndpoints,
  reportsRoutes,
  siteEndpoints,
  siteRoutes,
} from './account/account.route.ts';
import {
  confirmEndpoints,
  confirmRoutes,
  reviewEndpoints,
  reviewRoutes,
} from './account/confirm.route.ts';
import { keyEndpoints, keyRoutes } from './account/keys.route.ts';
import { avatarEndpoints, profileEndpoints, profileRoutes } from './account/profile.route.ts';
import { securityEndpoints, securityRoutes } from './account/security.route.ts';
import { webhookEndpoints, webhookRoutes } from './account/webhooks.route.ts';
import type { Signon } from './open-signon.ts';
import { registerEndpoints, registerRoutes } from './people/register.route.ts';
import {
  recoverEndpoints,
  recoverRoutes,
  verifyEndpoints,
  verifyRoutes,
} from './people/verify.route.ts';
import { createSealedTexts } from './sealed-text.ts';
import { createOnwards, type PageBuilder } from './sessions/onward.route.ts';
import { failures, unsavedNotice } from './sessions/parts.page.tsx';
import type { Session } from './sessions/sessions.ts';
import { signInEndpoints, signInRoutes } from './sessions/sign-in.route.ts';
import type { SignInLog } from './sessions/sign-in-log.ts';
import type { Authorization } from './sites/authorization.ts';
import { authorizeEndpoints, authorizeRoutes } from './sites/authorize.route.ts';
import type { SiteNames } from './sites/site-names.ts';
import type { SiteTries } from './sites/tries.ts';

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
  /** False: an operator without a second factor may enter the console. */
  readonly asksOperatorsFactor: boolean;
  /** Returns what the header shows of the person of a session. */
  readonly personOf: (session: Session) => Promise<FramePerson>;
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
  const { config, signon, asksOperatorsFactor } = options;
  const { baseUrl } = config;
  const { strengthOf } = signon.changes;
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
    async strengthOf(session) {
      const strength = await strengthOf(session);
      return strength === 'missing' && !asksOperatorsFactor ? 'strong' : strength;
    },
  });
}

/** Declarations of the pages and forms of sign-on. */
export const signonEndpoints: readonly Endpoint[] = [
  registerEndpoints,
  verifyEndpoints,
  recoverEndpoints,
  signInEndpoints,
  authorizeEndpoints,
  profileEndpoints,
  avatarEndpoints,
  keyEndpoints,
  reportsEndpoints,
  webhookEndpoints,
  securityEndpoints,
  siteEndpoints,
  dataEndpoints,
  confirmEndpoints,
  reviewEndpoints,
].flatMap((ofPages): Endpoint[] => Object.values(ofPages));

/** These are opened after sign-on. */
export interface SignonRoutesNeeds extends AccountAreaNeeds {
  readonly tools: PageTools;
  readonly callers: Callers;
  readonly formChallenges: FormChallenges;
}

interface SignonRoutesOptions extends SignonRoutesNeeds, AccountAreaParts {
  readonly config: Config;
  readonly clock: Clock;
  readonly authorization: Authorization;
  readonly siteNames: Pick<SiteNames, 'of'>;
  readonly tries: SiteTries;
}

export function signonRoutes(options: SignonRoutesOptions): PlainRoute[] {
  const { config } = options;
  const registrationOpen = config.registration === 'open';
  const parts = { ...options, registrationOpen, onwards: createOnwards(options.authorization) };
  const area = createAccountArea(parts);
  return [
    ...registerRoutes(parts),
    ...verifyRoutes(parts),
    ...signInRoutes(parts),
    ...recoverRoutes(parts),
    ...authorizeRoutes(parts),
    ...profileRoutes(area, options.tools),
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

// Sign-on routes under the operators' log: each request that changed something of an account, and
// each one that was turned away, becomes an entry with the client's address.

/** A form with a mail address is shorter. */
const formBytesMax = 8_192;

/** Returns the typed mail address; the log compares it with the accounts and drops it. */
function typedEmail({ method, body }: Request): string | undefined {
  if (method !== 'POST' || body.length === 0 || body.length > formBytesMax) return undefined;
  return new URLSearchParams(Buffer.from(body).toString('utf8')).get('email') ?? undefined;
}

export function signInLogging(log: Pick<SignInLog, 'during'>): Hook {
  return {
    name: 'sign-in log',
    appliesTo: (declared) => signonEndpoints.includes(declared),
    around: (run, request, { path }) =>
      log.during(
        () => run(request),
        ({ status }) => ({
          address: request.clientIp,
          path,
          status,
          email: status >= 400 ? typedEmail(request) : undefined,
        }),
      ),
  };
}
