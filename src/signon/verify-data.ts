/**
 * What a link of registration carries beside its account: the password that was chosen, the
 * browser that asked, how often somebody tried to use it elsewhere, and where the person was going.
 * The address of the link itself tells nothing of it.
 */

import type { FoundLink } from './links.ts';
import { equalBytes } from './tokens.ts';
import { browserHash, type Visitor } from './visitor.ts';

export interface VerifyData {
  /** PHC string of the password that was chosen with it. */
  readonly passwordHash: string;
  /** Of the browser that asked for it, `browserHash` in base64url; empty: none. */
  readonly browser: string;
  readonly tries: number;
  /** Query of a page of ours, without `?`; empty: nowhere in particular. */
  readonly onward: string;
}

/** Nothing in it has spaces: PHC strings, base64url, a number, a query. */
const onwardShape = /^[\x21-\x7e]{0,4096}$/;

export function newVerifyData(
  accountId: string,
  visitor: Visitor,
  chosen: { readonly passwordHash: string; readonly onward: string },
): string {
  if (!onwardShape.test(chosen.onward)) throw new TypeError('not a query');
  return verifyText({ ...chosen, browser: markOf(accountId, visitor), tries: 0 });
}

export function verifyText({ passwordHash, browser, tries, onward }: VerifyData): string {
  return `${passwordHash} ${browser} ${tries} ${onward}`;
}

export function readVerifyData(link: FoundLink): VerifyData {
  const [passwordHash = '', browser = '', tries, onward = ''] = link.data.split(' ');
  return { passwordHash, browser, tries: Number(tries ?? 0), onward };
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
