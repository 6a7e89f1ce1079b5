/**
 * Registration and verification of the mail address.
 *
 * An account that is not verified is three rows that expire, and nothing in the journal: whoever
 * registers addresses of others takes no place for good. The address is unique from the first
 * commit on (`check: null`). Verification makes the rows lasting and tells the journal, in the one
 * commit that uses the link up.
 *
 * A link carries the password that was chosen with it, or the passkey that was made in its place:
 * that one opens nothing before the link is used. So somebody who registers another's address
 * and hopes that its owner verifies it has gained nothing once the owner registers and opens the
 * newer link: that link brings the owner's choice and ends all sessions of the stranger. And the
 * stranger's link, opened in another browser than the stranger's, asks for the stranger's password or
 * passkey (verification.ts). Verification ends all sessions but the one in which it is done.
 *
 * The answer and the work are the same whether the address has an account or not.
 */

import { accountRow, normaliseEmail } from '../access/accounts.ts';
import type { AccountRecord } from '../access/records.ts';
import { randomToken } from '../core/random.ts';
import { fail, ok, type Result } from '../core/result.ts';
import { accountByEmailKey } from '../store/keys.ts';
import { type Change, commitOnce, untilUndisturbed } from './change.ts';
import { notErased } from './erasure-mark.ts';
import { type Chosen, newLinkData } from './link-data.ts';
import type { PageLinks } from './links-to-pages.ts';
import type { Mailer } from './mail/mailer.ts';
import type { NewPasswords } from './new-password.ts';
import type { CreationOptions } from './passkey-ceremonies.ts';
import { findPasskey } from './passkey-records.ts';
import { emailRow, pendingLifeMs } from './pending.ts';
import { credentialsRow, isVerified, type Person, unchanged } from './people.ts';
import { createVerification, type Verification, type VerificationOptions } from './verification.ts';
import { agentName, type Visitor } from './visitor.ts';

const idBytes = 12;
const knownPasskey = fail('conflict', 'This passkey is known already.');

export interface Registration extends Verification {
  /**
   * Sends the link, or tells an owner that there is an account. `invalid_parameter` (parameter
   * `email` or `password`), `weak_password`, `overloaded`, `store_unavailable`.
   */
  register(request: RegistrationRequest): Promise<Result<void>>;
  /**
   * What the browser is asked in order to make a passkey in place of a password. No account is
   * looked up, and nothing in it depends on one. `invalid_parameter` (parameter `email`).
   */
  passkeyOptions(email: string): Promise<Result<CreationOptions>>;
  /**
   * As `register`, for the address that the options were asked for. `invalid_code` for all that is
   * wrong with the answer, `conflict` when the passkey is known already.
   */
  registerPasskey(request: PasskeyRegistrationRequest): Promise<Result<void>>;
  /** Another link for somebody who is signed in and not verified. */
  resend(person: Person, visitor: Visitor, onward?: string): Promise<Result<void>>;
}

export interface RegistrationRequest {
  readonly email: string;
  readonly password: string;
  readonly visitor: Visitor;
  /** Comes back when the link is used in this browser: a query without `?`, checked by its reader. */
  readonly onward?: string;
}

export interface PasskeyRegistrationRequest
  extends Pick<RegistrationRequest, 'visitor' | 'onward'> {
  /** What the browser sent as JSON, unchecked. */
  readonly response: unknown;
}

export interface RegistrationOptions extends VerificationOptions {
  readonly mailer: Pick<Mailer, 'post'>;
  readonly pages: PageLinks;
  readonly newPasswords: NewPasswords;
}

