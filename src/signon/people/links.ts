/**
 * Links and tickets that work once: mail verification, password reset, change of address, sign-in,
 * and the ticket between a right password and the second factor. The row is deleted in the very commit
 * that makes the change, with a check of its version, so of all who race for it one wins, in one
 * process or in several.
 *
 * Anybody can have links mailed, so their number has a bound: for each account, and for all of a
 * purpose. Beyond it the row is a decoy's. A link that was used counts until it would have ended.
 * Decoys (of addresses without an account, too) share a few rows and write over one another.
 */

import { browserHash, type Visitor } from '../../contracts/visitor.ts';
import type { Clock } from '../../core/clock.ts';
import { equalBytes, sha256 } from '../../core/crypto.ts';
import { hashOfToken, newToken, type Random } from '../../core/random.ts';
import { dayMs, hourMs, minuteMs } from '../../core/time.ts';
import { isLoopback } from '../../ip/special.ts';
import { createReader, type Reader } from '../../storage/codec.ts';
import { type Key, signonLinkKey, signonLinkPrefix } from '../../storage/keys.ts';
import { oneOf, record, text, varint } from '../../storage/record.ts';
import { pagesUnder, type RowCheck, type SetRow, type Store } from '../../storage/store.ts';
import {
  type PendingPasskey,
  pendingPasskeyText,
  readPendingPasskey,
} from '../proofs/factor-rows.ts';
import { createRowCounter, type RowCounter, type RowCounterStats } from './row-counter.ts';

export const linkLifeMs = {
  verify: dayMs,
  reset: hourMs,
  email: dayMs,
  secondFactor: 10 * minuteMs,
  /** The link lives longer than the hour in which an address gets at most three. */
  signIn: 2 * hourMs,
  /** An invitation works as long as its account waits (pending.ts). */
  invite: 7 * dayMs,
} as const;

type LinkPurpose = keyof typeof linkLifeMs;

export interface Link {
  /** The account's id; empty: a decoy, made so that an unknown address takes the same work. */
  readonly account: string;
  /** The data that it carries: a password hash, a new address. */
  readonly data: string;
  /** The credentials' epoch when it was made: any reset or password change ends it. */
  readonly epoch: number;
}

export interface FoundLink extends Link {
  readonly key: Key;
  readonly version: number;
}

/** The limit of links of one purpose, over all accounts. */
export const linksMax = 65_536;
/**
 * The limits for one account: more links than mails (mail/mailer.ts) while such a link works, so that a link that is
 * refused would have had no mail. Links of other purposes need a password or a session first.
 */
export const linksPerAccountMax = { verify: 80, reset: 8, signIn: 16, invite: 8 } as const;
/** The limit of open invitations: operators alone make them. */
const invitationsMax = 2_048;
/** The rows that the decoys of one purpose share. */
const decoyRows = 64;

const layout = 1;
const purposes = Object.keys(linkLifeMs) as [LinkPurpose, ...LinkPurpose[]];
const rows = record<{ purpose: LinkPurpose } & Link>(layout, {
  purpose: oneOf(purposes),
  account: text,
  data: text,
  epoch: varint,
});

