/**
 * The way in for an owner whose sign-in is limited: a link by mail, once a challenge was answered.
 *
 *  - It stands in for the password alone: the second factor is asked for as ever, and the session
 *    is not fresh, so what asks for a proof of identity asks for one.
 *  - It works in a browser that asked for it, told by its cookie (ask-seals.ts), and nowhere else.
 *    One mail serves every browser that asked, and asks are not stored. So the link that a stranger
 *    had sent is of no use to the stranger, and of full use to the owner.
 *  - An address gets three an hour, and a link lives longer than that: who finds the share used up
 *    by a stranger has a link that works in the mailbox.
 *
 * Asking takes the same work and gives the same answer whether the address has an account or not.
 */

import type { MasterKey } from '../../../access/keys/master-key.ts';
import { createClientLimits } from '../../../access/quota/client-limits.ts';
import { ownShares, type Shares } from '../../../access/shares/shares.ts';
import type { BoundedTable } from '../../../core/bounded-tables.ts';
import type { Clock } from '../../../core/clock.ts';
import type { Random } from '../../../core/random.ts';
import { fail, ok, type Result } from '../../../core/result.ts';
import { commitOnce } from '../../../store/change.ts';
import type { Key } from '../../../store/keys.ts';
import type { RowCheck, Store } from '../../../store/store.ts';
import type { Mailer } from '../../mail/mailer.ts';
import { notErased } from '../../people/deletion/erasure-mark.ts';
import { type Links, unused } from '../../people/links/links.ts';
import type { PageLinks } from '../../people/links/links-to-pages.ts';
import { isActive, isReachable, nameOf, type People, type Person } from '../../people.ts';
import { tooMany } from '../../proofs/proof.ts';
import type { Visitor } from '../../visitor.ts';
import type { SecurityLog } from '../security-log.ts';
import { createAskSeals } from './ask-seals.ts';

const hourMs = 3_600_000;
/** Mails to an address; as many as the mailer's share for them (mail/shares.ts). */
export const signInLinksMax = 3;
const askLimits = {
  address: { max: signInLinksMax, windowMs: hourMs },
  network: { max: 10, windowMs: hourMs },
  neighbourhood: { max: 30, windowMs: hourMs },
} as const;
const subjectsMax = 50_000;

export interface AskRequest {
  /** Whom it is counted for: as attempts are. */
  readonly name: string;
  readonly person: Person | undefined;
  readonly visitor: Visitor;
  /** Called once, unless this is refused: comes back when the link is used. */
  readonly onward: (() => Promise<string>) | undefined;
}

export interface OpenedLink {
  readonly person: Person;
  readonly onward: string;
  /** For the commit that uses the row up. */
  readonly also: { readonly check: readonly RowCheck[]; readonly del: readonly Key[] };
}

/** `other_browser`: the link is good, and this browser did not ask for it. */
export type LinkState = 'ready' | 'other_browser' | 'over';

export interface SignInLinks {
  /**
   * What the browser keeps in its cookie `asked`. `too_many_attempts` (with `retryAfterSeconds`):
   * this network asked too often.
   */
  ask(request: AskRequest): Promise<Result<string>>;
  /** Looks without using it up. */
  state(token: string, visitor: Visitor): Promise<LinkState>;
  /** `invalid_link` when it is over, `forbidden` in another browser. */
  open(token: string, visitor: Visitor): Promise<Result<OpenedLink>>;
  /** Addresses and networks that are counted. */
  readonly table: BoundedTable;
}

export function createSignInLinks(options: {
  store: Store;
  clock: Clock;
  random: Random;
  masterKey: MasterKey;
  people: People;
  links: Links;
  mailer: Pick<Mailer, 'post'>;
  pages: PageLinks;
  securityLog: SecurityLog;
  shares?: Pick<Shares, 'room'>;
}): SignInLinks {
  const { shares = ownShares, store, clock, people, links, mailer, pages, securityLog } = options;
  const limits = createClientLimits(askLimits, shares.room('sign-in links', subjectsMax));
  const seals = createAskSeals(options);

  function askedTooOften({ network, neighbourhood = network }: Visitor): number {
    const nowMs = clock.monotonicMs();
    return (
      limits.take('network', network, nowMs) || limits.take('neighbourhood', neighbourhood, nowMs)
    );
  }

  async function ask({ name, person, visitor, onward }: AskRequest): Promise<Result<string>> {
    const waitSeconds = askedTooOften(visitor);
    if (waitSeconds > 0) return tooMany(waitSeconds);
    const asked = seals.seal(name, visitor, (await onward?.()) ?? '');
    // Of the name, so that it is used up alike with and without an account.
    if (limits.take('address', name, clock.monotonicMs()) > 0) return ok(asked);
    const owner = person && isActive(person) && isReachable(person) ? person : undefined;
    const account = owner?.id ?? '';
    const epoch = owner?.credentials.epoch ?? 0;
    const link = links.make('signIn', { account, data: '', epoch });
    const logged = owner ? await securityLog.entry(account, 'sign_in_link_sent', visitor) : nothing;
    const check = owner === undefined ? [] : [notErased(account), ...logged.check];
    const set = [link.row, ...logged.set];
    const done = await commitOnce(store, { check, set, del: logged.del });
    // Deleted at this very moment: it is answered like any that never was.
    if (done === 'lost') return ok(asked);
    if (!done.ok) return done;
    if (owner && !link.isFull) {
      const { email } = owner.account;
      const { language } = owner.credentials;
      mailer.post(email, language, 'signInLink', { link: pages.signIn(link.token) }, owner.id);
    }
    return ok(asked);
  }

  async function find(token: string, visitor: Visitor) {
    const link = await links.find('signIn', token);
    const person = link && (await people.byId(link.account));
    if (!link || !person || !isActive(person) || !isReachable(person)) return undefined;
    if (link.epoch !== person.credentials.epoch) return undefined;
    return { link, person, onward: seals.open(nameOf(person), visitor) };
  }

  return {
    ask,
    table: limits.table('sign_in_link_limits'),
    async state(token, visitor) {
      const found = await find(token, visitor);
      if (found === undefined) return 'over';
      return found.onward === undefined ? 'other_browser' : 'ready';
    },
    async open(token, visitor) {
      const found = await find(token, visitor);
      if (found === undefined) return fail('invalid_link');
      const { link, person, onward } = found;
      if (onward === undefined) return fail('forbidden');
      return ok({ person, onward, also: { check: [unused(link)], del: [link.key] } });
    },
  };
}

const nothing = { check: [], set: [], del: [] };
