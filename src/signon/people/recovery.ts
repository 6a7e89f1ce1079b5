/**
 * A forgotten password, and a changed one. A reset link works once, for an hour, and only while
 * the password is the one that was there when it was asked for. Setting a password ends all
 * sessions in the same commit (but the one in which it was changed) and forgets the browsers that
 * were known. Passkeys and the second factor stay: a mailbox alone must not undo them. But a reset
 * of an account with passkeys, API keys or sites makes their review due: who took the account over
 * may have left some (review.ts).
 *
 * Asking takes the same work and gives the same answer whether the address has an account or not.
 */

import { isAccountId } from '../../access/accounts/records.ts';
import { operatorsClient, type Visitor } from '../../contracts/visitor.ts';
import type { Clock } from '../../core/clock.ts';
import { readKnownAddress } from '../../core/mail-address.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import { type Change, commitOnce, retryOnConflict } from '../../storage/change.ts';
import type { Store } from '../../storage/store.ts';
import type { Mailer } from '../mail/mailer.ts';
import type { Notices } from '../mail/notices.ts';
import { credentialsRow, isActive, type People, type Person, versionChecks } from '../people.ts';
import type { Attempts } from '../proofs/attempts.ts';
import type { NewPasswords } from '../proofs/new-password.ts';
import { requesterOf } from '../proofs/passwords.ts';
import type { SecurityLog } from '../sessions/security-log.ts';
import type { Renewal, Session } from '../sessions/sessions.ts';
import { signedOutNews } from '../sites/site-news.ts';
import type { AccountChanges } from './account-changes.ts';
import {
  type FoundLink,
  type Links,
  newResetData,
  onwardFor,
  type PageLinks,
  unused,
} from './links.ts';

interface RecoveryRequest {
  /** The account's mail address or its id. */
  readonly email: string;
  readonly visitor: Visitor;
  /** Comes back when the link is used in this browser: a query without `?`, checked by its reader. */
  readonly onward?: string;
}

export interface Reset {
  /** The value from the request for the link; empty in another browser. */
  readonly onward: string;
}

export function createRecovery(options: {
  store: Store;
  clock: Clock;
  people: People;
  links: Links;
  mailer: Pick<Mailer, 'post'>;
  pages: PageLinks;
  newPasswords: NewPasswords;
  attempts: Pick<Attempts, 'forgive' | 'vouch'>;
  securityLog: SecurityLog;
  changes: Pick<AccountChanges, 'allows' | 'make' | 'forgive'>;
  notices: Pick<Notices, 'about'>;
  hasReviewable: (person: Person) => Promise<boolean>;
}) {
  const { store, clock, people, links, newPasswords } = options;
  const resetLinks = createResetLinks(options);
  const { attempts, securityLog, changes } = options;

  /** `invalid_parameter` for what is no address at all; else always the same answer. */
  async function request({ email, visitor, onward = '' }: RecoveryRequest): Promise<Result<void>> {
    const found = await people.byName(email);
    const isName = readKnownAddress(email) !== undefined || isAccountId(email.trim());
    if (found === undefined && !isName) {
      return fail('invalid_parameter', 'This is not a mail address.', 'email');
    }
    const person = found && isActive(found) ? found : undefined;
    const sent = await resetLinks.send(person, visitor, onward);
    // The answer does not depend on whether there is such an account.
    return sent.ok ? ok(undefined) : sent;
  }

  async function open(token: string) {
    const link = await links.find('reset', token);
    const person = link && (await people.byId(link.account));
    if (!link || !person || !isActive(person)) return undefined;
    return link.epoch === person.credentials.epoch ? { link, person } : undefined;
  }

  /** `invalid_link`, `invalid_parameter`, `weak_password`, `overloaded`, `store_unavailable`. */
  async function reset(given: {
    token: string;
    password: string;
    visitor: Visitor;
  }): Promise<Result<Reset>> {
    const before = await open(given.token);
    if (before === undefined) return fail('invalid_link');
    const { email } = before.person.account;
    const requester = requesterOf('known', email, given.visitor);
    const phc = await newPasswords.accept(given.password, email, requester);
    if (!phc.ok) return phc;
    return retryOnConflict<Reset>(async () => {
      const found = await open(given.token);
      if (found === undefined) return fail('invalid_link');
      const done = await setPassword(found, phc.value, given.visitor);
      if (done === 'conflict' || !done.ok) return done;
      trust(found.person, given.visitor);
      return ok({ onward: onwardFor(found.link, given.visitor) });
    });
  }

  /** Forgives other people's guesses at the old password: they must not hinder the owner with the new. */
  function trust(person: Person, { browserId }: Visitor): void {
    attempts.forgive(person.account.email);
    if (browserId !== undefined) attempts.vouch(person.account.email, browserId);
  }

  /** Ends all other sessions; the token is for this one's new cookie. Errors of `AccountChanges.make`. */
  async function changePassword(
    session: Session,
    password: string,
    visitor: Visitor,
  ): Promise<Result<Renewal>> {
    if (!(await changes.allows(session))) return fail('reauthentication_required');
    const requester = requesterOf('known', session.email, visitor);
    const phc = await newPasswords.accept(password, session.email, requester);
    if (!phc.ok) return phc;
    const request = { session, visitor, event: 'password_changed', endsOthers: true } as const;
    const done = await changes.make<void>(request, async () => {
      const credentials = { passwordHash: phc.value, passwordChangedAt: clock.now() };
      return ok({ value: undefined, credentials });
    });
    return done.ok ? ok({ token: done.value.token, browser: done.value.browser }) : done;
  }

  /** Sets the password by a link, in no session, so all of them end. */
  async function setPassword(
    { link, person }: { link: FoundLink; person: Person },
    passwordHash: string,
    visitor: Visitor,
  ): Promise<Change<void>> {
    const { id, credentials } = person;
    const logged = await securityLog.entry(id, 'password_changed', visitor);
    const isDue = credentials.reviewSince !== 0 || (await options.hasReviewable(person));
    const changed = {
      ...credentials,
      passwordHash,
      passwordChangedAt: clock.now(),
      epoch: credentials.epoch + 1,
      browsers: [],
      reviewSince: isDue ? clock.now() : 0,
    };
    const notice = options.notices.about(person, 'password_changed', visitor);
    const done = await commitOnce(store, {
      check: [...versionChecks(person), ...logged.check, unused(link)],
      set: [
        credentialsRow(person, changed),
        signedOutNews(id, clock.now()),
        ...notice.set,
        ...logged.set,
      ],
      del: [link.key, ...logged.del],
    });
    if (done === 'conflict' || !done.ok) return done;
    changes.forgive(id);
    notice.send();
    return done;
  }

  return {
    request,
    sendByOperator: resetLinks.sendByOperator,
    reset,
    changePassword,
    /** Returns whether the form is shown for a link. The link stays unused. */
    isOpen: async (token: string): Promise<boolean> => (await open(token)) !== undefined,
    /**
     * Returns the address that the link was sent to, since whoever has the link has the mailbox. Empty when it has
     * expired.
     */
    accountOf: async (token: string): Promise<string> =>
      (await open(token))?.person.account.email ?? '',
  };
}