export function createLinks({
  store,
  clock,
  random,
}: {
  store: Store;
  clock: Clock;
  random: Random;
}) {
  const counters = new Map<LinkPurpose, RowCounter>(
    Object.entries(linksPerAccountMax).map(([purpose, perSubjectMax]) => [
      purpose as LinkPurpose,
      createRowCounter({
        kind: `${purpose}_link`,
        clock,
        max: purpose === 'invite' ? invitationsMax : linksMax,
        perSubjectMax,
      }),
    ]),
  );

  function countAgainstBound(purpose: LinkPurpose, key: Key, account: string): boolean {
    if (account === '') return false;
    const counter = counters.get(purpose);
    return (
      counter?.admit(
        Buffer.from(key).toString('base64url'),
        account,
        clock.now() + linkLifeMs[purpose],
      ) ?? true
    );
  }

  function rowOf(purpose: LinkPurpose, key: Key, link: Link): SetRow {
    return {
      key,
      value: rows.encode({ purpose, ...link }),
      expiresAt: clock.now() + linkLifeMs[purpose],
    };
  }

  return {
    /**
     * Returns the token for the link, and the row to set.
     * `isFull`: the limit is reached, so the token opens nothing: send no mail.
     */
    make(purpose: LinkPurpose, link: Link): { token: string; row: SetRow; isFull: boolean } {
      const { text: token, hash } = newToken(random);
      const key = signonLinkKey(hash);
      if (countAgainstBound(purpose, key, link.account)) {
        return { token, row: rowOf(purpose, key, link), isFull: false };
      }
      const decoy = signonLinkKey(sha256(`decoy ${purpose} ${hash[0]! % decoyRows}`));
      const row = rowOf(purpose, decoy, { ...link, account: '' });
      return { token, row, isFull: link.account !== '' };
    },
    /**
     * Returns the row with other data, for a commit with `unused`. It ends as late as a new one would, so the caller
     * bounds how often.
     */
    changed: (purpose: LinkPurpose, link: FoundLink, data: string): SetRow =>
      rowOf(purpose, link.key, { ...link, data }),
    /** Finds the link without using it up. */
    async find(purpose: LinkPurpose, token: string): Promise<FoundLink | undefined> {
      const hash = hashOfToken(token);
      const key = hash && signonLinkKey(hash);
      const row = key && (await store.get(key));
      const found = row && rows.decode(row.value);
      if (!key || !row || found?.purpose !== purpose || found.account === '') return undefined;
      const { account, data, epoch } = found;
      return { account, data, epoch, key, version: row.version };
    },
    stats: (): readonly RowCounterStats[] =>
      [...counters.values()].map((counter) => counter.stats()),
    /** Counts the rows that are there when the process starts. */
    async restore(): Promise<void> {
      for await (const page of pagesUnder(store, signonLinkPrefix())) {
        for (const { key, value } of page) {
          const input = createReader(value);
          const purpose = purposes[value[1] ?? 0];
          // An older server stored rows of a purpose that no longer exists; they expire by themselves.
          if (purpose !== undefined) countAgainstBound(purpose, key, linkAccountOf(input) ?? '');
        }
      }
    },
  };
}

export type Links = ReturnType<typeof createLinks>;

/** Returns the accounts that open links of invitations lead to, with the end of each link, ms since 1970. */
export async function invitedAccounts(store: Store): Promise<Map<string, number[]>> {
  const ends = new Map<string, number[]>();
  for await (const page of pagesUnder(store, signonLinkPrefix())) {
    for (const { value } of page) {
      const link = purposes[value[1] ?? 0] === 'invite' ? rows.decode(value) : undefined;
      if (link === undefined || link.account === '') continue;
      const found = ends.get(link.account) ?? [];
      found.push(readLinkData(link).endsAt);
      ends.set(link.account, found);
    }
  }
  return ends;
}

/** Returns the account of a link's row, whatever its purpose. */
export function linkAccountOf(input: Reader): string | undefined {
  const known = input.u8() === layout;
  input.u8();
  const account = input.text();
  return known && !input.failed() ? account : undefined;
}

/** Returns the check for the commit that uses the link up; the commit also deletes `link.key`. */
export function unused(link: FoundLink): RowCheck {
  return { key: link.key, version: link.version };
}

// Addresses of the pages that mails link to. They begin with BASE_URL and never with what a
// request's Host header said.

/** @param baseUrl scheme, host and port alone, from the configuration */
export function pageLinks(baseUrl: string) {
  const { host, hostname } = new URL(baseUrl);
  const to = (path: string) => (token: string) =>
    `${baseUrl}${path}?token=${encodeURIComponent(token)}`;
  return {
    // A name that every machine has says nothing of the service.
    host: isLoopback(hostname) ? 'Portcullis' : host,
    verify: to('/verify'),
    reset: to('/reset'),
    confirmEmail: to('/account/email/confirm'),
    signIn: to('/signin/link'),
    /** The page on which a person asks for recovery. */
    recover: `${baseUrl}/recover`,
    /** The page with the sessions and the password of the account. */
    security: `${baseUrl}/account/security`,
  };
}

export type PageLinks = ReturnType<typeof pageLinks>;

// The data of a link of registration or recovery, besides its account: the browser that asked, the page that the
// person was going to, and for a registration the chosen password or the new passkey, and how often somebody tried
// the link elsewhere. The link's address reveals nothing of it, and only that browser learns the page.

