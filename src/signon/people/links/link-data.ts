/**
 * The data of a link of registration or recovery, besides its account: the browser that asked and
 * where the person was going there; with registration, the password that was chosen or the passkey
 * that was made, and how often somebody tried to use the link elsewhere. The address of the link
 * itself reveals nothing of it, and only that browser learns where the person was going.
 */

import { equalBytes } from '../../../core/digest.ts';
import {
  type PendingPasskey,
  pendingPasskeyText,
  readPendingPasskey,
} from '../../proofs/passkey-records.ts';
import { browserHash, type Visitor } from '../../visitor.ts';
import type { FoundLink } from './links.ts';

export interface LinkData {
  readonly chosen: Chosen;
  /** The browser that asked for it, `browserHash` in base64url; empty: none. */
  readonly browser: string;
  readonly tries: number;
  /** The time from which a link of registration works, ms since 1970; 0: at once. */
  readonly worksFrom: number;
}

export type AskedLink = Pick<LinkData, 'chosen' | 'worksFrom'>;

/** The credential that a link gives the account when it is used: a password, a passkey, or (reset) neither. */
export interface Chosen {
  /** A PHC string; empty with a passkey, and when the password is chosen with the link. */
  readonly passwordHash: string;
  readonly passkey: PendingPasskey | undefined;
  /** The query of a page of ours, without `?`; empty: nowhere in particular. */
  readonly onward: string;
}

/** Spaces separate the fields of a link, so none may hold one. */
const onwardShape = /^[\x21-\x7e]{0,4096}$/;

export function newLinkData(accountId: string, visitor: Visitor, asked: AskedLink): string {
  const { chosen, worksFrom } = asked;
  if (!onwardShape.test(chosen.onward)) throw new TypeError('not a query');
  return linkText({ chosen, browser: markOf(accountId, visitor), tries: 0, worksFrom });
}

/** Returns the data of a link for a new password, which is chosen when the link is opened. */
export function newResetData(accountId: string, visitor: Visitor, onward: string): string {
  const chosen = { passwordHash: '', passkey: undefined, onward };
  return newLinkData(accountId, visitor, { chosen, worksFrom: 0 });
}

export function linkText({ chosen, browser, tries, worksFrom }: LinkData): string {
  const passkey = chosen.passkey === undefined ? '' : pendingPasskeyText(chosen.passkey);
  return `${chosen.passwordHash} ${browser} ${tries} ${chosen.onward} ${passkey} ${worksFrom}`;
}

export function readLinkData(link: FoundLink): LinkData {
  const [passwordHash = '', browser = '', tries, onward = '', passkey = '', worksFrom] =
    link.data.split(' ');
  const chosen = { passwordHash, passkey: readPendingPasskey(passkey), onward };
  // Older links have no time.
  return { chosen, browser, tries: Number(tries ?? 0), worksFrom: Number(worksFrom ?? 0) };
}

/**
 * Returns whether the link of a registration carries nothing: whoever opens it chooses the
 * password.
 */
export function isChosenByLink({ passwordHash, passkey }: Chosen): boolean {
  return passwordHash === '' && passkey === undefined;
}

/** Returns whether the visitor uses the browser that asked for the link. */
export function isOwnBrowser(link: FoundLink, visitor: Visitor): boolean {
  const { browser } = readLinkData(link);
  const given = markOf(link.account, visitor);
  return browser !== '' && equalBytes(Buffer.from(browser), Buffer.from(given));
}

/** Returns where the person was going; empty in another browser, as what waits for them waits in the first. */
export function onwardFor(link: FoundLink, visitor: Visitor): string {
  return isOwnBrowser(link, visitor) ? readLinkData(link).chosen.onward : '';
}

function markOf(accountId: string, { browserId }: Visitor): string {
  if (browserId === undefined) return '';
  return Buffer.from(browserHash(accountId, browserId)).toString('base64url');
}
