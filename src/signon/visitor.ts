/**
 * The client of a request as sign-on sees it: coarse facts that help an owner to recognise a session,
 * nothing that identifies a device.
 */

import type { Visitor } from '../contracts/visitor.ts';
import { sha256 } from '../core/crypto.ts';

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
