/**
 * A new mail address: asked for in a fresh session, in force when the link sent to it is opened.
 * The new address is taken in that commit, the old one is free from then on. A registration of it
 * that nobody verified is removed in the same commit: the mailbox is proved here, there it was only
 * claimed. An address that has an account gets a mail about it; the one who asks gets the same
 * answer.
 *
 * A link counts in a session of the account that asked, so nobody is led to move an account to a
 * mailbox of somebody else. The change grows the epoch: links that were sent to the old mailbox,
 * to reset the password or to change the address again, end with it, and all other sessions.
 *
 * Both addresses get a mail, and the old one gets those of later changes too, for a while
 * (notices.ts).
 */

import { accountRow } from '../../access/accounts/accounts.ts';
import type { AccountRecord } from '../../access/accounts/records.ts';
import type { ClientLimits } from '../../access/quota/client-limits.ts';
import type { Clock } from '../../core/clock.ts';
import { readKnownAddress, readMailAddress } from '../../core/mail-address.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import { hourMs } from '../../core/time.ts';
import { commitOnce } from '../../storage/change.ts';
import { accountByEmailKey, type Key } from '../../storage/keys.ts';
import type { Store } from '../../storage/store.ts';
import type { Mailer } from '../mail/mailer.ts';
import { formerAfter, formerNow } from '../mail/notices.ts';
import { isActive, isReachable, type People } from '../people.ts';
import type { SecurityLog } from '../sessions/security-log.ts';
import type { Renewed, Session } from '../sessions/sessions.ts';
import type { Visitor } from '../visitor.ts';
import type { AccountChanges } from './account-changes.ts';
import type { AccountExtraRows } from './extra-rows.ts';
import { type Links, type PageLinks, unused } from './links.ts';
import { formerRows, givesWay, placeAt } from './pending.ts';

/** The limit of requests of one account: each sends a mail to an address that need not be the asker's. */
export const emailChangeLimit = { max: 5, windowMs: hourMs } as const;

