/**
 * Registration and verification of the mail address.
 *
 * An account that is not verified is three rows that expire, and nothing in the journal: whoever
 * registers addresses of others takes no place for good. The address is unique from the first
 * commit on (`check: null`). Verification makes the rows lasting and tells the journal, in the one
 * commit that uses the link up.
 *
 * A link carries the password that was chosen with it. So somebody who registers another's address
 * and hopes that its owner verifies it has gained nothing once the owner registers and opens the
 * newer link: that link brings the owner's password and ends all sessions of the stranger. And the
 * stranger's link, opened in another browser than the stranger's, asks for the stranger's password
 * (verification.ts). Verification ends all sessions but the one in which it is done.
 *
 * The answer and the work are the same whether the address has an account or not.
 */

import { accountRow, normaliseEmail } from '../access/accounts.ts';
import { encodeAccessEvent } from '../access/events.ts';
import type { AccountRecord } from '../access/records.ts';
import type { Clock } from '../core/clock.ts';
import { type Random, randomToken } from '../core/random.ts';
import { fail, ok, type Result } from '../core/result.ts';
import { createEventId } from '../store/event-id.ts';
import { accountByEmailKey } from '../store/keys.ts';
import type { SetRow, Store } from '../store/store.ts';
import type { Attempts } from './attempts.ts';
import { type Change, commitOnce, untilUndisturbed } from './change.ts';
import type { AccountCompanion } from './companion.ts';
import { type Links, unused } from './links.ts';
import type { PageLinks } from './links-to-pages.ts';
import type { Mailer } from './mail/mailer.ts';
import type { NewPasswords } from './new-password.ts';
import type { Passwords } from './passwords.ts';
import { pendingLifeMs } from './pending.ts';
import {
  credentialsRow,
  isVerified,
  type People,
  type Person,
  unchanged,
  withBrowser,
} from './people.ts';
import type { SecurityLog } from './security-log.ts';
import type { Session, Sessions } from './sessions.ts';
import { isOwnBrowser, provePassword, readVerifyData, verifyData } from './verification.ts';
import { browserHash, type Visitor } from './visitor.ts';

const idBytes = 12;

export interface Registration {
  /**
   * Sends the link, or tells an owner that there is an account. `invalid_parameter` (parameter
   * `email` or `password`), `weak_password`, `overloaded`, `store_unavailable`.
   */
  register(request: { email: string; password: string; visitor: Visitor }): Promise<Result<void>>;
  /** Another link for somebody who is signed in and not verified. */
  resend(person: Person, visitor: Visitor): Promise<Result<void>>;
  /** For the form of a link: false also for one that is over. */
  asksPassword(token: string, visitor: Visitor): Promise<boolean>;
  /**
   * Uses the link up. `invalid_link` when it was used, has expired or never was; in another browser
   * than the one that registered, `sign_in_refused` without the right password (five tries),
   * `too_many_attempts`, `overloaded`.
   */
  verify(
    token: string,
    visitor: Visitor,
    given?: { readonly password?: string | undefined; readonly session?: Session | undefined },
  ): Promise<Result<{ accountId: string; email: string }>>;
}

export interface RegistrationOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly people: People;
  readonly links: Links;
  readonly mailer: Pick<Mailer, 'post'>;
  readonly pages: PageLinks;
  readonly newPasswords: NewPasswords;
  readonly passwords: Passwords;
  readonly attempts: Attempts;
  readonly sessions: Pick<Sessions, 'carryOver'>;
  readonly securityLog: SecurityLog;
  readonly companion: AccountCompanion;
}

