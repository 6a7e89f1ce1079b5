/**
 * Who may use up a link of registration. Holding the mailbox is half of it: whoever registers the
 * address of another would else get an account that its owner verified with one careless press.
 * The other half is the browser that registered, or the password that was chosen there.
 *
 * A try counts in the link's row before it is judged, so a thousand at once are five all the same.
 */

import { fail, ok, type Result } from '../core/result.ts';
import type { Store } from '../store/store.ts';
import type { Attempts } from './attempts.ts';
import { commitOnce, untilUndisturbed } from './change.ts';
import { type FoundLink, type Links, unused } from './links.ts';
import { normalisePassword, type Passwords } from './passwords.ts';
import type { Person } from './people.ts';
import { equalBytes } from './tokens.ts';
import { browserHash, type Visitor } from './visitor.ts';

export const verifyTriesMax = 5;

/** What a link of registration carries. */
export interface VerifyData {
  /** PHC string of the password that was chosen with it. */
  readonly passwordHash: string;
  /** Of the browser that asked for it, `browserHash` in base64url; empty: none. */
  readonly browser: string;
  readonly tries: number;
}

/** Neither PHC strings nor base64url have spaces. */
export function verifyData(accountId: string, passwordHash: string, visitor: Visitor): string {
  return textOf({ passwordHash, browser: markOf(accountId, visitor), tries: 0 });
}

export function readVerifyData(link: FoundLink): VerifyData {
  const [passwordHash = '', browser = '', tries] = link.data.split(' ');
  return { passwordHash, browser, tries: Number(tries ?? 0) };
}

/** The browser that asked for the link holds it. */
export function isOwnBrowser(link: FoundLink, visitor: Visitor): boolean {
  const { browser } = readVerifyData(link);
  const given = markOf(link.account, visitor);
  return browser !== '' && equalBytes(Buffer.from(browser), Buffer.from(given));
}

/**
 * Whether the password is the one that was chosen with the link. `sign_in_refused`,
 * `invalid_link` after five tries, `too_many_attempts`, `overloaded`, `store_unavailable`.
 */
export async function provePassword(
  parts: { store: Store; links: Links; passwords: Passwords; attempts: Attempts },
  given: { token: string; person: Person; password: string; visitor: Visitor },
): Promise<Result<void>> {
  const { store, links, passwords, attempts } = parts;
  const { token, person, visitor } = given;
  const attempt = {
    stage: 'password',
    account: person.account.email,
    network: visitor.network,
    browser: undefined,
  } as const;
  const waitSeconds = attempts.begin(attempt);
  if (waitSeconds > 0) return { ...fail('too_many_attempts'), retryAfterSeconds: waitSeconds };
  const counted = await untilUndisturbed<string>(async () => {
    const link = await links.find('verify', token);
    if (link === undefined) return fail('invalid_link');
    const data = readVerifyData(link);
    if (data.tries >= verifyTriesMax) return fail('invalid_link');
    const row = links.changed('verify', link, textOf({ ...data, tries: data.tries + 1 }));
    const done = await commitOnce(store, { check: [unused(link)], set: [row] });
    return done === 'lost' || !done.ok ? done : ok(data.passwordHash);
  });
  if (!counted.ok) return counted;
  const normal = normalisePassword(given.password);
  const checked = await passwords.verify(normal === undefined ? '' : counted.value, normal ?? '');
  if (!checked.ok) {
    attempts.withdrawn(attempt);
    return checked;
  }
  if (!checked.value.right) return fail('sign_in_refused');
  attempts.succeeded(attempt);
  return ok(undefined);
}

function textOf({ passwordHash, browser, tries }: VerifyData): string {
  return `${passwordHash} ${browser} ${tries}`;
}

function markOf(accountId: string, { browserId }: Visitor): string {
  if (browserId === undefined) return '';
  return Buffer.from(browserHash(accountId, browserId)).toString('base64url');
}
