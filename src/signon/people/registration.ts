/**
 * Registration and verification of the mail address.
 *
 * An unverified account consists of rows that expire, and has no event in the journal: whoever registers addresses of
 * others reserves nothing permanently. The address is unique from the first commit on (`check: null`). Verification
 * makes the rows permanent and writes the event, in the one commit that uses the link up.
 *
 * A link carries the password chosen with it, or the passkey made instead; neither opens anything before the link is
 * used. So a stranger who registers somebody's address and hopes that the owner verifies it gains nothing once the
 * owner registers too and opens the newer link: that link sets the owner's choice and ends all sessions of the
 * stranger. And the stranger's link, opened in any browser but the stranger's, asks for the password or passkey that
 * the stranger chose (`createVerification`).
 *
 * Answer and work are the same whether the address has an account or not. The conditions for a network with many
 * registrations (pacing.ts) are decided before an account is looked up.
 */

import { accountRow } from '../../access/accounts/accounts.ts';
import { accountCreated } from '../../access/accounts/events.ts';
import type { AccountRecord } from '../../access/accounts/records.ts';
import type { MasterKey } from '../../access/keys/master-key.ts';
import { agentName, browserHash, type Visitor } from '../../contracts/visitor.ts';
import { type BriefTable, createBriefTable } from '../../core/bounded-tables.ts';
import type { Clock } from '../../core/clock.ts';
import { equalBytes } from '../../core/crypto.ts';
import type { Language } from '../../core/language.ts';
import { domainOf, readMailAddress } from '../../core/mail-address.ts';
import { hashOfToken, newToken, type Random, randomToken } from '../../core/random.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import { hourMs, minuteMs } from '../../core/time.ts';
import { type Change, commitOnce, retryOnConflict } from '../../storage/change.ts';
import { createEventId } from '../../storage/journal/define-event.ts';
import { accountByEmailKey, passkeyKey, pendingAccountKey } from '../../storage/keys.ts';
import { bareRecord, text, time } from '../../storage/record.ts';
import type { Store } from '../../storage/store.ts';
import type { Mailer } from '../mail/mailer.ts';
import {
  type Credentials,
  credentialsRow,
  erasureCheck,
  isVerified,
  noCredentials,
  type People,
  type Person,
  versionChecks,
  withBrowser,
} from '../people.ts';
import type { Attempts } from '../proofs/attempts.ts';
import { findPasskey, passkeyRows } from '../proofs/factor-rows.ts';
import type { NewPasswords } from '../proofs/new-password.ts';
import type {
  CreationOptions,
  PasskeyCeremonies,
  RequestOptions,
} from '../proofs/passkey-ceremonies.ts';
import { normalisePassword, type Passwords, requesterOf } from '../proofs/passwords.ts';
import { createSealedTexts } from '../sealed-text.ts';
import type { SecurityLog } from '../sessions/security-log.ts';
import type { RegistrationProof, Session, Sessions } from '../sessions/sessions.ts';
import {
  type AskedLink,
  type FoundLink,
  isChosenByLink,
  isOwnBrowser,
  type Links,
  linkText,
  newLinkData,
  onwardFor,
  type PageLinks,
  readLinkData,
  type SignInChoice,
  unused,
} from './links.ts';
import { type Pacing, type RegistrationTerms, timeText } from './pacing.ts';
import { claimEmail, emailRow, pendingLifeMs, pendingRows } from './pending.ts';
import type { Profiles } from './profile/profile-store.ts';
import type { Reservation, RowCounter } from './row-counter.ts';

const idBytes = 12;
const knownPasskey = fail('conflict', 'This passkey is known already.');

interface RegistrationRequest {
  readonly email: string;
  /** Undefined: the password is chosen when the mail's link is opened. */
  readonly password?: string | undefined;
  readonly visitor: Visitor;
  /** Comes back when the link is used in this browser: a query without `?`, checked by its reader. */
  readonly onward?: string;
}

interface PasskeyRegistrationRequest extends Pick<RegistrationRequest, 'visitor' | 'onward'> {
  /** The browser's JSON, unchecked. */
  readonly response: unknown;
}

