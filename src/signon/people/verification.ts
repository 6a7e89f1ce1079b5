/**
 * Using up a link of registration, and who may. Holding the mailbox is half of it: whoever
 * registers the address of another would else get an account that its owner verified with one
 * careless press. The other half is the browser that registered, or the password that was chosen
 * there, or the passkey that was made there.
 *
 * A password counts as a try in the link's row before it is judged, so a thousand at once are five
 * all the same; a signature can't be guessed.
 * Verification makes the account's rows lasting and writes the event, in the one commit that uses
 * the link up, and ends all sessions but the one in which it is done.
 */

import { accountRow } from '../../access/accounts/accounts.ts';
import { accountCreated } from '../../access/accounts/events.ts';
import type { Clock } from '../../core/clock.ts';
import { equalBytes } from '../../core/digest.ts';
import type { Random } from '../../core/random.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import { commitOnce, untilUndisturbed } from '../../storage/change.ts';
import { createEventId } from '../../storage/journal/define-event.ts';
import { passkeyKey, pendingAccountKey } from '../../storage/keys.ts';
import type { Store } from '../../storage/store.ts';
import {
  type Credentials,
  credentialsRow,
  isVerified,
  type People,
  type Person,
  unchanged,
  withBrowser,
} from '../people.ts';
import type { Attempts } from '../proofs/attempts.ts';
import { findPasskey, passkeyRows } from '../proofs/factor-rows.ts';
import type { NewPasswords } from '../proofs/new-password.ts';
import type { PasskeyCeremonies, RequestOptions } from '../proofs/passkey-ceremonies.ts';
import { normalisePassword, type Passwords } from '../proofs/passwords.ts';
import { turnOf } from '../proofs/proof.ts';
import type { SecurityLog } from '../sessions/security-log.ts';
import type { Session, Sessions } from '../sessions/sessions.ts';
import { hashOfToken, newToken } from '../tokens.ts';
import { browserHash, type Visitor } from '../visitor.ts';
import type { AccountExtraRows } from './extra-rows.ts';
import {
  type Chosen,
  type FoundLink,
  isChosenByLink,
  isOwnBrowser,
  type Links,
  linkText,
  onwardFor,
  readLinkData,
  unused,
} from './links.ts';
import { emailRow, placeAt } from './pending.ts';

const verifyTriesMax = 5;

export interface Verified {
  readonly accountId: string;
  readonly email: string;
  /**
   * The place to which the person was going at registration. Empty in another browser: what waits for them waits in
   * the first one.
   */
  readonly onward: string;
  /** The value of the browser cookie: the browser that registered is known from now on. */
  readonly browser: string | undefined;
  /** The new cookie of the session in which it was done, which has more rights now. Undefined: it ended. */
  readonly token: string | undefined;
}

export interface VerificationProof {
  readonly password?: string | undefined;
  /** The browser's JSON, unchecked. */
  readonly passkey?: unknown;
  /** The session in which it is done, if there is one. */
  readonly session?: Session | undefined;
}

export type LinkAsks = 'nothing' | 'password' | 'passkey' | 'choose' | 'later';

export interface VerificationOptions {
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
  readonly extraRows: AccountExtraRows;
  readonly ceremonies: PasskeyCeremonies;
}

interface Opened {
  readonly link: FoundLink;
  readonly person: Person;
}