interface LinkData {
  readonly chosen: SignInChoice;
  /** The browser that asked for it, `browserHash` in base64url; empty: none. */
  readonly browser: string;
  readonly tries: number;
  /** The time from which a link of registration works, ms since 1970; 0: at once. */
  readonly worksFrom: number;
  /** The end of an invitation, ms since 1970; 0 for other links. */
  readonly endsAt: number;
}

export type AskedLink = Pick<LinkData, 'chosen' | 'worksFrom'>;

/** The credential that a link gives the account when it is used: a password, a passkey, or (reset) neither. */
export interface SignInChoice {
  /** A PHC string; empty with a passkey, and when the password is chosen with the link. */
  readonly passwordHash: string;
  readonly passkey: PendingPasskey | undefined;
  /** The time at which it was chosen in the browser that asked, ms since 1970; undefined: unknown. */
  readonly chosenAt?: number | undefined;
  /** The query of a page of ours, without `?`; empty: nowhere in particular. */
  readonly onward: string;
}

/** Spaces separate the fields of a link, so none may hold one. */
const onwardShape = /^[\x21-\x7e]{0,4096}$/;

export function newLinkData(accountId: string, visitor: Visitor, asked: AskedLink): string {
  const { chosen, worksFrom } = asked;
  if (!onwardShape.test(chosen.onward)) throw new TypeError('not a query');
  return linkText({
    chosen,
    browser: browserTagOf(accountId, visitor),
    tries: 0,
    worksFrom,
    endsAt: 0,
  });
}

/** Returns the data of a link for a new password, which is chosen when the link is opened. */
export function newResetData(accountId: string, visitor: Visitor, onward: string): string {
  const chosen = { passwordHash: '', passkey: undefined, onward };
  return newLinkData(accountId, visitor, { chosen, worksFrom: 0 });
}

/** Returns the data of an invitation: it works in any browser, and whoever opens it chooses. */
export function newInvitationData(endsAt: number): string {
  const chosen = { passwordHash: '', passkey: undefined, onward: '' };
  return linkText({ chosen, browser: '', tries: 0, worksFrom: 0, endsAt });
}

export function linkText({ chosen, browser, tries, worksFrom, endsAt }: LinkData): string {
  const passkey = chosen.passkey === undefined ? '' : pendingPasskeyText(chosen.passkey);
  const data = `${chosen.passwordHash} ${browser} ${tries} ${chosen.onward} ${passkey} ${worksFrom}`;
  const { chosenAt = 0 } = chosen;
  if (chosenAt !== 0) return `${data} ${endsAt} ${chosenAt}`;
  return endsAt === 0 ? data : `${data} ${endsAt}`;
}

export function readLinkData(link: Pick<FoundLink, 'data'>): LinkData {
  const [passwordHash = '', browser = '', tries, onward = '', passkey = '', ...times] =
    link.data.split(' ');
  const [worksFrom, endsAt, chosenAt] = times;
  const chosen = {
    passwordHash,
    passkey: readPendingPasskey(passkey),
    onward,
    chosenAt: Number(chosenAt ?? 0) || undefined,
  };
  const numbers = { tries: Number(tries ?? 0), worksFrom: Number(worksFrom ?? 0) };
  // Older links have no times.
  return { chosen, browser, ...numbers, endsAt: Number(endsAt ?? 0) };
}

/** Returns whether the link of a registration carries nothing: whoever opens it chooses the password. */
export function isChosenByLink({ passwordHash, passkey }: SignInChoice): boolean {
  return passwordHash === '' && passkey === undefined;
}

export function isOwnBrowser(link: FoundLink, visitor: Visitor): boolean {
  const { browser } = readLinkData(link);
  const given = browserTagOf(link.account, visitor);
  return browser !== '' && equalBytes(Buffer.from(browser), Buffer.from(given));
}

/** Returns where the person was going; empty in another browser, as what waits for them waits in the first. */
export function onwardFor(link: FoundLink, visitor: Visitor): string {
  return isOwnBrowser(link, visitor) ? readLinkData(link).chosen.onward : '';
}

function browserTagOf(accountId: string, { browserId }: Visitor): string {
  if (browserId === undefined) return '';
  return Buffer.from(browserHash(accountId, browserId)).toString('base64url');
}