// Sends the link for a new password: to whoever asked for it, and by an operator, who sees none. It goes to the
// mailbox of the account alone, and stands in its security log.

export function createResetLinks(options: {
  store: Store;
  people: Pick<People, 'byId'>;
  links: Pick<Links, 'make'>;
  mailer: Pick<Mailer, 'post'>;
  pages: Pick<PageLinks, 'reset'>;
  securityLog: Pick<SecurityLog, 'entry'>;
}) {
  const { store, people, links, mailer, pages, securityLog } = options;

  /**
   * Sends the link; the value says whether a mail is on its way. The work is the same without a
   * person.
   * @param onward comes back when the link is used in the visitor's browser
   */
  async function send(
    person: Person | undefined,
    visitor: Visitor,
    onward: string,
  ): Promise<Result<boolean>> {
    const account = person?.id ?? '';
    const epoch = person?.credentials.epoch ?? 0;
    const data = newResetData(account, visitor, onward);
    const link = links.make('reset', { account, data, epoch });
    const logged = await securityLog.entry(account, 'reset_requested', visitor);
    const known = person === undefined ? { check: [], set: [], del: [] } : logged;
    const set = [link.row, ...known.set];
    const done = await commitOnce(store, { check: known.check, set, del: known.del });
    // An account that is deleted at this very moment is answered like one that never was.
    if (done === 'conflict') return ok(false);
    if (!done.ok) return done;
    if (person === undefined || link.isFull) return ok(false);
    const { language } = person.credentials;
    const to = person.account.email;
    return ok(mailer.post(to, language, 'reset', { link: pages.reset(link.token) }, person.id));
  }

  return {
    send,
    /**
     * Sends a link for an operator, who does not see it. `unknown_account`; `conflict`: a mail can't open the
     * account; `client_limit_exceeded`: the address has had its links of this hour.
     */
    async sendByOperator(accountId: string): Promise<Result<void>> {
      const person = await people.byId(accountId);
      if (person === undefined) return fail('unknown_account');
      if (!isActive(person)) {
        return fail('conflict', `${person.account.email} is disabled or not verified`);
      }
      // Without a browser the link works in any, with no way on.
      const sent = await send(person, operatorsClient, '');
      if (!sent.ok) return sent;
      return sent.value ? ok(undefined) : fail('client_limit_exceeded');
    },
  };
}

export type ResetLinks = ReturnType<typeof createResetLinks>;
