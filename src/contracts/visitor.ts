/** The client of a request as pages and sign-on see it. */

import { sha256 } from '../core/crypto.ts';
import type { Language } from '../core/language.ts';

/**
 * Coarse facts, as the request states them, that help an owner to recognise a session; nothing identifies a
 * device.
 */
export interface Visitor {
  /** The name of the client, see `networksOf` in ip/networks.ts: IPv4 or an IPv6 /64. */
  readonly client: string;
  /** The name of the IPv4 /24 or IPv6 /48 around it, see there. */
  readonly neighbourhood?: string | undefined;
  /** The country of the client's address, `ZZ` when unknown. */
  readonly country: string;
  /** The header as it came; only `agentName` of it is kept. */
  readonly userAgent: string;
  /** The browser cookie (see `newToken`), if it came. */
  readonly browser?: string | undefined;
  /** The id of the browser, also before a sign-in; it follows from a cookie that this browser alone has. */
  readonly browserId?: string | undefined;
  /** The cookie of a browser that asked for a mailed link to sign in, if it came. */
  readonly asked?: string | undefined;
  /** The cookie of a trusted browser, if it came. */
  readonly trusted?: string | undefined;
  readonly language: Language;
}

/** The visitor of an act of the operator has neither a browser nor a country. */
export const operatorsClient: Visitor = {
  client: '',
  country: 'ZZ',
  userAgent: '',
  language: 'en',
};

/** Order matters: most browsers name others too. */
const browsers: readonly (readonly [string, string])[] = [
  ['Edg/', 'Edge'],
  ['EdgA/', 'Edge'],
  ['OPR/', 'Opera'],
  ['SamsungBrowser/', 'Samsung Internet'],
  ['Firefox/', 'Firefox'],
  ['FxiOS/', 'Firefox'],
  ['CriOS/', 'Chrome'],
  ['Chrome/', 'Chrome'],
  ['Safari/', 'Safari'],
  ['curl/', 'curl'],
];
const systems: readonly (readonly [string, string])[] = [
  ['Windows', 'Windows'],
  ['Android', 'Android'],
  ['iPhone', 'iOS'],
  ['iPad', 'iPadOS'],
  ['Mac OS X', 'macOS'],
  ['CrOS', 'ChromeOS'],
  ['Linux', 'Linux'],
];
const headerLengthMax = 512;

/** Returns text such as `Firefox, Linux`; empty when nothing is recognised. */
export function agentName(userAgent: string): string {
  const text = userAgent.slice(0, headerLengthMax);
  const browser = browsers.find(([token]) => text.includes(token))?.[1];
  const system = systems.find(([token]) => text.includes(token))?.[1];
  return [browser, system].filter((part) => part !== undefined).join(', ');
}

/** Returns two letters, or `ZZ`. */
export function visitorCountryOf(visitor: Visitor): string {
  return /^[A-Z]{2}$/.test(visitor.country) ? visitor.country : 'ZZ';
}

/** Returns 16 bytes that identify a browser for this account and no other. */
export function browserHash(accountId: string, browser: string): Uint8Array {
  return sha256(`browser ${accountId} ${browser}`).subarray(0, 16);
}
