/**
 * Sign-in by password, with a second factor where one is set up. An unknown address, a wrong
 * password, an account without one and a disabled account get the same answer after the same work.
 * A limited client (attempts.ts) may try again with a challenge answered; one that is still limited
 * gets a link by mail (`createSignInLinks`), which stands in for the password.
 */

import type { MasterKey } from '../../access/keys/master-key.ts';
import { createClientLimits } from '../../access/quota/client-limits.ts';
import { type DistributedLimits, localLimits } from '../../access/quota/distributed-limits.ts';
import { agentName, browserHash, type Visitor, visitorCountryOf } from '../../contracts/visitor.ts';
import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';
import { readKnownAddress } from '../../core/mail-address.ts';
import { hashOfToken, newToken, type Random } from '../../core/random.ts';
import { type Failure, fail, ok, type Result } from '../../core/result.ts';
import { dayMs, hourMs } from '../../core/time.ts';
import { type Change, commitInOrder, commitOnce } from '../../storage/change.ts';
import type { Key } from '../../storage/keys.ts';
import { bareRecord, text, time } from '../../storage/record.ts';
import type { RowCheck, Store } from '../../storage/store.ts';
import type { Mailer } from '../mail/mailer.ts';
import { type Links, linkLifeMs, type PageLinks, unused } from '../people/links.ts';
import {
  type Credentials,
  erasureCheck,
  isActive,
  isVerified,
  knowsBrowser,
  type People,
  type Person,
  withBrowser,
} from '../people.ts';
import { type Attempt, type Attempts, tooMany } from '../proofs/attempts.ts';
import {
  type HashRequester,
  normalisePassword,
  type Passwords,
  requesterOf,
} from '../proofs/passwords.ts';
import type { SecondFactors } from '../proofs/second-factors.ts';
import type { TrustedBrowsers, TrustRenewal } from '../proofs/trusted-browsers.ts';
import { createSealedTexts } from '../sealed-text.ts';
import type { SecurityEvent, SecurityLog } from './security-log.ts';
import {
  type OpenRequest,
  type RegistrationProof,
  type Session,
  type SessionMethod,
  type Sessions,
  sessionLife,
} from './sessions.ts';

export interface SignedIn {
  readonly kind: 'signed_in';
  /** The token for the session cookie. */
  readonly token: string;
  readonly sessionId: string;
  readonly accountId: string;
  /** False: the person is sent to "confirm your mail address". */
  readonly verified: boolean;
  /** The value of the browser cookie (lasts a year or more): the one that came, or a new one. */
  readonly browser: string;
  /** The value of the cookie of a trusted browser, if it is one from now on. */
  readonly trusted: string | undefined;
}

/** The password was right; the ticket goes into the form that asks for the code. 10 minutes. */
export interface SecondFactorNeeded {
  readonly kind: 'second_factor';
  readonly ticket: string;
}

/** `other_browser`: the link is good, and this browser did not ask for it. */
type LinkState = 'ready' | 'other_browser' | 'over';

/** Nothing was judged: a link is on its way, if there is such an account. */
interface LinkMailed {
  readonly kind: 'link_mailed';
  /** The value of the cookie by which the link works in this browser. */
  readonly asked: string;
}

export interface PasswordRequest {
  /** The mail address or the account's id. */
  readonly email: string;
  readonly password: string;
  readonly visitor: Visitor;
  readonly challenged?: boolean;
  /** A link is asked for, without a challenge: no password is judged. */
  readonly mailsLink?: boolean;
  /**
   * Called once, when a link is to be mailed. Returns what comes back when the link is used: a query
   * without `?`, checked by its reader.
   */
  readonly onward?: () => Promise<string>;
}