export function createEmailChange(options: {
  store: Store;
  people: People;
  links: Links;
  mailer: Pick<Mailer, 'post'>;
  pages: PageLinks;
  securityLog: SecurityLog;
  extraRows: AccountExtraRows;
  changes: Pick<AccountChanges, 'allows' | 'make'>;
  clock: Clock;
  limits: Pick<ClientLimits<'emailChange'>, 'take'>;
}) {
  const { clock, limits, changes, store, people, links, mailer, pages, securityLog, extraRows } =
    options;

  /**
   * `reauthentication_required`, `invalid_parameter` (parameter `email`), `client_limit_exceeded`,
   * `store_unavailable`.
   */
  async function request(
    session: Session,
    address: string,
    visitor: Visitor,
  ): Promise<Result<void>> {
    if (!(await changes.allows(session))) return fail('reauthentication_required');
    const email = readMailAddress(address);
    if (email === undefined || (session.confirmed && email === session.email)) {
      return fail('invalid_parameter', 'This is not a new mail address.', 'email');
    }
    return send(session, email, visitor);
  }

  /**
   * Sends a link to the present address of an account that must confirm it anew; it is opened like that of a new
   * address. `conflict`: nothing to confirm; `invalid_parameter`: no mail can go there.
   */
  async function confirmAnew(session: Session, visitor: Visitor): Promise<Result<void>> {
    if (session.confirmed || !session.verified) return fail('conflict', 'It is confirmed.');
    // An account made under earlier rules may have an address to which no mail can go.
    const email = readKnownAddress(session.email);
    if (email === undefined)
      return fail('invalid_parameter', 'This is not a mail address.', 'email');
    return send(session, email, visitor);
  }

  async function send(session: Session, email: string, visitor: Visitor): Promise<Result<void>> {
    const { id, credentials } = session.person;
    const waitSeconds = limits.take('emailChange', id, clock.monotonicMs());
    if (waitSeconds > 0) {
      return { ...fail('client_limit_exceeded'), retryAfterSeconds: waitSeconds };
    }
    const { epoch, factors } = credentials;
    const link = links.make('email', { account: id, data: `${email} ${factors}`, epoch });
    const logged = await securityLog.entry(id, 'email_change_requested', visitor);
    const owner = await people.byEmail(email);
    const taken = owner !== undefined && !givesWay(owner);
    const set = [link.row, ...logged.set];
    const done = await commitOnce(store, { check: logged.check, set, del: logged.del });
    if (done === 'lost') return fail('forbidden');
    if (!done.ok) return done;
    const { language } = credentials;
    if (taken) mailer.post(email, language, 'alreadyRegistered', { link: pages.recover }, id);
    else mailer.post(email, language, 'confirmEmail', { link: pages.confirmEmail(link.token) }, id);
    return ok(undefined);
  }

  async function open(session: Session, token: string) {
    const link = await links.find('email', token);
    if (link?.account !== session.accountId) return undefined;
    const person = await people.byId(link.account);
    if (!person || !isActive(person)) return undefined;
    const { epoch, factors } = person.credentials;
    // The proof was asked for with the link: it is as stale as one of a session.
    const [email = '', factorsThen = '0'] = link.data.split(' ');
    const isStale = link.epoch !== epoch || factorsThen !== String(factors);
    return isStale ? undefined : { link, person, email };
  }

  /** Returns the new address of a link of this session's account; the link stays unused. `invalid_link`. */
  async function offered(session: Session, token: string): Promise<Result<{ email: string }>> {
    const found = await open(session, token);
    const email = found && offer(found.email, found.person.account);
    return email === undefined ? fail('invalid_link') : ok({ email });
  }

  /**
   * Changes the address. The session stays under a new cookie, all others of the account end. `invalid_link` also when
   * the link is another account's, or when somebody took the address meanwhile;
   * `too_many_attempts`: the address was changed too often lately; and the errors of
   * `AccountChanges.make`.
   */
  async function confirm(
    session: Session,
    token: string,
    visitor: Visitor,
  ): Promise<Result<{ email: string } & Renewed>> {
    const to = await open(session, token);
    const email = to && offer(to.email, to.person.account);
    if (email === undefined) return fail('invalid_link');
    const event = 'email_changed' as const;
    // The proof was asked for with the link.
    const asked = { session, visitor, event, wasProven: true, endsOthers: true, alsoTo: [email] };
    const done = await changes.make<void>(asked, async (person) => {
      const found = await open(session, token);
      if (found === undefined) return fail('invalid_link');
      const place = await placeAt(store, people, email, person.id);
      if (place === undefined) return fail('invalid_link');
      // A former address that was never proven to reach the owner gets no mails about later changes.
      const formerEmails =
        email === person.account.email || !isReachable(person)
          ? ok(formerNow(person.credentials, clock.now()))
          : formerAfter(person, email, clock.now());
      if (!formerEmails.ok) return formerEmails;
      const { id, account } = person;
      const extra = await extraRows.emailChanged(id, email);
      return ok({
        value: undefined,
        check: [unused(found.link), ...place.check, ...extra.check],
        set: [
          { key: accountByEmailKey(email), value: Buffer.from(id) },
          accountRow(id, { ...account, email, formerEmail: '' }),
          ...extra.set,
        ],
        del: [...freed(account, email), found.link.key, ...place.del],
        credentials: { formerEmails: formerEmails.value },
      });
    });
    return done.ok ? ok({ ...done.value, email }) : done;
  }

  return { request, confirmAnew, offered, confirm };
}

export type EmailChange = ReturnType<typeof createEmailChange>;

/** Returns the address of a link; an older link may spell its domain in another way. */
function offer(address: string, { email }: AccountRecord): string | undefined {
  return address === email ? readKnownAddress(address) : readMailAddress(address);
}

/** Returns the rows by which the account was found until now. If it is to be confirmed, the address may be another's. */
function freed(account: AccountRecord, email: string): Key[] {
  if (account.formerEmail !== '') return formerRows(account);
  return account.email === email ? [] : [accountByEmailKey(account.email)];
}