interface RegistrationOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly people: People;
  readonly links: Links;
  readonly passwords: Passwords;
  readonly newPasswords: NewPasswords;
  readonly attempts: Attempts;
  readonly sessions: Pick<Sessions, 'transfer'>;
  readonly securityLog: SecurityLog;
  readonly profiles: Pick<Profiles, 'created'>;
  readonly ceremonies: PasskeyCeremonies;
  readonly mailer: Pick<Mailer, 'post'>;
  readonly pages: PageLinks;
  readonly pacing: Pacing;
  /** Counts the accounts that wait for their verification. */
  readonly pendingAccounts: RowCounter;
  /** The last registration of each browser. */
  readonly registeredLately: BriefTable<RegisteredLately>;
  /** Domains whose addresses may register; none: all. */
  readonly domains: readonly string[];
}

/** The password is kept as its hash alone. */
interface RegisteredLately {
  readonly email: string;
  readonly chosen: SignInChoice;
}

/** Keyed by browser, for solved challenges alone; at the bound the oldest loses its "send again". */
export function createRegisteredLately(clock: Clock): BriefTable<RegisteredLately> {
  return createBriefTable({ kind: 'registered_lately', clock, lifeMs: hourMs, max: 4_096 });
}

export function createRegistration(options: RegistrationOptions) {
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
    domains,
  } = options;

  /** Returns whether the address may register, by its domain alone: no account is looked up. */
  function takesDomain(address: string): boolean {
    const email = readMailAddress(address);
    return domains.length === 0 || (email !== undefined && domains.includes(domainOf(email)));
  }

  /**
   * Sends the link, or a mail to the owner of an account that exists. `invalid_parameter` (parameter
   * `email` or `password`), `weak_password`, `overloaded`, `store_unavailable`.
   */
  async function register(request: RegistrationRequest): Promise<Result<RegistrationTerms>> {
    const { password, visitor, onward = '' } = request;
    const email = readMailAddress(request.email);
    if (email === undefined) {
      return fail('invalid_parameter', 'This is not a mail address.', 'email');
    }
    if (password === undefined || pacing.isByMailOnly(visitor)) {
      return registerEmail(email, { passwordHash: '', passkey: undefined, onward }, visitor);
    }
    const phc = await newPasswords.accept(password, email, requesterOf('open', email, visitor));
    if (!phc.ok) return phc;
    const chosen = { passwordHash: phc.value, passkey: undefined, onward, chosenAt: clock.now() };
    return registerEmail(email, chosen, visitor);
  }

  /**
   * Returns the browser's options to make a passkey in place of a password. No account is looked up, and nothing in
   * them depends on one. `invalid_parameter` (parameter `email`).
   */
  async function passkeyOptions(address: string): Promise<Result<CreationOptions>> {
    const email = readMailAddress(address);
    if (email === undefined) {
      return fail('invalid_parameter', 'This is not a mail address.', 'email');
    }
    // The handle is shaped like an account's id, and random each time: it reveals no account.
    const handle = randomToken(random, idBytes);
    return ceremonies.askToCreate({ purpose: 'sign_up', account: email, handle }, email, []);
  }

  /**
   * Registers like `register`, the address that the options were asked for. `invalid_passkey` for every fault of the
   * answer, `conflict` when the passkey is known already.
   */
  async function registerPasskey({
    response,
    visitor,
    onward = '',
  }: PasskeyRegistrationRequest): Promise<Result<RegistrationTerms>> {
    const made = await ceremonies.created(response, 'sign_up');
    if (made === undefined) return fail('invalid_passkey');
    const passkey = newPasskey(made, visitor, clock.now());
    if ((await findPasskey(store, passkey.id)) !== undefined) return knownPasskey;
    const chosen = { passwordHash: '', passkey, onward, chosenAt: clock.now() };
    return registerEmail(made.ceremony.account, chosen, visitor);
  }

  /** @param link as `links.make` returned it: one too many opens nothing and is not mailed */
  function mailLink(
    { token, isFull }: ReturnType<Links['make']>,
    { chosen, worksFrom }: AskedLink,
    to: { readonly id: string; readonly email: string; readonly language: Language },
  ): void {
    if (isFull) return;
    const values = {
      link: pages.verify(token),
      worksFrom: worksFrom === 0 ? undefined : timeText(worksFrom),
      choose: isChosenByLink(chosen),
    };
    mailer.post(to.email, to.language, 'verify', values, to.id);
  }

  /** Creates the account, repeats its registration, or leaves it as it is. */
  async function registerEmail(
    email: string,
    given: SignInChoice,
    visitor: Visitor,
  ): Promise<Result<RegistrationTerms>> {
    if (!takesDomain(email)) return fail('registration_closed');
    // Room is reserved before the account is looked up: a refusal reveals nothing of it.
    const room = pendingAccounts.reserve(visitor.client);
    if (room === undefined) return fail('overloaded');
    const done = await registerReserved(room, email, given, visitor).finally(room.release);
    const { browserId } = visitor;
    if (done.ok && browserId !== undefined) {
      registeredLately.set(browserId, { email, chosen: { ...given, onward: '' } });
    }
    return done;
  }

  const latelyOf = ({ browserId }: Visitor) =>
    browserId === undefined ? undefined : registeredLately.get(browserId);

  /**
   * Repeats the registration without its challenge: sends the link again, or the mail to the owner.
   * `form_expired` when this browser registered nothing lately; else as `register`.
   */
  async function registerAgain(visitor: Visitor, onward = ''): Promise<Result<RegistrationTerms>> {
    const lately = latelyOf(visitor);
    if (lately === undefined) return fail('form_expired');
    return registerEmail(lately.email, { ...lately.chosen, onward }, visitor);
  }

  async function registerReserved(
    room: Reservation,
    email: string,
    given: SignInChoice,
    visitor: Visitor,
  ): Promise<Result<RegistrationTerms>> {
    const terms = pacing.take(visitor);
    const { onward } = given;
    // A password or passkey sent before the network reached its limit is dropped: the link asks for one.
    const chosen = terms.byMailOnly ? { passwordHash: '', passkey: undefined, onward } : given;
    const asked = { chosen, worksFrom: terms.worksFrom };
    const done = await retryOnConflict(async () => {
      const person = await people.byEmail(email);
      if (person === undefined) return begin(room, email, asked, visitor);
      // A disabled account gets no link; the answer does not show it.
      if (isVerified(person) || person.account.disabled) return repeat(person, asked, visitor);
      return beginAgain(person, asked, visitor);
    });
    return done.ok ? ok(terms) : done;
  }

  async function begin(
    room: Reservation,
    email: string,
    asked: AskedLink,
    visitor: Visitor,
  ): Promise<Change<void>> {
    const { chosen } = asked;
    const pendingUntil = clock.now() + pendingLifeMs;
    room.release();
    if (!pendingAccounts.admit(email, visitor.client, pendingUntil)) return fail('overloaded');
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
      set: [...pendingRows(id, account, credentials), link.row, ...logged.set],
    });
    if (done !== 'conflict' && done.ok)
      mailLink(link, asked, { id, email, language: visitor.language });
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
      check: versionChecks(person),
      set: [...pendingRows(id, account, credentials), link.row],
    });
    if (done === 'conflict' || !done.ok) return done;
    const { email, pendingUntil } = account;
    pendingAccounts.prolonged(email, pendingUntil);
    mailLink(link, asked, { id, email, language: visitor.language });
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
    if (done === 'conflict') return ok(undefined);
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

  /** Sends another link to somebody who is signed in and not verified. */
  async function resend(
    person: Person,
    visitor: Visitor,
    onward = '',
  ): Promise<Result<RegistrationTerms>> {
    if (isVerified(person)) return fail('conflict', 'The mail address is verified already.');
    const { passwordHash, epoch, language } = person.credentials;
    // A person with a session chose a password: a passkey signs nobody in before the verification.
    const chosen = { passwordHash, passkey: undefined, onward };
    const terms = pacing.take(visitor);
    const asked = { chosen, worksFrom: terms.worksFrom };
    const data = newLinkData(person.id, visitor, asked);
    const link = links.make('verify', { account: person.id, data, epoch });
    const done = await commitOnce(store, { check: [erasureCheck(person.id)], set: [link.row] });
    if (done === 'conflict') return fail('forbidden');
    if (!done.ok) return done;
    mailLink(link, asked, { id: person.id, email: person.account.email, language });
    return ok(terms);
  }

  return {
    register,
    passkeyOptions,
    registerPasskey,
    resend,
    ...createVerification(options),
    registerAgain,
    takesDomain,
    /** Some domains alone may register. */
    hasDomains: domains.length > 0,
    passwordFault: newPasswords.fault,
    /** Returns whether the form should take neither password nor passkey; see pacing.ts. */
    isByMailOnly: pacing.isByMailOnly,
    /** Returns the address that this browser registered within the last hour, whether it had an account or not. */
    mailedTo: (visitor: Visitor): string | undefined => latelyOf(visitor)?.email,
  };
}