interface SignInOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly masterKey: MasterKey;
  readonly log: Log;
  readonly people: People;
  readonly passwords: Passwords;
  readonly sessions: Sessions;
  readonly attempts: Attempts;
  readonly links: Links;
  readonly secondFactors: Pick<SecondFactors, 'isEnabled' | 'matches' | 'use'>;
  readonly trustedBrowsers: Pick<TrustedBrowsers, 'find' | 'begin' | 'isOffered'>;
  readonly mailer: Pick<Mailer, 'post'>;
  readonly pages: PageLinks;
  readonly securityLog: SecurityLog;
  readonly distributedLimits?: Pick<DistributedLimits, 'room'>;
}

export function createSignIn(options: SignInOptions) {
  const { store, random, people, passwords, sessions, attempts, links, secondFactors } = options;
  const { distributedLimits = localLimits } = options;
  const failureNotices = createFailureNotices({ ...options, distributedLimits });
  const proofs = createProofs({ ...options, failureNotices });
  const { attemptOf, judge, note } = proofs;
  const signInLinks = createSignInLinks(options);

  /**
   * Returns the person whom the typed text names, and the name that attempts are counted for. Reads the
   * same rows whether there is such an account or not.
   */
  async function findNamed(typed: string): Promise<{ name: string; person: Person | undefined }> {
    const person = (await people.byName(typed)) ?? (await people.byId(nobody));
    return { person, name: person ? person.account.email : (readKnownAddress(typed) ?? malformed) };
  }

  /** Returns the person if this is their password. Counts the attempt. `limited`: not judged. */
  async function prove(
    name: string,
    person: Person | undefined,
    { password, visitor, challenged = false }: PasswordRequest,
  ): Promise<Result<Proven> | { readonly limited: Failure }> {
    const attempt = { ...attemptOf('password', name, person, visitor), challenged };
    const waitSeconds = attempts.begin(attempt);
    if (waitSeconds > 0) return { limited: tooMany(waitSeconds) };
    const lane = attempt.browser === undefined ? 'open' : 'known';
    const judged = await judge(person, password, requesterOf(lane, name, visitor));
    if (!judged.ok) {
      attempts.withdrawn(attempt);
      return judged;
    }
    const { right, normal, outdated } = judged.value;
    if (!right || person === undefined) {
      note(person, 'sign_in_failed', visitor);
      return fail('sign_in_refused');
    }
    attempts.succeeded(attempt);
    return ok({ person, normal, outdated });
  }

  /**
   * Signs in by password, asks for the second factor, or mails a link. Fails with `sign_in_refused`,
   * `too_many_attempts` (with `retryAfterSeconds`: try with a challenge answered), `overloaded` or
   * `store_unavailable`.
   */
  async function withPassword(
    request: PasswordRequest,
  ): Promise<Result<SignedIn | SecondFactorNeeded | LinkMailed>> {
    const { visitor, challenged = false, mailsLink = false, onward } = request;
    const { name, person } = await findNamed(request.email);
    const proof = mailsLink ? undefined : await prove(name, person, request);
    if (proof === undefined || 'limited' in proof) {
      if (proof !== undefined && !challenged) return proof.limited;
      const asked = await signInLinks.ask({ name, person, visitor, onward });
      return asked.ok ? ok({ kind: 'link_mailed' as const, asked: asked.value }) : asked;
    }
    if (!proof.ok) return proof;
    const proven = proof.value.person;
    if (await secondFactors.isEnabled(proven.id)) {
      const trust = await options.trustedBrowsers.find(proven, visitor);
      const done =
        trust && (await open(proven, 'password+browser', visitor, { also: trust, trust }));
      // In another tab the trust was renewed at the same time.
      const isAsked = done === undefined || (!done.ok && done.error === 'invalid_link');
      return isAsked ? askForCode(proven, 'password') : done;
    }
    let passwordHash = proven.credentials.passwordHash;
    if (proof.value.outdated) {
      const requester = requesterOf('known', proven.account.email, visitor);
      const rehashed = await passwords.hash(proof.value.normal, requester);
      // Under overload the old hash does for now.
      if (rehashed.ok) passwordHash = rehashed.value;
    }
    return open(proven, 'password', visitor, { change: { passwordHash } });
  }

  /** @param also used up in the commit that makes the ticket */
  async function askForCode(person: Person, by: 'password' | 'link', also?: OpenRequest['also']) {
    const { epoch } = person.credentials;
    const ticket = links.make('secondFactor', { account: person.id, data: by, epoch });
    const check = [erasureCheck(person.id), ...(also?.check ?? [])];
    const done = await commitOnce(store, { check, set: [ticket.row], del: also?.del ?? [] });
    if (done === 'conflict') return fail(also === undefined ? 'sign_in_refused' : 'invalid_link');
    return done.ok ? ok({ kind: 'second_factor' as const, ticket: ticket.token }) : done;
  }

  /** `invalid_link` when it has expired, `forbidden` in another browser than the one that asked. */
  async function withLink({
    token,
    visitor,
  }: {
    token: string;
    visitor: Visitor;
  }): Promise<Result<{ done: SignedIn | SecondFactorNeeded; onward: string }>> {
    const link = await signInLinks.open(token, visitor);
    if (!link.ok) return link;
    const { person, onward, also } = link.value;
    const done = (await secondFactors.isEnabled(person.id))
      ? await askForCode(person, 'link', also)
      : await open(person, 'link', visitor, { also });
    return done.ok ? ok({ done: done.value, onward }) : done;
  }

  /** Opens the session for a person whose proof was checked against the credentials as loaded. */
  function open(
    proven: Person,
    method: SessionMethod,
    visitor: Visitor,
    {
      change = {},
      also,
      trust,
      trusts = false,
      provenAt,
    }: {
      change?: Partial<Credentials>;
      also?: OpenRequest['also'];
      /** The trust that the sign-in renews. */
      trust?: TrustRenewal | undefined;
      /** The browser is to be trusted from now on. */
      trusts?: boolean;
      /** The time of the proof, where it was not given just now. */
      provenAt?: number;
    } = {},
  ): Promise<Result<SignedIn>> {
    const given = visitor.browser !== undefined && hashOfToken(visitor.browser) !== undefined;
    const browser = given ? visitor.browser! : newToken(random).text;
    const browserDigest = browserHash(proven.id, browser);
    async function attempt(): Promise<Change<SignedIn>> {
      const person = await people.byId(proven.id);
      if (!person || person.account.disabled || !sameProof(person, proven)) {
        return fail('sign_in_refused');
      }
      // A factor changed since the trust was found.
      const stands =
        trust === undefined || person.credentials.factors === proven.credentials.factors;
      if (!stands) return fail('invalid_link');
      const begun = trusts
        ? await options.trustedBrowsers.begin(person, browser, visitor)
        : undefined;
      const logged = begun
        ? await options.securityLog.entry(person.id, 'browser_trusted', visitor)
        : nothing;
      const opened = await sessions.open({
        person,
        credentials: withBrowser({ ...person.credentials, ...change }, browserDigest),
        method,
        visitor,
        // The mailbox opens the account, and nothing that asks for a proof of identity.
        // Nor does a trusted browser.
        provenAt: isProof(method) ? provenAt : 0,
        also: also && {
          check: [...also.check, ...logged.check],
          set: [...(also.set ?? []), ...(begun?.set ?? []), ...logged.set],
          del: [...also.del, ...(begun?.del ?? []), ...logged.del],
        },
      });
      if (opened === 'conflict')
        return also && (await isSpent(also)) ? fail('invalid_link') : 'conflict';
      if (!opened.ok) return opened;
      attempts.forgive(person.account.email);
      note(person, 'signed_in', visitor);
      if (isVerified(person) && !knowsBrowser(person, browserDigest)) {
        options.mailer.post(
          person.account.email,
          person.credentials.language,
          'newSignIn',
          {
            link: options.pages.security,
            agent: agentName(visitor.userAgent),
            country: visitorCountryOf(visitor),
          },
          person.id,
        );
      }
      const { id: sessionId, token } = opened.value;
      const verified = isVerified(person);
      const trusted = (trust ?? begun)?.cookie;
      return ok({
        kind: 'signed_in',
        token,
        sessionId,
        accountId: person.id,
        verified,
        browser,
        trusted,
      });
    }
    // Each writes the credentials, so those of one account wait for each other.
    return commitInOrder(store, attempt, `credentials ${proven.id}`);
  }

  async function isSpent(also: NonNullable<OpenRequest['also']>): Promise<boolean> {
    const found = await Promise.all(also.check.map(({ key }) => store.get(key)));
    return found.some((row, i) => row?.version !== also.check[i]!.version);
  }

  /** Accepts a TOTP or backup code. `invalid_code`, `invalid_link` (ticket over), `too_many_attempts`. */
  async function withSecondFactor(request: {
    ticket: string;
    code: string;
    visitor: Visitor;
    /** The person asks that the browser be trusted. */
    trusts?: boolean;
  }): Promise<Result<SignedIn>> {
    const { visitor } = request;
    const ticket = await links.find('secondFactor', request.ticket);
    const person = ticket && (await people.byId(ticket.account));
    if (!ticket || !person || ticket.epoch !== person.credentials.epoch) {
      return fail('invalid_link');
    }
    const attempt = attemptOf('secondFactor', person.id, person, visitor);
    const waitSeconds = attempts.begin(attempt);
    if (waitSeconds > 0) return tooMany(waitSeconds);
    const used = await secondFactors.use(person.id, request.code);
    if (!used.ok) {
      if (used.error !== 'invalid_code') attempts.withdrawn(attempt);
      else note(person, 'second_factor_failed', visitor);
      return used;
    }
    attempts.succeeded(attempt);
    if (used.value === 'backup') note(person, 'backup_code_used', visitor);
    const also = { check: [unused(ticket)], del: [ticket.key] };
    const by = ticket.data === 'link' ? 'link' : 'password';
    return open(person, `${by}+totp`, visitor, { also, trusts: request.trusts === true });
  }

  return {
    withPassword,
    withSecondFactor,
    withLink,
    /** Returns the state of a link without using it up. */
    linkState: signInLinks.state,
    /**
     * Returns a text that names the browser if an owner of this address is known to use it: what
     * others do must not hinder it. Undefined: the browser is unknown.
     */
    async ownersBrowser(given: string, visitor: Visitor): Promise<string | undefined> {
      const { name, person } = await findNamed(given);
      const attempt = attemptOf('password', name, person, visitor);
      return attempt.browser && `${name} ${attempt.browser}`;
    },
    /** Returns whether the second step of this ticket may still be taken. */
    async isTicketOpen(text: string): Promise<boolean> {
      const ticket = text === '' ? undefined : await links.find('secondFactor', text);
      const person = ticket && (await people.byId(ticket.account));
      return person !== undefined && ticket?.epoch === person.credentials.epoch;
    },
    /** Returns whether the form of this ticket offers to trust the browser. */
    async offersTrust(text: string): Promise<boolean> {
      const ticket = text === '' ? undefined : await links.find('secondFactor', text);
      return ticket !== undefined && options.trustedBrowsers.isOffered(ticket.account);
    },
    /** Returns the same as `ownersBrowser`, by the ticket of a right password. */
    async ownersBrowserOf(text: string, visitor: Visitor): Promise<string | undefined> {
      const ticket = await links.find('secondFactor', text);
      const person = ticket && (await people.byId(ticket.account));
      if (person === undefined) return undefined;
      const { browser } = attemptOf('secondFactor', person.id, person, visitor);
      return browser && `${person.account.email} ${browser}`;
    },
    /** Opens the session for a proof that was checked elsewhere (a passkey). `sign_in_refused`. */
    proven: (person: Person, method: SessionMethod, visitor: Visitor): Promise<Result<SignedIn>> =>
      open(person, method, visitor),
    /**
     * Opens the session in the browser that registered, once its link was used there. What was chosen there minutes
     * ago is its proof of identity, as old as that; later the link alone opens it. Undefined: it can't be opened now.
     */
    async afterVerification(
      accountId: string,
      visitor: Visitor,
      { method, at }: RegistrationProof,
    ) {
      const person = await people.byId(accountId);
      if (person === undefined || (await secondFactors.isEnabled(accountId))) return undefined;
      const isFresh = Math.abs(options.clock.now() - at) < sessionLife.freshMs;
      const done = isFresh
        ? await open(person, method, visitor, { provenAt: at })
        : await open(person, 'link', visitor);
      return done.ok ? done.value : undefined;
    },
    /** The requests for links to sign in that are counted, and the accounts at which proofs fail. */
    tables: [signInLinks.table, failureNotices.table],
    reauthenticate: createReauthenticate({ people, sessions, attempts, secondFactors, proofs }),
  };
}

