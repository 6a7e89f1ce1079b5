/**
 * What a link of registration carries beside its account: the password that was chosen or the
 * passkey that was made, the browser that asked, how often somebody tried to use it elsewhere, and where the person was going.
 * The address of the link itself tells nothing of it.
 */

import type { FoundLink } from './links.ts';
import { type PendingPasskey, pendingPasskeyText, readPendingPasskey } from './passkey-records.ts';
import { equalBytes } from './tokens.ts';
import { browserHash, type Visitor } from './visitor.ts';

export interface VerifyData {
  readonly chosen: Chosen;
  /** Of the browser that asked for it, `browserHash` in base64url; empty: none. */
  readonly browser: string;
  readonly tries: number;
}

/** What a link brings to the account when it is used: a password or a passkey. */
export interface Chosen {
  /** PHC string; empty with a passkey. */
  readonly passwordHash: string;
  readonly passkey: PendingPasskey | undefined;
  /** Query of a page of ours, without `?`; empty: nowhere in particular. */
  readonly onward: string;
}

/** Nothing in it has spaces: PHC strings, base64url, a number, a query. */
const onwardShape = /^[\x21-\x7e]{0,4096}$/;

export function newVerifyData(accountId: string, visitor: Visitor, chosen: Chosen): string {
  if (!onwardShape.test(chosen.onward)) throw new TypeError('not a query');
  return verifyText({ chosen, browser: markOf(accountId, visitor), tries: 0 });
}

export function verifyText({ chosen, browser, tries }: VerifyData): string {
  const passkey = chosen.passkey === undefined ? '' : pendingPasskeyText(chosen.passkey);
  return `${chosen.passwordHash} ${browser} ${tries} ${chosen.onward} ${passkey}`;
}

export function readVerifyData(link: FoundLink): VerifyData {
  const [passwordHash = '', browser = '', tries, onward = '', passkey = ''] = link.data.split(' ');
  const chosen = { passwordHash, passkey: readPendingPasskey(passkey), onward };
  return { chosen, browser, tries: Number(tries ?? 0) };
}

/** The browser that asked for the link holds it. */
export function isOwnBrowser(link: FoundLink, visitor: Visitor): boolean {
  const { browser } = readVerifyData(link);
  const given = markOf(link.account, visitor);
  return browser !== '' && equalBytes(Buffer.from(browser), Buffer.from(given));
}

function markOf(accountId: string, { browserId }: Visitor): string {
  if (browserId === undefined) return '';
  return Buffer.from(browserHash(accountId, browserId)).toString('base64url');
}