/** Returns the record of a passkey that a browser made, of no account yet. */
function newPasskey(
  made: NonNullable<Awaited<ReturnType<PasskeyCeremonies['created']>>>,
  visitor: Visitor,
  now: number,
) {
  const { id, ...facts } = made.passkey;
  const record = {
    ...facts,
    account: '',
    handle: made.ceremony.handle,
    name: made.authenticator ?? agentName(visitor.userAgent),
    createdAt: now,
    lastUsedAt: now,
  };
  return { id, record };
}

const verifyTriesMax = 5;

function proofOf({ passkey, chosenAt = 0 }: SignInChoice): RegistrationProof {
  return { method: passkey === undefined ? 'password' : 'passkey', at: chosenAt };
}

interface Verification {
  readonly accountId: string;
  readonly email: string;
  /**
   * The place to which the person was going at registration. Empty in another browser: what waits for them waits in
   * the first one.
   */
  readonly onward: string;
  /** The value of the browser cookie: the browser that registered is known from now on. */
  readonly browser: string | undefined;
  /** The password or passkey of the link, which the account has now. */
  readonly proof: RegistrationProof;
  /** The new cookie of the session in which it was done, which has more rights now. Undefined: it ended. */
  readonly token: string | undefined;
}

interface VerificationProof {
  readonly password?: string | undefined;
  /** The browser's JSON, unchecked. */
  readonly passkey?: unknown;
  /** The session in which it is done, if there is one. */
  readonly session?: Session | undefined;
}