export type SignIn = ReturnType<typeof createSignIn>;

interface Proven {
  readonly person: Person;
  /** The password in the form in which it is hashed. */
  readonly normal: string;
  readonly outdated: boolean;
}

/** The id of no account: ids are random and longer. */
const nobody = 'nobody';
/** The name for which all that can't be an address is counted; without an `@` it is no address. */
const malformed = 'malformed';

/** Returns whether the method proves the identity: a link of a mailbox or a trusted browser does not. */
function isProof(method: SessionMethod): boolean {
  return method === 'password' || method === 'password+totp' || method === 'passkey';
}

/** Returns whether nothing that the proof rests on was changed since. */
function sameProof({ credentials: a }: Person, { credentials: b }: Person): boolean {
  return a.epoch === b.epoch && a.passwordHash === b.passwordHash;
}

/** The mails to an address; as many as the mailer allows of them (mail/mailer.ts). */
export const signInLinksMax = 3;
const askLimits = {
  address: { max: signInLinksMax, windowMs: hourMs },
  network: { max: 10, windowMs: hourMs },
  neighbourhood: { max: 30, windowMs: hourMs },
} as const;
const subjectsMax = 50_000;

interface AskRequest {
  /** The name that attempts are counted for. */
  readonly name: string;
  readonly person: Person | undefined;
  readonly visitor: Visitor;
  /** Called once, unless the request is refused; its result comes back when the link is used. */
  readonly onward: (() => Promise<string>) | undefined;
}

