/**
 * The cookies. `session` is the sign-in; `form` names a browser that has none yet, so that forms
 * before sign-in have a token too; `browser` recognises a browser that signed in before; `asked`
 * one that asked for a mailed link to sign in (signon/sessions/sign-in.ts); `trusted` one that is trusted in place of
 * the second factor (signon/proofs/trusted-browsers.ts); `ticket` one
 * whose password was right and whose second step is open; `captcha` gives a browser its own limit
 * of challenges (captcha/page/captcha-visitors.route.ts), also in other sites' pages; `looks` holds
 * the language and the theme that a reader chose (appearance.ts). Over https each has the `__Host-`
 * prefix: no sub-domain can set or read it. On plain http (loopback) browsers would refuse that
 * prefix and `Secure`, so both are left out.
 */

import type { Header, Request } from '../../http/request/message.ts';

type CookieName =
  | 'session'
  | 'form'
  | 'browser'
  | 'captcha'
  | 'asked'
  | 'trusted'
  | 'looks'
  | 'ticket';

/** The shape of every cookie's value, but for those in `shapes`. */
const valueShape = /^[0-9A-Za-z_.-]{22,90}$/;
const askedShape = /^[0-9A-Za-z_-]{22,1500}$/;
const appearanceShape = /^[a-z-]{1,5}\.[a-z-]{1,5}$/;
const shapes: Partial<Record<CookieName, RegExp>> = { asked: askedShape, looks: appearanceShape };
const shapeOf = (name: CookieName) => shapes[name] ?? valueShape;
const pairsMax = 100;

export function createCookies(https: boolean) {
  const prefix = https ? '__Host-' : '';
  const attributes = `Path=/; HttpOnly; SameSite=Lax${https ? '; Secure' : ''}`;
  // Partitioned: one for each site that the widget stands on, so nobody is followed by it.
  const embedded = https ? 'Path=/; HttpOnly; SameSite=None; Secure; Partitioned' : attributes;
  const attributesOf = (name: CookieName) => (name === 'captcha' ? embedded : attributes);
  return {
    /** Returns the cookie's value; undefined when it did not come or can't be ours. */
    read(request: Request, name: CookieName): string | undefined {
      const wanted = `${prefix}${name}`;
      for (const line of request.headers.cookie ?? []) {
        for (const pair of line.split(';', pairsMax)) {
          const equals = pair.indexOf('=');
          if (equals < 0 || pair.slice(0, equals).trim() !== wanted) continue;
          const value = pair.slice(equals + 1).trim();
          return shapeOf(name).test(value) ? value : undefined;
        }
      }
      return undefined;
    },
    /** `Set-Cookie`. Without `maxAgeSeconds` it ends with the browser. */
    set(name: CookieName, value: string, maxAgeSeconds?: number): Header {
      if (!shapeOf(name).test(value)) throw new TypeError(`not a value of the cookie ${name}`);
      const age = maxAgeSeconds === undefined ? '' : `; Max-Age=${maxAgeSeconds}`;
      return ['Set-Cookie', `${prefix}${name}=${value}; ${attributesOf(name)}${age}`];
    },
    clear: (name: CookieName): Header => [
      'Set-Cookie',
      `${prefix}${name}=; ${attributesOf(name)}; Max-Age=0`,
    ],
  };
}

export type Cookies = ReturnType<typeof createCookies>;
