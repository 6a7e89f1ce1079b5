/**
 * A new mail address: asked for in a fresh session, in force when the link sent to it is opened.
 * The new address is taken in that commit, the old one is free from then on. A registration of it
 * that nobody verified gives way in the same commit: the mailbox is proved here, there it was only
 * claimed. An address that has an account gets a mail about it; the one who asks gets the same
 * answer.
 *
 * A link counts in a session of the account that asked, so nobody is led to move an account to a
 * mailbox of somebody else. The change grows the epoch: links that were sent to the old mailbox,
 * to reset the password or to change the address again, end with it, and all other sessions.
 */

import { accountRow, normaliseEmail } from '../access/accounts.ts';
import type { ClientLimits } from '../access/client-limits.ts';
import type { Clock } from '../core/clock.ts';
import { fail, ok, type Result } from '../core/result.ts';
import { accountByEmailKey } from '../store/keys.ts';
import type { Store } from '../store/store.ts';
import { commitOnce, untilUndisturbed } from './change.ts';
import type { AccountCompanion } from './companion.ts';
import { type Links, unused } from './links.ts';
import type { PageLinks } from './links-to-pages.ts';
import type { Mailer } from './mail/mailer.ts';
import { givesWay, givingWay } from './pending.ts';
import { credentialsRow, isActive, type People, unchanged } from './people.ts';
import type { SecurityLog } from './security-log.ts';
import type { Session, Sessions } from './sessions.ts';
import type { Visitor } from './visitor.ts';

export interface EmailChange {
  /**
   * `reauthentication_required`, `invalid_parameter` (parameter `email`), `client_limit_exceeded`,
   * `store_unavailable`.
   */
  request(session: Session, email: string, visitor: Visitor): Promise<Result<void>>;
  /** The new address of a link of this session's account. `invalid_link`. It stays unused. */
  offered(session: Session, token: string): Promise<Result<{ email: string }>>;
  /**
   * The session stays, all others of the account end. `invalid_link` also when the link is another
   * account's, or when somebody took the address meanwhile.
   */
  confirm(session: Session, token: string, visitor: Visitor): Promise<Result<{ email: string }>>;
}

/** Requests of one account: each sends a mail to an address that need not be the asker's. */
export const emailChangeLimit = { max: 5, windowMs: 3_600_000 } as const;

export function createEmailChange(options: {
  store: Store;
  people: People;
  links: Links;
  mailer: Pick<Mailer, 'post'>;
  pages: PageLinks;
  securityLog: SecurityLog;
  companion: AccountCompanion;
  sessions: Pick<Sessions, 'carryOver'>;
  clock: Clock;
  limits: Pick<ClientLimits<'emailChange'>, 'take'>;
}): EmailChange {
  const { clock, limits, sessions, store, people, links, mailer, pages, securityLog, companion } =
    options;

  async function request(session: Session, address: string, visitor: Visitor) {
    if (!session.fresh || !session.verified) return fail('reauthentication_required');
    const email = normaliseEmail(address);
    if (email === undefined || email === session.email) {
      return fail('invalid_parameter', 'This is not a new mail address.', 'email');
    }
    const { id, credentials } = session.person;
    const waitSeconds = limits.take('emailChange', id, clock.monotonicMs());
    if (waitSeconds > 0) {
      return { ...fail('client_limit_exceeded'), retryAfterSeconds: waitSeconds };
    }
    const link = links.make('email', { account: id, data: email, epoch: credentials.epoch });
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
    return link.epoch === person.credentials.epoch ? { link, person } : undefined;
  }

  async function offered(session: Session, token: string): Promise<Result<{ email: string }>> {
    const found = await open(session, token);
    return found === undefined ? fail('invalid_link') : ok({ email: found.link.data });
  }

  /** What frees the address in the commit that takes it. Undefined: it is an account's already. */
  async function placeAt(email: string) {
    const key = accountByEmailKey(email);
    const row = await store.get(key);
    const check = { key, version: row?.version ?? null };
    const owner = row && (await people.byId(Buffer.from(row.value).toString('utf8')));
    if (row === undefined) return { check: [check], del: [] };
    // A row without an account is one that is just expiring.
    if (owner === undefined || !givesWay(owner)) return undefined;
    const way = await givingWay(store, owner);
    return { check: [check, ...way.check], del: way.del };
  }

  function confirm(session: Session, token: string, visitor: Visitor) {
    return untilUndisturbed<{ email: string }>(async () => {
      const found = await open(session, token);
      if (found === undefined) return fail('invalid_link');
      const { link, person } = found;
      const email = link.data;
      const place = await placeAt(email);
      if (place === undefined) return fail('invalid_link');
      const { id, account, credentials } = person;
      const logged = await securityLog.entry(id, 'email_changed', visitor);
      const beside = await companion.emailChanged(id, email);
      const epoch = credentials.epoch + 1;
      const kept = await sessions.carryOver(id, session.id, epoch);
      const done = await commitOnce(store, {
        check: [unused(link), ...unchanged(person), ...place.check, ...beside.check, ...kept.check],
        set: [
          { key: accountByEmailKey(email), value: Buffer.from(id) },
          accountRow(id, { ...account, email }),
          credentialsRow(person, { ...credentials, epoch }),
          ...kept.set,
          ...logged.set,
          ...beside.set,
        ],
        del: [accountByEmailKey(account.email), link.key, ...place.del, ...logged.del],
      });
      if (done === 'lost' || !done.ok) return done;
      mailer.post(account.email, credentials.language, 'emailChanged', {}, id);
      return ok({ email });
    });
  }

  return { request, offered, confirm };
}