interface OpenedLink {
  readonly person: Person;
  readonly onward: string;
  /** The checks and deletions for the commit that uses the link up. */
  readonly also: { readonly check: readonly RowCheck[]; readonly del: readonly Key[] };
}

/**
 * Links by mail for an owner whose sign-in is limited, sent once a challenge was answered, or when a known
 * browser or a clean address asks for one.
 *
 *  - A link stands in for the password alone: the second factor is asked for as ever, and the
 *    session is not fresh, so what asks for a proof of identity asks for one.
 *  - It works in a browser that asked for it, proven by its cookie (`createAskSeals`), and nowhere
 *    else. One mail serves every browser that asked, and requests are not stored. So the link that
 *    an attacker had sent is of no use to the attacker, and of full use to the owner.
 *  - An address gets three an hour, and a link lives longer than that: an owner who finds the limit
 *    used up by somebody else has a link that works in the mailbox.
 *
 * A request takes the same work and gets the same answer whether the address has an account or not.
 */
function createSignInLinks(options: {
  store: Store;
  clock: Clock;
  random: Random;
  masterKey: MasterKey;
  people: People;
  links: Links;
  mailer: Pick<Mailer, 'post'>;
  pages: PageLinks;
  securityLog: SecurityLog;
  distributedLimits?: Pick<DistributedLimits, 'room'>;
}) {
  const {
    distributedLimits = localLimits,
    store,
    clock,
    people,
    links,
    mailer,
    pages,
    securityLog,
  } = options;
  const limits = createClientLimits(
    askLimits,
    distributedLimits.room('sign-in links', subjectsMax),
  );
  const seals = createAskSeals(options);

  function askedTooOften({ client, neighbourhood = client }: Visitor): number {
    const nowMs = clock.monotonicMs();
    return (
      limits.takeOrWait('network', client, nowMs) ||
      limits.takeOrWait('neighbourhood', neighbourhood, nowMs)
    );
  }

  /**
   * Returns the value of the browser's cookie `asked`. `too_many_attempts` (with `retryAfterSeconds`): this network
   * asked too often.
   */
  async function ask({ name, person, visitor, onward }: AskRequest): Promise<Result<string>> {
    const waitSeconds = askedTooOften(visitor);
    if (waitSeconds > 0) return tooMany(waitSeconds);
    const asked = seals.seal(name, visitor, (await onward?.()) ?? '');
    // The limit is the name's, so that it is used up alike with and without an account.
    if (limits.takeOrWait('address', name, clock.monotonicMs()) > 0) return ok(asked);
    const owner = person && isActive(person) ? person : undefined;
    const account = owner?.id ?? '';
    const epoch = owner?.credentials.epoch ?? 0;
    const link = links.make('signIn', { account, data: '', epoch });
    const logged = owner ? await securityLog.entry(account, 'sign_in_link_sent', visitor) : nothing;
    const check = owner === undefined ? [] : [erasureCheck(account), ...logged.check];
    const set = [link.row, ...logged.set];
    const done = await commitOnce(store, { check, set, del: logged.del });
    // An account that is deleted at this very moment is answered like one that never was.
    if (done === 'conflict') return ok(asked);
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
    if (!link || !person || !isActive(person)) return undefined;
    if (link.epoch !== person.credentials.epoch) return undefined;
    return { link, person, onward: seals.open(person.account.email, visitor) };
  }

  return {
    ask,
    table: limits.table('sign_in_link_limits'),
    /** Returns the state of a link without using it up. */
    async state(token: string, visitor: Visitor): Promise<LinkState> {
      const found = await find(token, visitor);
      if (found === undefined) return 'over';
      return found.onward === undefined ? 'other_browser' : 'ready';
    },
    /** `invalid_link` when it is over, `forbidden` in another browser. */
    async open(token: string, visitor: Visitor): Promise<Result<OpenedLink>> {
      const found = await find(token, visitor);
      if (found === undefined) return fail('invalid_link');
      const { link, person, onward } = found;
      if (onward === undefined) return fail('forbidden');
      return ok({ person, onward, also: { check: [unused(link)], del: [link.key] } });
    },
  };
}

