/**
 * One request of a person to the pages of sign-on: whose session it is, in which language it is
 * answered, and with which token its forms are made. Read anew at each request; nothing is kept.
 */

import { type Random, randomToken } from '../../core/random.ts';
import type { GeoReader } from '../../geo/reader.ts';
import { firstHeader, type Header, type Request } from '../../http/message.ts';
import type { Language } from '../../pages/language.ts';
import type { PageFrame } from '../../pages/layout.ts';
import type { Session, Sessions } from '../../signon/sessions.ts';
import { sha256 } from '../../signon/tokens.ts';
import type { Visitor } from '../../signon/visitor.ts';
import type { Callers } from '../callers.ts';
import { clientCountry } from '../client-country.ts';
import { languageOf, type PageTools } from '../pages.ts';
import type { Cookies } from './cookies.ts';

/** Headers that every route of sign-on reads. */
export const visitHeaders = [
  'accept-language',
  'content-type',
  'cookie',
  'host',
  'origin',
  'sec-fetch-site',
  'user-agent',
] as const;

export interface SessionContext {
  /** Undefined without a live session. It may be unverified: routes say who may use them. */
  readonly session: Session | undefined;
  readonly language: Language;
  /** What the sign-on domain wants to know of the client. */
  readonly visitor: Visitor;
}

export interface Visit extends SessionContext {
  readonly request: Request;
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
  /** `Set-Cookie` headers that every answer to this visit must carry. */
  readonly cookies: readonly Header[];
}

const secretBytes = 32;
const nonceBytes = 16;

export interface VisitOptions {
  readonly sessions: Pick<Sessions, 'find'>;
  readonly cookies: Cookies;
  readonly callers: Pick<Callers, 'clientOf'>;
  readonly geo: GeoReader;
  readonly random: Random;
  readonly tools: PageTools;
}

export function createVisits(options: VisitOptions): (request: Request) => Promise<Visit> {
  const { sessions, cookies, callers, geo, random, tools } = options;

  return async (request) => {
    const token = cookies.read(request, 'session');
    const session = token === undefined ? undefined : await sessions.find(token);
    const known = cookies.read(request, 'form');
    const form = known ?? randomToken(random, secretBytes);
    const language = languageOf(request);
    const csrf = session?.csrf ?? derived('form token', form);
    const nonce = randomToken(random, nonceBytes);
    const browserId = derived('browser', form);
    const person = session && { email: session.email, csrf };
    return {
      request,
      session,
      language,
      visitor: {
        network: callers.clientOf(request),
        country: clientCountry(geo, request.clientIp),
        userAgent: firstHeader(request, 'user-agent') ?? '',
        browser: cookies.read(request, 'browser'),
        browserId,
        language,
      },
      browserId,
      csrf,
      frame: { ...tools.frame(language), person, nonce },
      nonce,
      cookies: [
        ...(known === undefined ? [cookies.set('form', form)] : []),
        // One that is over would only be sent again and again.
        ...(token !== undefined && session === undefined ? [cookies.clear('session')] : []),
      ],
    };
  };
}

/** Known to whoever has the cookie and to nobody else; tells nothing of it. */
function derived(purpose: string, secret: string): string {
  return Buffer.from(sha256(`${purpose} ${secret}`)).toString('base64url');
}
