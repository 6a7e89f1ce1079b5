/**
 * Registration and verification of the mail address.
 *
 * An account that is not verified is rows that expire, and nothing in the journal: whoever
 * registers addresses of others takes nothing for good. The address is unique from the first commit
 * on (`check: null`). Verification makes the rows lasting and writes the event, in the one commit
 * that uses the link up.
 *
 * A link carries the password that was chosen with it, or the passkey that was made in its place:
 * that one opens nothing before the link is used. So somebody who registers another's address and
 * hopes that its owner verifies it has gained nothing once the owner registers and opens the newer
 * link: that link brings the owner's choice and ends all sessions of the other person. And the
 * other person's link, opened in any other browser than theirs, asks for the password or passkey
 * that they chose (verification.ts). Verification ends all sessions but the one in which it is
 * done.
 *
 * The answer and the work are the same whether the address has an account or not. The conditions
 * for a network that registers many accounts (pacing.ts) are decided before one is looked up.
 */

import { accountRow } from '../../access/accounts/accounts.ts';
import type { AccountRecord } from '../../access/accounts/records.ts';
import type { Clock } from '../../core/clock.ts';
import { readMailAddress } from '../../core/mail-address.ts';
import { randomToken } from '../../core/random.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import { hourMs } from '../../core/time.ts';
import { type Change, commitOnce, untilUndisturbed } from '../../storage/change.ts';
import { accountByEmailKey } from '../../storage/keys.ts';
import { type BriefTable, createBriefTable } from '../brief-table.ts';
import type { Mailer, MailValues } from '../mail/mailer.ts';
import { credentialsRow, isVerified, noCredentials, type Person, unchanged } from '../people.ts';
import { findPasskey } from '../proofs/factor-rows.ts';
import type { CreationOptions } from '../proofs/passkey-ceremonies.ts';
import { turnOf } from '../proofs/proof.ts';
import { agentName, type Visitor } from '../visitor.ts';
import { notErased } from './erasure-mark.ts';
import {
  type AskedLink,
  type Chosen,
  isChosenByLink,
  newLinkData,
  type PageLinks,
} from './links.ts';
import { type Pacing, type PersonPace, timeText } from './pacing.ts';
import { emailRow, pendingLifeMs, pendingRow } from './pending.ts';
import type { Reservation, RowCounter } from './row-counter.ts';
import { createVerification, type Verification, type VerificationOptions } from './verification.ts';

const idBytes = 12;
const knownPasskey = fail('conflict', 'This passkey is known already.');

export interface Registration extends Verification {
  /**
   * Sends the link, or a mail to the owner of an account that exists. `invalid_parameter` (parameter
   * `email` or `password`), `weak_password`, `overloaded`, `store_unavailable`.
   */
  register(request: RegistrationRequest): Promise<Result<PersonPace>>;
  /**
   * Returns the browser's options to make a passkey in place of a password. No account is looked up, and nothing in
   * them depends on one. `invalid_parameter` (parameter `email`).
   */
  passkeyOptions(email: string): Promise<Result<CreationOptions>>;
  /**
   * Registers like `register`, the address that the options were asked for. `invalid_code` for every fault of the
   * answer, `conflict` when the passkey is known already.
   */
  registerPasskey(request: PasskeyRegistrationRequest): Promise<Result<PersonPace>>;
  /** Returns whether the form should take neither password nor passkey; see pacing.ts. */
  isByMailOnly(visitor: Visitor): boolean;
  /** Returns the address that this browser registered within the last hour, whether it had an account or not. */
  mailedTo(visitor: Visitor): string | undefined;
  /**
   * Repeats the registration without its challenge: sends the link again, or the mail to the owner.
   * `form_expired` when this browser registered nothing lately; else as `register`.
   */
  registerAgain(visitor: Visitor, onward?: string): Promise<Result<PersonPace>>;
  /** Sends another link to somebody who is signed in and not verified. */
  resend(person: Person, visitor: Visitor, onward?: string): Promise<Result<PersonPace>>;
}

export interface RegistrationRequest {
  readonly email: string;
  /** Undefined: the password is chosen when the mail's link is opened. */
  readonly password?: string | undefined;
  readonly visitor: Visitor;
  /** Comes back when the link is used in this browser: a query without `?`, checked by its reader. */
  readonly onward?: string;
}