const nothing = { check: [], set: [], del: [] };

/** A longer `onward` is left out: a cookie goes with every request. */
const onwardCharsMax = 1_024;
/** The bytes of the time and the length. */
const fieldBytes = 16;

const plains = bareRecord<{ readonly askedAt: number; readonly onward: string }>({
  askedAt: time,
  onward: text,
});

/**
 * The cookie that proves that a browser asked for a mailed link to sign in: sealed (sealed-text.ts)
 * for this browser and this name alone, as long as the link lives. Nothing is stored and no list
 * can be full, so no request of somebody else costs anybody theirs.
 */
function createAskSeals(options: { masterKey: MasterKey; clock: Clock; random: Random }) {
  const { clock } = options;
  const texts = createSealedTexts({
    ...options,
    purpose: 'asked for a sign-in link',
    plainBytesMax: onwardCharsMax + fieldBytes,
  });

  return {
    /**
     * Returns the cookie's value.
     * @param name whom it is asked for: as attempts are counted
     * @param onward comes back when the link is used
     */
    seal(name: string, visitor: Visitor, onward: string): string {
      const kept = onward.length > onwardCharsMax ? '' : onward;
      const plain = plains.encode({ askedAt: clock.now(), onward: kept });
      return texts.seal(plain, holderOf(name, visitor));
    },
    /** Returns `onward`; undefined when this browser did not ask for this name, or too long ago. */
    open(name: string, visitor: Visitor): string | undefined {
      const opened = texts.open(visitor.asked ?? '', holderOf(name, visitor));
      const found = opened && plains.decode(opened.plain);
      if (!found || clock.now() >= found.askedAt + linkLifeMs.signIn) return undefined;
      return found.onward;
    },
  };
}