export type LinkStep = 'nothing' | 'password' | 'passkey' | 'choose' | 'invited' | 'later';

interface LinkOwner {
  readonly link: FoundLink;
  readonly person: Person;
  readonly isInvitation: boolean;
}

/**
 * Uses a registration link, if the visitor may. Holding the mailbox is only half of the proof: otherwise whoever
 * registers somebody's address would get an account that the owner verified by one careless press. The other half is
 * the browser that registered, or the password or passkey that was chosen there.
 *
 * A password is counted as a try in the link's row before it is judged, so a thousand at once are still five; a
 * signature can't be guessed. Verification makes the account's rows permanent and writes the event, in the one commit
 * that uses the link up, and ends all sessions but the present one.
 */
function createVerification(options: RegistrationOptions) {
  const { store, clock, random, people, links, passwords } = options;
  const { newPasswords, attempts, securityLog, ceremonies } = options;

  async function open(token: string): Promise<LinkOwner | undefined> {
    const registered = await links.find('verify', token);
    const link = registered ?? (await links.find('invite', token));
    const person = link && (await people.byId(link.account));
    if (!link || !person || isVerified(person) || person.account.disabled) return undefined;
    if (link.epoch !== person.credentials.epoch) return undefined;
    return { link, person, isInvitation: registered === undefined };
  }

  /** Counts a try in the link and returns its data; `invalid_link` after five. */
  function counted(token: string) {
    return retryOnConflict(async () => {
      const link = await links.find('verify', token);
      if (link === undefined) return fail('invalid_link');
      const data = readLinkData(link);
      if (data.tries >= verifyTriesMax) return fail('invalid_link');
      const row = links.changed('verify', link, linkText({ ...data, tries: data.tries + 1 }));
      const done = await commitOnce(store, { check: [unused(link)], set: [row] });
      return done === 'conflict' || !done.ok ? done : ok(data);
    });
  }

  /** Checks that the password is the one that was chosen with the link. */
  async function provePassword(
    token: string,
    person: Person,
    password: string,
    visitor: Visitor,
  ): Promise<Result<void>> {
    const attempt = {
      stage: 'password',
      // The name is not the sign-in's: failed sign-ins must not hinder the holder of the link.
      account: `verification of ${person.id}`,
      network: visitor.client,
      neighbourhood: visitor.neighbourhood,
      browser: undefined,
      challenged: true,
    } as const;
    const waitSeconds = attempts.begin(attempt);
    if (waitSeconds > 0) return { ...fail('too_many_attempts'), retryAfterSeconds: waitSeconds };
    const data = await counted(token);
    if (!data.ok) return data;
    const normal = normalisePassword(password);
    const phc = normal === undefined ? '' : data.value.chosen.passwordHash;
    const requester = requesterOf('open', person.id, visitor);
    const checked = await passwords.verify(phc, normal ?? '', requester);
    if (!checked.ok) {
      attempts.withdrawn(attempt);
      return checked;
    }
    if (!checked.value.right) return fail('sign_in_refused');
    attempts.succeeded(attempt);
    return ok(undefined);
  }

  /** Checks that the passkey is the one that was made with the link. */
  async function provePasskey({ link }: LinkOwner, response: unknown): Promise<Result<void>> {
    const { passkey } = readLinkData(link).chosen;
    const proof = await ceremonies.proven(response, 'verify', async (id, { account }) =>
      passkey && account === link.account && equalBytes(id, passkey.id)
        ? passkey.record
        : undefined,
    );
    return proof === undefined ? fail('sign_in_refused') : ok(undefined);
  }

  /**
   * Returns what the form of a link asks for. `nothing`: also for an expired link; `choose` and `invited`: a new
   * password or passkey; `later`: the link does not work yet.
   */
  async function asks(token: string, visitor: Visitor): Promise<LinkStep> {
    const found = await open(token);
    if (found === undefined) return 'nothing';
    const { chosen, worksFrom } = readLinkData(found.link);
    if (worksFrom > clock.now()) return 'later';
    if (isChosenByLink(chosen)) return found.isInvitation ? 'invited' : 'choose';
    if (isOwnBrowser(found.link, visitor)) return 'nothing';
    return chosen.passkey === undefined ? 'password' : 'passkey';
  }

  /** Returns ms since 1970; 0 for a link that works at once, and for an expired one. */
  async function worksFrom(token: string): Promise<number> {
    const found = await open(token);
    return found === undefined ? 0 : readLinkData(found.link).worksFrom;
  }

  /**
   * Returns the options for the proof by the passkey that was made with the link. `invalid_link` if there is
   * none.
   */
  async function proofOptions(token: string): Promise<Result<RequestOptions>> {
    const found = await open(token);
    const passkey = found && readLinkData(found.link).chosen.passkey;
    if (!found || !passkey) return fail('invalid_link');
    const ceremony = { purpose: 'verify', account: found.link.account, handle: '' } as const;
    return ceremonies.askToProve(ceremony, [passkey]);
  }

  /** Returns the options to make a passkey with a link that asks for a choice. `invalid_link` for any other. */
  async function choiceOptions(
    token: string,
  ): Promise<Result<{ readonly email: string; readonly options: CreationOptions }>> {
    const found = await open(token);
    if (!found || !isChosenByLink(readLinkData(found.link).chosen)) return fail('invalid_link');
    const { email } = found.person.account;
    const handle = randomToken(random, idBytes);
    const options = await ceremonies.askToCreate(
      { purpose: 'sign_up', account: email, handle },
      email,
      [],
    );
    return options.ok ? ok({ email, options: options.value }) : options;
  }

  /**
   * Uses the link up. `invalid_link` when it was used, has expired or never was; in another browser
   * than the one that registered, `sign_in_refused` without the right password (five tries) or the
   * right passkey, `too_many_attempts`, `overloaded`. `conflict`: the passkey is an account's. Before
   * its time `too_many_attempts` with the wait. A link that asks for a choice takes it in any
   * browser: `invalid_parameter`, `weak_password`, `invalid_passkey`.
   */
  async function verify(
    token: string,
    visitor: Visitor,
    given: VerificationProof = {},
  ): Promise<Result<Verification>> {
    const found = await open(token);
    if (found === undefined) return fail('invalid_link');
    const { chosen, worksFrom } = readLinkData(found.link);
    const waitMs = worksFrom - clock.now();
    if (waitMs > 0) {
      return { ...fail('too_many_attempts'), retryAfterSeconds: Math.ceil(waitMs / 1_000) };
    }
    if (isChosenByLink(chosen)) return choose(token, found.person, visitor, given);
    if (!isOwnBrowser(found.link, visitor)) {
      const proven =
        chosen.passkey === undefined
          ? await provePassword(token, found.person, given.password ?? '', visitor)
          : await provePasskey(found, given.passkey);
      if (!proven.ok) return proven;
    }
    return finish(token, visitor, given.session);
  }

  /**
   * Takes the new password or passkey. Nothing was chosen at registration that might be another person's, so
   * the mailbox is enough, as with a link for a new password.
   */
  async function choose(token: string, person: Person, visitor: Visitor, given: VerificationProof) {
    if (given.passkey !== undefined) return choosePasskey(token, person, visitor, given);
    const requester = requesterOf('open', person.id, visitor);
    const phc = await newPasswords.accept(given.password ?? '', person.account.email, requester);
    if (!phc.ok) return phc;
    const now = { passwordHash: phc.value, chosenAt: clock.now() };
    return finish(token, visitor, given.session, now);
  }

  /** Takes the new passkey, which the browser made for the address of this link. */
  async function choosePasskey(
    token: string,
    person: Person,
    visitor: Visitor,
    given: VerificationProof,
  ) {
    const made = await ceremonies.created(given.passkey, 'sign_up');
    if (made === undefined || made.ceremony.account !== person.account.email) {
      return fail('invalid_passkey');
    }
    const passkey = newPasskey(made, visitor, clock.now());
    return finish(token, visitor, given.session, { passkey, chosenAt: clock.now() });
  }

  /**
   * Returns the browser that registered: it is the owner's, and a sign-in there is no news. Undefined for
   * another one, of which nothing is known.
   */
  function browserOf(link: FoundLink, visitor: Visitor): string | undefined {
    if (!isOwnBrowser(link, visitor)) return undefined;
    const isGiven = visitor.browser !== undefined && hashOfToken(visitor.browser) !== undefined;
    return isGiven ? visitor.browser : newToken(random).text;
  }

  /** Returns the new credentials: those of the link, and nothing of somebody who chose another password. */
  function credentialsOf(
    person: Person,
    { passwordHash }: SignInChoice,
    own: string | undefined,
    visitor: Visitor,
  ) {
    const { id, credentials } = person;
    // An empty password is nobody's: a person with a session chose another one.
    const sameOwner = passwordHash !== '' && passwordHash === credentials.passwordHash;
    const browser = own ?? (sameOwner ? visitor.browser : undefined);
    const before = sameOwner && browser !== undefined ? credentials.browsers : [];
    const known =
      browser === undefined
        ? { ...credentials, browsers: before }
        : withBrowser({ ...credentials, browsers: before }, browserHash(id, browser));
    const changed: Credentials = {
      ...known,
      passwordHash,
      passwordChangedAt: passwordHash === '' ? 0 : clock.now(),
      epoch: credentials.epoch + 1,
    };
    return { sameOwner, credentials: changed };
  }

  /** Returns the rows of the link's passkey. Undefined: it became an account's meanwhile. */
  async function passkeyOf({ passkey }: SignInChoice, account: string) {
    if (passkey === undefined) return { check: [], set: [] };
    const { id, record } = passkey;
    if ((await findPasskey(store, id)) !== undefined) return undefined;
    const check = [{ key: passkeyKey(id), version: null }];
    return { check, set: passkeyRows(id, { ...record, account }) };
  }

  /** @param now the password or passkey that is chosen now */
  function finish(
    token: string,
    visitor: Visitor,
    session: Session | undefined,
    now: Partial<SignInChoice> = {},
  ) {
    return retryOnConflict<Verification>(async () => {
      const found = await open(token);
      if (found === undefined) return fail('invalid_link');
      const { link, person } = found;
      const { id } = person;
      const { chosen: brought } = readLinkData(link);
      const chosen = { ...brought, ...now };
      const passkey = await passkeyOf(chosen, id);
      if (passkey === undefined) return knownPasskey;
      const account = { ...person.account, pendingUntil: 0 };
      const claim = await claimEmail(store, people, account.email, id);
      if (claim === undefined) return fail('invalid_link');
      const browser = browserOf(link, visitor);
      const { sameOwner, credentials } = credentialsOf(person, chosen, browser, visitor);
      const { epoch } = credentials;
      const kept =
        sameOwner && session && (await options.sessions.transfer(session, person, { epoch }));
      const before = await securityLog.lasting(id);
      const logged = await securityLog.entry(id, 'verified', visitor);
      const done = await commitOnce(store, {
        check: [
          unused(link),
          ...versionChecks(person),
          ...claim.check,
          ...passkey.check,
          ...(kept ? kept.check : []),
        ],
        set: [
          accountRow(id, account),
          emailRow(id, account),
          credentialsRow({ id, account }, credentials),
          ...passkey.set,
          ...(kept ? kept.set : []),
          ...before,
          ...logged.set,
          ...options.profiles.created(id, account.email),
        ],
        del: [link.key, pendingAccountKey(id), ...claim.del, ...logged.del],
        events: [
          accountCreated.encode(createEventId(clock, random), {
            account: id,
            verified: true,
            slot: 'first_key',
          }),
        ],
      });
      if (done === 'conflict' || !done.ok) return done;
      options.pendingAccounts.ended(account.email);
      const onward = onwardFor(link, visitor);
      return ok({
        accountId: id,
        email: account.email,
        onward,
        browser,
        proof: proofOf(chosen),
        token: kept ? kept.token : undefined,
      });
    });
  }

  /** Returns whether there is such a link and it was not used up. */
  const isOpen = async (token: string): Promise<boolean> => (await open(token)) !== undefined;

  /**
   * Returns the address that the link was sent to, since whoever has the link has the mailbox. Empty when it has
   * expired.
   */
  const accountOf = async (token: string): Promise<string> =>
    (await open(token))?.person.account.email ?? '';

  return { asks, isOpen, accountOf, worksFrom, proofOptions, choiceOptions, verify };
}