export function createVerification(options: VerificationOptions) {
  const {
    store,
    clock,
    random,
    people,
    links,
    passwords,
    newPasswords,
    attempts,
    securityLog,
    ceremonies,
  } = options;

  async function open(token: string): Promise<Opened | undefined> {
    const link = await links.find('verify', token);
    const person = link && (await people.byId(link.account));
    if (!link || !person || isVerified(person) || person.account.disabled) return undefined;
    return link.epoch === person.credentials.epoch ? { link, person } : undefined;
  }

  /** Counts a try in the link and returns its data; `invalid_link` after five. */
  function counted(token: string) {
    return untilUndisturbed(async () => {
      const link = await links.find('verify', token);
      if (link === undefined) return fail('invalid_link');
      const data = readLinkData(link);
      if (data.tries >= verifyTriesMax) return fail('invalid_link');
      const row = links.changed('verify', link, linkText({ ...data, tries: data.tries + 1 }));
      const done = await commitOnce(store, { check: [unused(link)], set: [row] });
      return done === 'lost' || !done.ok ? done : ok(data);
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
      network: visitor.network,
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
    const turn = turnOf('open', person.id, visitor);
    const checked = await passwords.verify(phc, normal ?? '', turn);
    if (!checked.ok) {
      attempts.withdrawn(attempt);
      return checked;
    }
    if (!checked.value.right) return fail('sign_in_refused');
    attempts.succeeded(attempt);
    return ok(undefined);
  }

  /** Checks that the passkey is the one that was made with the link. */
  async function provePasskey({ link }: Opened, response: unknown): Promise<Result<void>> {
    const { passkey } = readLinkData(link).chosen;
    const proof = await ceremonies.proven(response, 'verify', async (id, { account }) =>
      passkey && account === link.account && equalBytes(id, passkey.id)
        ? passkey.record
        : undefined,
    );
    return proof === undefined ? fail('sign_in_refused') : ok(undefined);
  }

  /**
   * Returns what the form of a link asks for: `nothing` also for one that is over; `choose`: a new password; `later`:
   * it does not work yet.
   */
  async function asks(token: string, visitor: Visitor): Promise<LinkAsks> {
    const found = await open(token);
    if (found === undefined) return 'nothing';
    const { chosen, worksFrom } = readLinkData(found.link);
    if (worksFrom > clock.now()) return 'later';
    if (isChosenByLink(chosen)) return 'choose';
    if (isOwnBrowser(found.link, visitor)) return 'nothing';
    return chosen.passkey === undefined ? 'password' : 'passkey';
  }

  /** Returns ms since 1970; 0 for a link that works at once, and for one that is over. */
  async function worksFrom(token: string): Promise<number> {
    const found = await open(token);
    return found === undefined ? 0 : readLinkData(found.link).worksFrom;
  }

  /** Returns the options for the proof by the passkey that was made with the link. `invalid_link` if there is none. */
  async function proofOptions(token: string): Promise<Result<RequestOptions>> {
    const found = await open(token);
    const passkey = found && readLinkData(found.link).chosen.passkey;
    if (!found || !passkey) return fail('invalid_link');
    const ceremony = { purpose: 'verify', account: found.link.account, handle: '' } as const;
    return ceremonies.askToProve(ceremony, [passkey]);
  }

  /**
   * Uses the link up. `invalid_link` when it was used, has expired or never was; in another browser
   * than the one that registered, `sign_in_refused` without the right password (five tries) or the
   * right passkey, `too_many_attempts`, `overloaded`. `conflict`: the passkey is an account's. Before
   * its time `too_many_attempts` with the wait. A link that asks for a new password takes it in any
   * browser: `invalid_parameter`, `weak_password`.
   */
  async function verify(
    token: string,
    visitor: Visitor,
    given: VerificationProof = {},
  ): Promise<Result<Verified>> {
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
   * Takes the new password. Nothing was chosen at registration that might be another person's, so
   * the mailbox is enough, as with a link for a new password.
   */
  async function choose(token: string, person: Person, visitor: Visitor, given: VerificationProof) {
    const turn = turnOf('open', person.id, visitor);
    const phc = await newPasswords.accept(given.password ?? '', person.account.email, turn);
    return phc.ok ? finish(token, visitor, given.session, phc.value) : phc;
  }

  /**
   * Returns the browser that registered: it is the owner's, and a sign-in there is no news. Undefined for another one,
   * of which nothing is known.
   */
  function browserOf(link: FoundLink, visitor: Visitor): string | undefined {
    if (!isOwnBrowser(link, visitor)) return undefined;
    const isGiven = visitor.browser !== undefined && hashOfToken(visitor.browser) !== undefined;
    return isGiven ? visitor.browser : newToken(random).text;
  }

  /** Returns the new credentials: those of the link, and nothing of somebody who chose another password. */
  function credentialsOf(
    person: Person,
    { passwordHash }: Chosen,
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
  async function passkeyOf({ passkey }: Chosen, account: string) {
    if (passkey === undefined) return { check: [], set: [] };
    const { id, record } = passkey;
    if ((await findPasskey(store, id)) !== undefined) return undefined;
    const check = [{ key: passkeyKey(id), version: null }];
    return { check, set: passkeyRows(id, { ...record, account }) };
  }

  /** @param hash the hash of the password that is chosen now */
  function finish(token: string, visitor: Visitor, session: Session | undefined, hash?: string) {
    return untilUndisturbed<Verified>(async () => {
      const found = await open(token);
      if (found === undefined) return fail('invalid_link');
      const { link, person } = found;
      const { id } = person;
      const { chosen: brought } = readLinkData(link);
      const chosen = hash === undefined ? brought : { ...brought, passwordHash: hash };
      const passkey = await passkeyOf(chosen, id);
      if (passkey === undefined) return fail('conflict', 'This passkey is known already.');
      const account = { ...person.account, pendingUntil: 0 };
      const place = await placeAt(store, people, account.email, id);
      if (place === undefined) return fail('invalid_link');
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
          ...unchanged(person),
          ...place.check,
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
          ...options.extraRows.created(id, account.email),
        ],
        del: [link.key, pendingAccountKey(id), ...place.del, ...logged.del],
        events: [
          accountCreated.encode(createEventId(clock, random), {
            account: id,
            verified: true,
            slot: 'first_key',
          }),
        ],
      });
      if (done === 'lost' || !done.ok) return done;
      const onward = onwardFor(link, visitor);
      return ok({
        accountId: id,
        email: account.email,
        onward,
        browser,
        token: kept ? kept.token : undefined,
      });
    });
  }

  /** Returns whether there is such a link and it was not used up. */
  const isOpen = async (token: string): Promise<boolean> => (await open(token)) !== undefined;

  /** Returns the address that the link is for: whoever has the link has its mailbox. Empty when it is over. */
  const accountOf = async (token: string): Promise<string> =>
    (await open(token))?.person.account.email ?? '';

  return { asks, isOpen, accountOf, worksFrom, proofOptions, verify };
}

export type Verification = ReturnType<typeof createVerification>;