/** A browser's id has no space, so the name can't run into it. */
function holderOf(name: string, { browserId }: Visitor): string {
  return `${browserId ?? ''} ${name}`;
}

interface GivenProof {
  readonly password: string;
  /** A TOTP or backup code; ignored where no second factor is set up. */
  readonly code: string;
}

/**
 * Makes the session fresh, under a new cookie. `sign_in_refused`, `too_many_attempts`
 * (with `retryAfterSeconds`), `overloaded`, `form_expired` (renewed by another request meanwhile),
 * `store_unavailable`.
 */
type Reauthenticate = (
  session: Session,
  proof: GivenProof,
  visitor: Visitor,
) => Promise<Result<{ token: string }>>;

/**
 * Takes the proof of identity again inside a session, by password: with the second factor's code too
 * where one is set up, since a password alone would not have opened the session either. (A passkey
 * counts as both; passkeys.ts.)
 *
 * A wrong password and a wrong code are one answer after the same work, counted and logged alike:
 * whoever holds somebody's session learns nothing of either. Only when both are right the code is
 * used up.
 */
function createReauthenticate(options: {
  people: Pick<People, 'byId'>;
  sessions: Pick<Sessions, 'renew'>;
  attempts: Attempts;
  secondFactors: Pick<SecondFactors, 'isEnabled' | 'matches' | 'use'>;
  proofs: Proofs;
}): Reauthenticate {
  const { people, sessions, attempts, secondFactors } = options;
  const { attemptOf, judge, note } = options.proofs;

  return async (session, { password, code }, visitor) => {
    const person = await people.byId(session.accountId);
    if (person === undefined) return fail('sign_in_refused');
    const needsCode = await secondFactors.isEnabled(person.id);
    // The code counts against no session: the holder of a session must not gain tries at it.
    const { id } = session;
    const byPassword = {
      ...attemptOf('password', person.account.email, person, visitor),
      session: id,
    };
    const byCode = attemptOf('secondFactor', person.id, person, visitor);
    const tries = needsCode ? [byPassword, byCode] : [byPassword];
    const waitSeconds = attempts.begin(...tries);
    if (waitSeconds > 0) return tooMany(waitSeconds);
    const judged = await judge(person, password, requesterOf('known', person.id, visitor));
    if (!judged.ok) {
      attempts.withdrawn(...tries);
      return judged;
    }
    const codeMatches = !needsCode || (await secondFactors.matches(person.id, code));
    if (!judged.value.right || !codeMatches) return refused();
    const used = needsCode ? await secondFactors.use(person.id, code) : undefined;
    if (used?.ok === false) {
      // Another request used it a moment ago.
      if (used.error === 'invalid_code') return refused();
      attempts.withdrawn(...tries);
      return used;
    }
    attempts.succeeded(...tries);
    if (used?.value === 'backup') note(person, 'backup_code_used', visitor);
    const renewed = await sessions.renew(
      session,
      needsCode ? 'password+totp' : 'password',
      person.credentials.factors,
    );
    if (!renewed.ok) return renewed;
    if (renewed.value === undefined) return fail('form_expired');
    note(person, 'reauthenticated', visitor);
    return ok(renewed.value);

    function refused() {
      note(person, 'reauthentication_failed', visitor);
      return fail('sign_in_refused');
    }
  };
}