export function createRegistration(options: RegistrationOptions): Registration {
  const { store, clock, random, people, links, mailer, pages, newPasswords, securityLog } = options;

  async function register(request: { email: string; password: string; visitor: Visitor }) {
    const { password, visitor } = request;
    const email = normaliseEmail(request.email);
    if (email === undefined) {
      return fail('invalid_parameter', 'This is not a mail address.', 'email');
    }
    const phc = await newPasswords.accept(password, email);
    if (!phc.ok) return phc;
    return untilUndisturbed(async () => {
      const person = await people.byEmail(email);
      if (person === undefined) return begin(email, phc.value, visitor);
      // A disabled one gets no link, and nobody learns it here.
      if (isVerified(person) || person.account.disabled) return repeat(person, visitor);
      return beginAgain(person, phc.value, visitor);
    });
  }

  async function begin(email: string, phc: string, visitor: Visitor): Promise<Change<void>> {
    const id = randomToken(random, idBytes);
    const account: AccountRecord = {
      email,
      createdAt: clock.now(),
      disabled: false,
      pendingUntil: clock.now() + pendingLifeMs,
      keys: [],
    };
    const credentials = {
      passwordHash: phc,
      passwordChangedAt: clock.now(),
      epoch: 0,
      language: visitor.language,
      browsers: [],
    };
    const link = links.make('verify', {
      account: id,
      data: verifyData(id, phc, visitor),
      epoch: 0,
    });
    const logged = await securityLog.entry(id, 'registered', visitor);
    const done = await commitOnce(store, {
      check: [{ key: accountByEmailKey(email), version: null }],
      set: [
        accountRow(id, account),
        emailRow(id, account),
        credentialsRow({ id, account }, credentials),
        link.row,
        ...logged.set.map((row) => ({ ...row, expiresAt: account.pendingUntil })),
      ],
    });
    if (done !== 'lost' && done.ok) {
      mailer.post(email, visitor.language, 'verify', { link: pages.verify(link.token) });
    }
    return done;
  }

  /** Registered and never verified: whoever opens the newest link is the owner. */
  async function beginAgain(person: Person, phc: string, visitor: Visitor): Promise<Change<void>> {
    const account = { ...person.account, pendingUntil: clock.now() + pendingLifeMs };
    const { id, credentials } = person;
    const data = verifyData(id, phc, visitor);
    const link = links.make('verify', { account: id, data, epoch: credentials.epoch });
    const done = await commitOnce(store, {
      check: unchanged(person),
      set: [
        accountRow(id, account),
        emailRow(id, account),
        credentialsRow({ id, account }, credentials),
        link.row,
      ],
    });
    if (done !== 'lost' && done.ok) {
      mailer.post(account.email, visitor.language, 'verify', { link: pages.verify(link.token) });
    }
    return done;
  }

  /** Nothing changes but the log; a row is written all the same, for the sake of equal work. */
  async function repeat(person: Person, visitor: Visitor): Promise<Change<void>> {
    const decoy = links.make('verify', { account: '', data: '', epoch: 0 });
    const logged = await securityLog.entry(person.id, 'registration_repeated', visitor);
    const done = await commitOnce(store, { set: [decoy.row, ...logged.set], del: logged.del });
    if (done !== 'lost' && done.ok && !person.account.disabled) {
      const { language } = person.credentials;
      mailer.post(person.account.email, language, 'alreadyRegistered', { link: pages.recover });
    }
    return done;
  }

  async function resend(person: Person, visitor: Visitor): Promise<Result<void>> {
    if (isVerified(person)) return fail('conflict', 'The mail address is verified already.');
    const { passwordHash, epoch, language } = person.credentials;
    const data = verifyData(person.id, passwordHash, visitor);
    const link = links.make('verify', { account: person.id, data, epoch });
    const done = await commitOnce(store, { set: [link.row] });
    if (done === 'lost') return fail('store_unavailable');
    if (done.ok) {
      mailer.post(person.account.email, language, 'verify', { link: pages.verify(link.token) });
    }
    return done;
  }

  async function open(token: string) {
    const link = await links.find('verify', token);
    const person = link && (await people.byId(link.account));
    if (!link || !person || isVerified(person) || person.account.disabled) return undefined;
    return link.epoch === person.credentials.epoch ? { link, person } : undefined;
  }

  async function asksPassword(token: string, visitor: Visitor): Promise<boolean> {
    const found = await open(token);
    return found !== undefined && !isOwnBrowser(found.link, visitor);
  }

  async function verify(
    token: string,
    visitor: Visitor,
    {
      password = '',
      session,
    }: { password?: string | undefined; session?: Session | undefined } = {},
  ): Promise<Result<{ accountId: string; email: string }>> {
    const found = await open(token);
    if (found === undefined) return fail('invalid_link');
    if (!isOwnBrowser(found.link, visitor)) {
      const given = { token, person: found.person, password, visitor };
      const proven = await provePassword(options, given);
      if (!proven.ok) return proven;
    }
    return finish(token, visitor, session);
  }

  function finish(token: string, visitor: Visitor, session: Session | undefined) {
    return untilUndisturbed<{ accountId: string; email: string }>(async () => {
      const found = await open(token);
      if (found === undefined) return fail('invalid_link');
      const { link, person } = found;
      const { id, credentials } = person;
      const account = { ...person.account, pendingUntil: 0 };
      const { passwordHash } = readVerifyData(link);
      const sameOwner = passwordHash === credentials.passwordHash;
      const epoch = credentials.epoch + 1;
      const kept = await options.sessions.carryOver(
        id,
        sameOwner && session !== undefined ? session.id : '',
        epoch,
      );
      const known =
        visitor.browser === undefined || !sameOwner
          ? { ...credentials, browsers: [] }
          : withBrowser(credentials, browserHash(id, visitor.browser));
      const logged = await securityLog.entry(id, 'verified', visitor);
      const done = await commitOnce(store, {
        check: [unused(link), ...unchanged(person), ...kept.check],
        set: [
          accountRow(id, account),
          emailRow(id, account),
          credentialsRow(
            { id, account },
            {
              ...known,
              passwordHash,
              passwordChangedAt: clock.now(),
              epoch,
            },
          ),
          ...kept.set,
          ...logged.set,
          ...options.companion.created(id, account.email),
        ],
        del: [link.key, ...logged.del],
        events: [
          encodeAccessEvent(createEventId(clock, random), {
            kind: 'account.created',
            account: id,
            verified: true,
          }),
        ],
      });
      return done === 'lost' || !done.ok ? done : ok({ accountId: id, email: account.email });
    });
  }

  return { register, resend, asksPassword, verify };
}

function emailRow(id: string, account: AccountRecord): SetRow {
  const row = { key: accountByEmailKey(account.email), value: Buffer.from(id) };
  return account.pendingUntil === 0 ? row : { ...row, expiresAt: account.pendingUntil };
}
