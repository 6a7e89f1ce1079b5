/**
 * What a link of registration or recovery carries beside its account: the browser that asked and
 * where the person was going there; with registration, the password that was chosen or the passkey
 * that was made, and how often somebody tried to use the link elsewhere. The address of the link
 * itself tells nothing of it, and where the person was going is told to that browser alone.
 */

import type { FoundLink } from './links.ts';
import { type PendingPasskey, pendingPasskeyText, readPendingPasskey } from './passkey-records.ts';
import { equalBytes } from './tokens.ts';
import { browserHash, type Visitor } from './visitor.ts';

export interface LinkData {
  readonly chosen: Chosen;
  /** Of the browser that asked for it, `browserHash` in base64url; empty: none. */
  readonly browser: string;
  readonly tries: number;
}

/** What a link brings to the account when it is used: a password, a passkey, or (reset) neither. */
export interface Chosen {
  /** PHC string; empty with a passkey. */
  readonly passwordHash: string;
  readonly passkey: PendingPasskey | undefined;
  /** Query of a page of ours, without `?`; empty: nowhere in particular. */
  readonly onward: string;
}

/** Nothing in it has spaces: PHC strings, base64url, a number, a query. */
const onwardShape = /^[\x21-\x7e]{0,4096}$/;

export function newLinkData(accountId: string, visitor: Visitor, chosen: Chosen): string {
  if (!onwardShape.test(chosen.onward)) throw new TypeError('not a query');
  return linkText({ chosen, browser: markOf(accountId, visitor), tries: 0 });
}

/** Of a link for a new password, which is chosen when it is opened. */
export function newResetData(accountId: string, visitor: Visitor, onward: string): string {
  return newLinkData(accountId, visitor, { passwordHash: '', passkey: undefined, onward });
}

export function linkText({ chosen, browser, tries }: LinkData): string {
  const passkey = chosen.passkey === undefined ? '' : pendingPasskeyText(chosen.passkey);
  return `${chosen.passwordHash} ${browser} ${tries} ${chosen.onward} ${passkey}`;
}

export function readLinkData(link: FoundLink): LinkData {
  const [passwordHash = '', browser = '', tries, onward = '', passkey = ''] = link.data.split(' ');
  const chosen = { passwordHash, passkey: readPendingPasskey(passkey), onward };
  return { chosen, browser, tries: Number(tries ?? 0) };
}

/** The browser that asked for the link holds it. */
export function isOwnBrowser(link: FoundLink, visitor: Visitor): boolean {
  const { browser } = readLinkData(link);
  const given = markOf(link.account, visitor);
  return browser !== '' && equalBytes(Buffer.from(browser), Buffer.from(given));
}

/** Where the person was going. Empty in another browser: what waits for them waits in the first. */
export function onwardFor(link: FoundLink, visitor: Visitor): string {
  return isOwnBrowser(link, visitor) ? readLinkData(link).chosen.onward : '';
}

function markOf(accountId: string, { browserId }: Visitor): string {
  if (browserId === undefined) return '';
  return Buffer.from(browserHash(accountId, browserId)).toString('base64url');
}