// The check of a proof of identity, at the sign-in and inside a session alike: the subjects that an attempt
// counts for, the password against the stored hash (with the same work whatever is wrong), and
// the security log's entry, written after the answer.

interface JudgedPassword {
  readonly right: boolean;
  /** The password in the form in which it is hashed. */
  readonly normal: string;
  /** The password is right, but hashed with other parameters than today's. */
  readonly outdated: boolean;
}

/** The owner gets a mail when there are many of these. */
const failures: readonly SecurityEvent[] = [
  'sign_in_failed',
  'second_factor_failed',
  'reauthentication_failed',
];
/** Stands for a text that no password can be, as the work must be the same. */
const impossiblePassword = 'impossible password';

function createProofs(options: {
  passwords: Pick<Passwords, 'verify'>;
  attempts: Pick<Attempts, 'isVouched'>;
  securityLog: Pick<SecurityLog, 'add'>;
  log: Log;
  failureNotices: Pick<FailureNotices, 'failed'>;
}) {
  const { passwords, attempts, securityLog, log, failureNotices } = options;
  return {
    /** @param name the normalised mail address, or the account's id */
    attemptOf(
      stage: Attempt['stage'],
      account: string,
      person: Person | undefined,
      visitor: Visitor,
    ): Attempt {
      const { client, neighbourhood, browserId } = visitor;
      const browser = person && visitor.browser && browserHash(person.id, visitor.browser);
      const known = person && browser && knowsBrowser(person, browser);
      // The trust of a reset is for the password alone, or a mailbox would bring tries at the second factor.
      const vouched =
        stage === 'password' && browserId !== undefined && attempts.isVouched(account, browserId);
      const name = known ? Buffer.from(browser).toString('hex') : vouched ? browserId : undefined;
      return { stage, account, network: client, neighbourhood, browser: name };
    },
    /** `overloaded`: not judged. */
    async judge(
      person: Person | undefined,
      password: string,
      requester: HashRequester,
    ): Promise<Result<JudgedPassword>> {
      const normal = normalisePassword(password);
      const phc = normal === undefined ? '' : (person?.credentials.passwordHash ?? '');
      const checked = await passwords.verify(phc, normal ?? impossiblePassword, requester);
      if (!checked.ok) return checked;
      const right =
        checked.value.right && normal !== undefined && person?.account.disabled === false;
      return ok({ right, normal: normal ?? '', outdated: checked.value.outdated });
    },
    // Written after the answer, so that its time does not show that there is such an account.
    note(person: Person | undefined, event: SecurityEvent, visitor: Visitor): void {
      if (person === undefined) return;
      const { id, account } = person;
      setImmediate(() => {
        securityLog
          .add(id, event, visitor, account.pendingUntil)
          .catch((error) => log.warn({ err: error }, 'security log: not written'));
        if (failures.includes(event)) failureNotices.failed(person, visitor);
      });
    },
  };
}