// The values that a form of registration need not ask twice when something else in it was wrong: the
// password, and the name of the solved challenge. The page carries both sealed (sealed-text.ts) for the
// browser that sent them, for a quarter of an hour; the password itself stands in no page.
//
// A solved challenge counts once: the seal holds its name, and the name is here, in memory, until a
// registration takes it. So a copy of the form brings nothing, nor does an older one after a restart.

export const keptFormLifeMs = 15 * minuteMs;
/** Solved challenges that wait; at the bound the oldest must be solved again. */
export const solvedMax = 8_192;

const solvedBytes = 16;
/** The bytes of 256 characters, lengths, a name and a time. */
const plainBytesMax = 256 * 4 + 64;

export interface KeptForm {
  readonly password: string;
  /** The name of the solved challenge; empty: none. */
  readonly solved: string;
}

const plains = bareRecord<{
  readonly keptAt: number;
  readonly password: string;
  readonly solved: string;
}>({ keptAt: time, password: text, solved: text });

export function createKeptForms(options: { masterKey: MasterKey; clock: Clock; random: Random }) {
  const { clock, random } = options;
  const names = createBriefTable<true>({
    kind: 'solved_challenges',
    clock,
    lifeMs: keptFormLifeMs,
    max: solvedMax,
  });
  const texts = createSealedTexts({ ...options, purpose: 'registration form', plainBytesMax });

  return {
    /** Records a solved challenge and returns its name, for the form. */
    solved(): string {
      const name = randomToken(random, solvedBytes);
      names.set(name, true);
      return name;
    },
    /** Returns whether the name may still be taken. */
    isOpen: (solved: string): boolean => names.get(solved) === true,
    /** Uses the name up. False: it was never solved, was used before, or has expired. */
    take: (solved: string): boolean => names.take(solved) === true,
    /** Gives back a name that was taken for a registration that failed. It lasts as long as a new one. */
    release: (solved: string): void => names.set(solved, true),
    /** @param browserId the request's: no other browser can open it */
    seal({ password, solved }: KeptForm, browserId: string): string {
      return texts.seal(plains.encode({ keptAt: clock.now(), password, solved }), browserId);
    },
    /**
     * Returns undefined when it was altered, has expired, or is another browser's; callers can't tell these
     * apart.
     */
    open(text: string, browserId: string): KeptForm | undefined {
      const opened = texts.open(text, browserId);
      const found = opened && plains.decode(opened.plain);
      if (!found || clock.now() >= found.keptAt + keptFormLifeMs) return undefined;
      return { password: found.password, solved: found.solved };
    },
    table: names.table,
  };
}
