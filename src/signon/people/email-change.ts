/**
 * Changes a mail address: requested in a fresh session, done when the link sent to the new address is opened. That
 * commit takes the new address and frees the old one. An unverified registration of the new address is removed in the
 * same commit, since it only claimed the mailbox. If the new address has an account, it gets a mail about the
 * request; the answer to the requester is the same.
 *
 * A link works only in a session of the account that asked, so nobody can be tricked into moving an account to
 * another mailbox. The change increases the epoch: it ends all other sessions, and links sent to the old mailbox to
 * reset the password or to change the address again.
 *
 * Both addresses get a mail, and the old one gets those of later changes for a while (notices.ts).
 */

import { accountRow } from '../../access/accounts/accounts.ts';
import type { ClientLimits } from '../../access/quota/client-limits.ts';
import type { Visitor } from '../../contracts/visitor.ts';
import type { Clock } from '../../core/clock.ts';
import { readMailAddress } from '../../core/mail-address.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import { hourMs } from '../../core/time.ts';
import { commitOnce } from '../../storage/change.ts';
import { accountByEmailKey } from '../../storage/keys.ts';
import type { Store } from '../../storage/store.ts';
import type { Mailer } from '../mail/mailer.ts';
import { formerEmailsAfter } from '../mail/notices.ts';
import { isActive, type People } from '../people.ts';
import type { SecurityLog } from '../sessions/security-log.ts';
import type { Renewal, Session } from '../sessions/sessions.ts';
import type { AccountChanges } from './account-changes.ts';
import { type Links, type PageLinks, unused } from './links.ts';
import { claimEmail, isEvictable } from './pending.ts';
import type { Profiles } from './profile/profile-store.ts';

/** The limit of requests of one account: each sends a mail to an address that need not be the asker's. */
export const emailChangeLimit = { max: 5, windowMs: hourMs } as const;

export function createEmailChange(options: {
  store: Store;
  people: People;
  links: Links;
  mailer: Pick<Mailer, 'post'>;
  pages: PageLinks;
  securityLog: SecurityLog;
  profiles: Pick<Profiles, 'emailChanged'>;
  changes: Pick<AccountChanges, 'allows' | 'make'>;
  clock: Clock;
  limits: Pick<ClientLimits<'emailChange'>, 'take'>;
}) {
  const { clock, limits, changes, store, people, links, mailer, pages, securityLog, profiles } =
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
    if (email === undefined || email === session.email) {
      return fail('invalid_parameter', 'This is not a new mail address.', 'email');
    }
    const { id, credentials } = session.person;
    const waitSeconds = limits.take('emailChange', id, clock.monotonicMs());
    if (waitSeconds > 0) {
      return { ...fail('client_limit_exceeded'), retryAfterSeconds: waitSeconds };
    }
    const { epoch, factors } = credentials;
    const link = links.make('email', { account: id, data: `${email} ${factors}`, epoch });
    const logged = await securityLog.entry(id, 'email_change_requested', visitor);
    const owner = await people.byEmail(email);
    const taken = owner !== undefined && !isEvictable(owner);
    const set = [link.row, ...logged.set];
    const done = await commitOnce(store, { check: logged.check, set, del: logged.del });
    if (done === 'conflict') return fail('forbidden');
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
    const [address = '', factorsThen = '0'] = link.data.split(' ');
    if (link.epoch !== epoch || factorsThen !== String(factors)) return undefined;
    const email = readMailAddress(address);
    return email === undefined ? undefined : { link, email };
  }

  /** Returns the new address of a link of this session's account; the link stays unused. `invalid_link`. */
  async function offered(session: Session, token: string): Promise<Result<{ email: string }>> {
    const found = await open(session, token);
    return found === undefined ? fail('invalid_link') : ok({ email: found.email });
  }

  /**
   * Changes the address. The session stays under a new cookie, all others of the account end. `invalid_link`
   * also when the link is another account's, or when somebody took the address meanwhile; `too_many_attempts`:
   * the address was changed too often lately; and the errors of `AccountChanges.make`.
   */
  async function confirm(
    session: Session,
    token: string,
    visitor: Visitor,
  ): Promise<Result<{ email: string } & Renewal>> {
    const to = await open(session, token);
    if (to === undefined) return fail('invalid_link');
    const { email } = to;
    const event = 'email_changed' as const;
    // The proof was asked for with the link.
    const asked = { session, visitor, event, wasProven: true, endsOthers: true, alsoTo: [email] };
    const done = await changes.make<void>(asked, async (person) => {
      const found = await open(session, token);
      if (found === undefined) return fail('invalid_link');
      const claim = await claimEmail(store, people, email, person.id);
      if (claim === undefined) return fail('invalid_link');
      const formerEmails = formerEmailsAfter(person, email, clock.now());
      if (!formerEmails.ok) return formerEmails;
      const { id, account } = person;
      const extra = await profiles.emailChanged(id, email);
      return ok({
        value: undefined,
        check: [unused(found.link), ...claim.check, ...extra.check],
        set: [
          { key: accountByEmailKey(email), value: Buffer.from(id) },
          accountRow(id, { ...account, email }),
          ...extra.set,
        ],
        del: [accountByEmailKey(account.email), found.link.key, ...claim.del],
        credentials: { formerEmails: formerEmails.value },
      });
    });
    return done.ok ? ok({ ...done.value, email }) : done;
  }

  return { request, offered, confirm };
}