export interface PasskeyRegistrationRequest
  extends Pick<RegistrationRequest, 'visitor' | 'onward'> {
  /** The browser's JSON, unchecked. */
  readonly response: unknown;
}

export interface RegistrationOptions extends VerificationOptions {
  readonly mailer: Pick<Mailer, 'post'>;
  readonly pages: PageLinks;
  readonly pacing: Pacing;
  /** Counts the accounts that wait for their verification. */
  readonly pendingAccounts: RowCounter;
  /** The last registration of each browser. */
  readonly registeredLately: BriefTable<RegisteredLately>;
}

/** The password is kept as its hash alone. */
export interface RegisteredLately {
  readonly email: string;
  readonly chosen: Chosen;
}

/** Keyed by browser, for solved challenges alone; at the bound the oldest loses its "send again". */
export function createRegisteredLately(clock: Clock): BriefTable<RegisteredLately> {
  return createBriefTable({ kind: 'registered_lately', clock, lifeMs: hourMs, max: 4_096 });
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
    pacing,
    securityLog,
    ceremonies,
    pendingAccounts,
    registeredLately,
  } = options;

  async function register(request: RegistrationRequest) {
    const { password, visitor, onward = '' } = request;
    const email = readMailAddress(request.email);
    if (email === undefined) {
      return fail('invalid_parameter', 'This is not a mail address.', 'email');
    }
    if (password === undefined || pacing.isByMailOnly(visitor)) {
      return place(email, { passwordHash: '', passkey: undefined, onward }, visitor);
    }
    const phc = await newPasswords.accept(password, email, turnOf('open', email, visitor));
    if (!phc.ok) return phc;
    return place(email, { passwordHash: phc.value, passkey: undefined, onward }, visitor);
  }

  async function passkeyOptions(address: string) {
    const email = readMailAddress(address);
    if (email === undefined) {
      return fail('invalid_parameter', 'This is not a mail address.', 'email');
    }
    // The handle is shaped like an account's id, and random each time: it reveals no account.
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

  function verifyValues(token: string, { chosen, worksFrom }: AskedLink): MailValues<'verify'> {
    return {
      link: pages.verify(token),
      worksFrom: worksFrom === 0 ? undefined : timeText(worksFrom),
      choose: isChosenByLink(chosen),
    };
  }

  /** Creates the account, repeats its registration, or leaves it as it is. */
  async function place(
    email: string,
    given: Chosen,
    visitor: Visitor,
  ): Promise<Result<PersonPace>> {
    // The place is reserved before the account is looked up: a refusal reveals nothing of it.
    const room = pendingAccounts.reserve(visitor.network);
    if (room === undefined) return fail('overloaded');
    const done = await placeIn(room, email, given, visitor).finally(room.giveBack);
    const { browserId } = visitor;
    if (done.ok && browserId !== undefined) {
      registeredLately.set(browserId, { email, chosen: { ...given, onward: '' } });
    }
    return done;
  }

  const latelyOf = ({ browserId }: Visitor) =>
    browserId === undefined ? undefined : registeredLately.get(browserId);

  async function registerAgain(visitor: Visitor, onward = '') {
    const lately = latelyOf(visitor);
    if (lately === undefined) return fail('form_expired');
    return place(lately.email, { ...lately.chosen, onward }, visitor);
  }

  async function placeIn(
    room: Reservation,
    email: string,
    given: Chosen,
    visitor: Visitor,
  ): Promise<Result<PersonPace>> {
    const pace = pacing.take(visitor);
    const { onward } = given;
    // A password or passkey sent before the network reached its limit is dropped: the link asks for one.
    const chosen = pace.byMailOnly ? { passwordHash: '', passkey: undefined, onward } : given;
    const asked = { chosen, worksFrom: pace.worksFrom };
    const done = await untilUndisturbed(async () => {
      const person = await people.byEmail(email);
      if (person === undefined) return begin(room, email, asked, visitor);
      // A disabled account gets no link; the answer does not show it.
      if (isVerified(person) || person.account.disabled) return repeat(person, asked, visitor);
      return beginAgain(person, asked, visitor);
    });
    return done.ok ? ok(pace) : done;
  }

  async function begin(
    room: Reservation,
    email: string,
    asked: AskedLink,
    visitor: Visitor,
  ): Promise<Change<void>> {
    const { chosen } = asked;
    const pendingUntil = clock.now() + pendingLifeMs;
    room.giveBack();
    if (!pendingAccounts.admit(email, visitor.network, pendingUntil)) return fail('overloaded');
    const id = randomToken(random, idBytes);
    const account: AccountRecord = {
      email,
      createdAt: clock.now(),
      disabled: false,
      pendingUntil,
      keys: [],
    };
    const credentials = {
      ...noCredentials,
      passwordHash: chosen.passwordHash,
      passwordChangedAt: chosen.passwordHash === '' ? 0 : clock.now(),
      language: visitor.language,
    };
    const link = links.make('verify', {
      account: id,
      data: newLinkData(id, visitor, asked),
      epoch: 0,
    });
    const logged = await securityLog.entry(id, 'registered', visitor, account.pendingUntil);
    const done = await commitOnce(store, {
      check: [{ key: accountByEmailKey(email), version: null }],
      set: [
        accountRow(id, account),
        emailRow(id, account),
        pendingRow(id, account),
        credentialsRow({ id, account }, credentials),
        link.row,
        ...logged.set,
      ],
    });
    if (done !== 'lost' && done.ok && !link.isFull) {
      mailer.post(email, visitor.language, 'verify', verifyValues(link.token, asked), id);
    }
    return done;
  }

  /** Repeats a registration that was never verified: whoever opens the newest link is the owner. */
  async function beginAgain(
    person: Person,
    asked: AskedLink,
    visitor: Visitor,
  ): Promise<Change<void>> {
    const account = { ...person.account, pendingUntil: clock.now() + pendingLifeMs };
    const { id, credentials } = person;
    const data = newLinkData(id, visitor, asked);
    const link = links.make('verify', { account: id, data, epoch: credentials.epoch });
    const done = await commitOnce(store, {
      check: unchanged(person),
      set: [
        accountRow(id, account),
        emailRow(id, account),
        pendingRow(id, account),
        credentialsRow({ id, account }, credentials),
        link.row,
      ],
    });
    if (done !== 'lost' && done.ok) pendingAccounts.prolonged(account.email, account.pendingUntil);
    if (done !== 'lost' && done.ok && !link.isFull) {
      mailer.post(
        account.email,
        visitor.language,
        'verify',
        verifyValues(link.token, asked),
        person.id,
      );
    }
    return done;
  }

  /** Changes nothing but the log; a row is written all the same, for the sake of equal work. */
  async function repeat(person: Person, asked: AskedLink, visitor: Visitor): Promise<Change<void>> {
    const data = newLinkData(person.id, visitor, asked);
    const decoy = links.make('verify', { account: '', data, epoch: 0 });
    // An account that the operator disabled may be unverified.
    const { pendingUntil } = person.account;
    const event = 'registration_repeated';
    const logged = await securityLog.entry(person.id, event, visitor, pendingUntil);
    const set = [decoy.row, ...logged.set];
    const done = await commitOnce(store, { check: logged.check, set, del: logged.del });
    // An account that is being deleted has no log any more; the answer does not show it.
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

  async function resend(
    person: Person,
    visitor: Visitor,
    onward = '',
  ): Promise<Result<PersonPace>> {
    if (isVerified(person)) return fail('conflict', 'The mail address is verified already.');
    const { passwordHash, epoch, language } = person.credentials;
    // A person with a session chose a password: a passkey signs nobody in before the verification.
    const chosen = { passwordHash, passkey: undefined, onward };
    const pace = pacing.take(visitor);
    const asked = { chosen, worksFrom: pace.worksFrom };
    const data = newLinkData(person.id, visitor, asked);
    const link = links.make('verify', { account: person.id, data, epoch });
    const done = await commitOnce(store, { check: [notErased(person.id)], set: [link.row] });
    if (done === 'lost') return fail('forbidden');
    if (done.ok && !link.isFull) {
      mailer.post(
        person.account.email,
        language,
        'verify',
        verifyValues(link.token, asked),
        person.id,
      );
    }
    return done.ok ? ok(pace) : done;
  }

  const verification = createVerification(options);
  return {
    register,
    passkeyOptions,
    registerPasskey,
    resend,
    ...verification,
    registerAgain,
    isByMailOnly: pacing.isByMailOnly,
    mailedTo: (visitor) => latelyOf(visitor)?.email,
    async verify(...given) {
      const done = await verification.verify(...given);
      if (done.ok) pendingAccounts.ended(done.value.email);
      return done;
    },
  };
}