export function createRegistration(options: RegistrationOptions): Registration {
  const {
    store,
    clock,
    random,
    people,
    links,
    mailer,
    pages,
    newPasswords,
    securityLog,
    ceremonies,
  } = options;

  async function register(request: RegistrationRequest) {
    const { password, visitor, onward = '' } = request;
    const email = normaliseEmail(request.email);
    if (email === undefined) {
      return fail('invalid_parameter', 'This is not a mail address.', 'email');
    }
    const phc = await newPasswords.accept(password, email);
    if (!phc.ok) return phc;
    return place(email, { passwordHash: phc.value, passkey: undefined, onward }, visitor);
  }

  async function passkeyOptions(address: string) {
    const email = normaliseEmail(address);
    if (email === undefined) {
      return fail('invalid_parameter', 'This is not a mail address.', 'email');
    }
    // Shaped as an account's id is, and random each time: it tells of no account.
    const handle = randomToken(random, idBytes);
    return ceremonies.askToCreate({ purpose: 'sign_up', account: email, handle }, email, []);
  }

  async function registerPasskey({ response, visitor, onward = '' }: PasskeyRegistrationRequest) {
    const made = await ceremonies.created(response, 'sign_up');
    if (made === undefined) return fail('invalid_code', 'The passkey was not accepted.');
    const { id, ...facts } = made.passkey;
    if ((await findPasskey(store, id)) !== undefined) return knownPasskey;
    const record = {
      ...facts,
      account: '',
      handle: made.ceremony.handle,
      name: agentName(visitor.userAgent),
      createdAt: clock.now(),
      lastUsedAt: clock.now(),
    };
    const chosen = { passwordHash: '', passkey: { id, record }, onward };
    return place(made.ceremony.account, chosen, visitor);
  }

  /** Whatever was chosen: the account begins, begins again, or stays as it is. */
  function place(email: string, chosen: Chosen, visitor: Visitor): Promise<Result<void>> {
    return untilUndisturbed(async () => {
      const person = await people.byEmail(email);
      if (person === undefined) return begin(email, chosen, visitor);
      // A disabled one gets no link, and nobody learns it here.
      if (isVerified(person) || person.account.disabled) return repeat(person, chosen, visitor);
      return beginAgain(person, chosen, visitor);
    });
  }

  async function begin(email: string, chosen: Chosen, visitor: Visitor): Promise<Change<void>> {
    const id = randomToken(random, idBytes);
    const account: AccountRecord = {
      email,
      createdAt: clock.now(),
      disabled: false,
      pendingUntil: clock.now() + pendingLifeMs,
      keys: [],
    };
    const credentials = {
      passwordHash: chosen.passwordHash,
      passwordChangedAt: chosen.passwordHash === '' ? 0 : clock.now(),
      epoch: 0,
      language: visitor.language,
      browsers: [],
    };
    const link = links.make('verify', {
      account: id,
      data: newLinkData(id, visitor, chosen),
      epoch: 0,
    });
    const logged = await securityLog.entry(id, 'registered', visitor, account.pendingUntil);
    const done = await commitOnce(store, {
      check: [{ key: accountByEmailKey(email), version: null }],
      set: [
        accountRow(id, account),
        emailRow(id, account),
        credentialsRow({ id, account }, credentials),
        link.row,
        ...logged.set,
      ],
    });
    if (done !== 'lost' && done.ok) {
      mailer.post(email, visitor.language, 'verify', { link: pages.verify(link.token) }, id);
    }
    return done;
  }

  /** Registered and never verified: whoever opens the newest link is the owner. */
  async function beginAgain(
    person: Person,
    chosen: Chosen,
    visitor: Visitor,
  ): Promise<Change<void>> {
    const account = { ...person.account, pendingUntil: clock.now() + pendingLifeMs };
    const { id, credentials } = person;
    const data = newLinkData(id, visitor, chosen);
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
      mailer.post(
        account.email,
        visitor.language,
        'verify',
        { link: pages.verify(link.token) },
        person.id,
      );
    }
    return done;
  }

  /** Nothing changes but the log; a row is written all the same, for the sake of equal work. */
  async function repeat(person: Person, chosen: Chosen, visitor: Visitor): Promise<Change<void>> {
    const data = newLinkData(person.id, visitor, chosen);
    const decoy = links.make('verify', { account: '', data, epoch: 0 });
    // One that the operator disabled may be unverified.
    const { pendingUntil } = person.account;
    const event = 'registration_repeated';
    const logged = await securityLog.entry(person.id, event, visitor, pendingUntil);
    const set = [decoy.row, ...logged.set];
    const done = await commitOnce(store, { check: logged.check, set, del: logged.del });
    // Being deleted: it has no log any more, and nobody learns it here.
    if (done === 'lost') return ok(undefined);
    if (done.ok && !person.account.disabled) {
      const { language } = person.credentials;
      mailer.post(
        person.account.email,
        language,
        'alreadyRegistered',
        { link: pages.recover },
        person.id,
      );
    }
    return done;
  }

  async function resend(person: Person, visitor: Visitor, onward = ''): Promise<Result<void>> {
    if (isVerified(person)) return fail('conflict', 'The mail address is verified already.');
    const { passwordHash, epoch, language } = person.credentials;
    // Who has a session here chose a password: with a passkey nobody signs in before.
    const chosen = { passwordHash, passkey: undefined, onward };
    const data = newLinkData(person.id, visitor, chosen);
    const link = links.make('verify', { account: person.id, data, epoch });
    const done = await commitOnce(store, { check: [notErased(person.id)], set: [link.row] });
    if (done === 'lost') return fail('forbidden');
    if (done.ok) {
      mailer.post(
        person.account.email,
        language,
        'verify',
        { link: pages.verify(link.token) },
        person.id,
      );
    }
    return done;
  }

  return { register, passkeyOptions, registerPasskey, resend, ...createVerification(options) };
}
