/**
 * One request of a person to the pages of sign-on: whose session it is, in which language it is answered, and with
 * which token its forms are made. Read at each request; nothing is kept.
 */

import type { Visitor } from '../../contracts/visitor.ts';
import { sha256 } from '../../core/crypto.ts';
import type { Language } from '../../core/language.ts';
import { type Random, randomToken } from '../../core/random.ts';
import type { Failure } from '../../core/result.ts';
import { clientCountry, type GeoReader } from '../../geo/reader.ts';
import { firstHeader, type Header, type Request } from '../../http/request/message.ts';
import type { FramePerson, PageFrame } from '../layout/layout.tsx';
import { languageOf, type PageTools } from '../page-tools.ts';
import type { Callers } from './callers.ts';
import type { Cookies } from './cookies.ts';
import type { SessionEndpoint } from './endpoint.ts';
import type { UnsavedForm } from './intake/unsaved.ts';

/** The part of a session that the guard needs; the sign-on's own has more. */
export interface SessionLike {
  readonly email: string;
  /** False: nothing but verification and sign-out is allowed. */
  readonly verified: boolean;
  /** A review of the account is due. */
  readonly reviewing: boolean;
  /**
   * A second factor is demanded of the account: `missing`, it has none; `weak`, this session was not proven
   * with it. Nothing but that is allowed.
   */
  readonly factorDue: Exclude<ProofStrength, 'strong'> | undefined;
  /** The proof of identity is recent. */
  readonly fresh: boolean;
  /** The account has the operator's role at this moment. */
  readonly operator: boolean;
  /** The value of the hidden field of forms. */
  readonly csrf: string;
}

/**
 * The strength of the session's last proof of identity. `missing`: the account has neither a
 * passkey nor an authenticator; `weak`: it has one, and this session has not shown it.
 */
export type ProofStrength = 'missing' | 'weak' | 'strong';

export interface AnyRequestContext<Session extends SessionLike = SessionLike> {
  /** Undefined without a live session. It may be unverified: routes say who may use them. */
  readonly session: Session | undefined;
  /** There is none, but one that is alive had this cookie until lately: another request renewed it. */
  readonly isRenewed: boolean;
  /** The request brought no cookie of ours that a form needs. */
  readonly isCookieless: boolean;
  /** The input of a form of the page that was not saved, shown again. */
  readonly unsaved?: UnsavedForm | undefined;
  /** The page answers a form that was refused with this failure. */
  readonly refused?: Failure | undefined;
  readonly language: Language;
  readonly visitor: Visitor;
  readonly request: Request;
  /** The declaration of the page, which names the failures that it may be answered with. */
  readonly endpoint: SessionEndpoint;
  /**
   * Names this browser whether it is signed in or not, and stays the same over a sign-in: the
   * holder of an authorization until there is a session (`transactions.begin`, `rebind`).
   */
  readonly browserId: string;
  /** For the hidden field `csrf` of every form on the page. */
  readonly csrf: string;
  /** For the page: has the signed-in person in its header, and the nonce. */
  readonly frame: PageFrame;
  /** Random, of this answer: allows its own inline script or style element. */
  readonly nonce: string;
  /** The cookie of a sign-in whose second step this browser has yet to take. */
  readonly ticket?: string | undefined;
  /** `Set-Cookie` headers that every answer to this request must carry. */
  readonly cookies: readonly Header[];
}

const secretBytes = 32;
const nonceBytes = 16;

interface RequestContextOptions<Session extends SessionLike> {
  readonly sessions: {
    /** The session of a cookie; undefined for one that is over, unknown or malformed. */
    find(token: string): Promise<Session | undefined>;
    /** Returns why the cookie has no session: `renewed`, `ended` or `unknown`. */
    statusOf(token: string): Promise<string | undefined>;
  };
  readonly personOf: (session: Session) => Promise<FramePerson>;
  readonly cookies: Cookies;
  readonly callers: Pick<Callers, 'networksOf'>;
  readonly geo: GeoReader;
  readonly random: Random;
  readonly tools: PageTools;
}

export function createRequestContexts<Session extends SessionLike>(
  options: RequestContextOptions<Session>,
): (request: Request, endpoint: SessionEndpoint) => Promise<AnyRequestContext<Session>> {
  const { sessions, personOf, cookies, callers, geo, random, tools } = options;

  return async (request, endpoint) => {
    const token = cookies.read(request, 'session');
    const session = token === undefined ? undefined : await sessions.find(token);
    const isDead = token !== undefined && session === undefined;
    const ended = isDead ? await sessions.statusOf(token) : undefined;
    const known = cookies.read(request, 'form');
    const form = known ?? randomToken(random, secretBytes);
    const language = languageOf(request);
    const csrf = session?.csrf ?? derived('form token', form);
    const nonce = randomToken(random, nonceBytes);
    const browserId = browserIdOf(form);
    const person = session && (await personOf(session));
    return {
      request,
      endpoint,
      session,
      isRenewed: ended === 'renewed',
      isCookieless: token === undefined && known === undefined,
      language,
      visitor: {
        ...callers.networksOf(request),
        country: clientCountry(geo, request.clientIp),
        userAgent: firstHeader(request, 'user-agent') ?? '',
        browser: cookies.read(request, 'browser'),
        browserId,
        asked: cookies.read(request, 'asked'),
        trusted: cookies.read(request, 'trusted'),
        language,
      },
      browserId,
      csrf,
      frame: { ...tools.frame(language), person, nonce },
      nonce,
      ticket: cookies.read(request, 'ticket'),
      cookies: [
        ...(known === undefined ? [cookies.set('form', form)] : []),
        // One that is over would only be sent again and again. But this answer may come after the
        // one that brings the browser its session's next cookie, and would take that one away.
        ...(ended === 'ended' ? [cookies.clear('session')] : []),
      ],
    };
  };
}

/** Returns the context under the session's new cookie, which the answer sets. */
export function withSession<Session extends SessionLike, V extends AnyRequestContext<Session>>(
  context: V,
  session: Session,
  cookie: readonly Header[],
): V & { readonly session: Session } {
  const { email, csrf, operator } = session;
  const person = { prefersGlass: false, ...context.frame.person, email, csrf, operator };
  const cookies = [...context.cookies, ...cookie];
  return { ...context, session, csrf: session.csrf, frame: { ...context.frame, person }, cookies };
}

export function browserIdOf(form: string): string {
  return derived('browser', form);
}

/** Returns a value known only to whoever has the cookie; it reveals nothing of the cookie. */
function derived(purpose: string, secret: string): string {
  return Buffer.from(sha256(`${purpose} ${secret}`)).toString('base64url');
}