type Proofs = ReturnType<typeof createProofs>;

/** The failures a day from which a mail is sent; fewer are an owner who mistypes. */
export const failuresNotified = 10;
/** An account takes two records: its failures, and its mail. */
const noticedAccountsMax = 32_768;

/**
 * Sends an owner a mail when somebody fails to sign in to the account again and again: a wrong
 * password, or a wrong code behind the right one. At most one mail a day; counted after the answer,
 * so neither its text nor its time shows whether there is such an account. In memory, shared by the
 * nodes; at the bound the account that was quiet longest is evicted.
 */
function createFailureNotices(options: {
  clock: Clock;
  mailer: Pick<Mailer, 'post'>;
  pages: Pick<PageLinks, 'security'>;
  distributedLimits: Pick<DistributedLimits, 'room'>;
}) {
  const { clock, mailer, pages } = options;
  const limits = createClientLimits(
    {
      failures: { max: failuresNotified - 1, windowMs: dayMs },
      mails: { max: 1, windowMs: dayMs },
    },
    options.distributedLimits.room('failed sign-ins', noticedAccountsMax),
  );

  return {
    /** Counts a failure; call it after the answer. */
    failed(person: Person, visitor: Visitor): void {
      if (!isVerified(person) || person.account.disabled) return;
      const nowMs = clock.monotonicMs();
      if (limits.takeOrWait('failures', person.id, nowMs) === 0) return;
      if (limits.takeOrWait('mails', person.id, nowMs) > 0) return;
      const { account, credentials } = person;
      const seen = { agent: agentName(visitor.userAgent), country: visitorCountryOf(visitor) };
      const values = { ...seen, link: pages.security };
      mailer.post(account.email, credentials.language, 'failedSignIns', values, person.id);
    },
    table: limits.table('failed_sign_in_notices'),
  };
}

type FailureNotices = ReturnType<typeof createFailureNotices>;
