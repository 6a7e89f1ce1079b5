/**
 * Using up a link of registration, and who may. Holding the mailbox is half of it: whoever
 * registers the address of another would else get an account that its owner verified with one
 * careless press. The other half is the browser that registered, or the password that was chosen
 * there, or the passkey that was made there.
 *
 * A password counts as a try in the link's row before it is judged, so a thousand at once are five
 * all the same; a signature can't be guessed.
 * Verification makes the account's rows lasting and tells the journal, in the one commit that uses
 * the link up, and ends all sessions but the one in which it is done.
 */

import { accountRow } from '../access/accounts.ts';
import { encodeAccessEvent } from '../access/events.ts';
import type { Clock } from '../core/clock.ts';
import type { Random } from '../core/random.ts';
import { fail, ok, type Result } from '../core/result.ts';
import { createEventId } from '../store/event-id.ts';
import { passkeyKey } from '../store/keys.ts';
import type { Store } from '../store/store.ts';
import type { Attempts } from './attempts.ts';
import { commitOnce, untilUndisturbed } from './change.ts';
import type { AccountCompanion } from './companion.ts';
import { type Chosen, isOwnBrowser, linkText, onwardFor, readLinkData } from './link-data.ts';
import { type FoundLink, type Links, unused } from './links.ts';
import type { PasskeyCeremonies, RequestOptions } from './passkey-ceremonies.ts';
import { findPasskey, passkeyRows } from './passkey-records.ts';
import { normalisePassword, type Passwords } from './passwords.ts';
import { emailRow } from './pending.ts';
import {
  type Credentials,
  credentialsRow,
  isVerified,
  type People,
  type Person,
  unchanged,
  withBrowser,
} from './people.ts';
import type { SecurityLog } from './security-log.ts';
import type { Session, Sessions } from './sessions.ts';
import { equalBytes } from './tokens.ts';
import { browserHash, type Visitor } from './visitor.ts';

export const verifyTriesMax = 5;

export interface Verified {
  readonly accountId: string;
  readonly email: string;
  /**
   * Where the person was going, as it was given at registration. Empty in another browser: what
   * waits for them waits in the first one.
   */
  readonly onward: string;
  /** For the cookie of the session in which it was done: it may more now. Undefined: it ended. */
  readonly token: string | undefined;
}

export interface VerificationProof {
  readonly password?: string | undefined;
  /** What the browser sent as JSON, unchecked. */
  readonly passkey?: unknown;
  /** The one in which it is done, if there is one. */
  readonly session?: Session | undefined;
}

export interface Verification {
  /** For the form of a link: `nothing` also for one that is over. */
  asks(token: string, visitor: Visitor): Promise<'nothing' | 'password' | 'passkey'>;
  /** For the proof by the passkey that was made with the link. `invalid_link` if there is none. */
  proofOptions(token: string): Promise<Result<RequestOptions>>;
  /**
   * Uses the link up. `invalid_link` when it was used, has expired or never was; in another browser
   * than the one that registered, `sign_in_refused` without the right password (five tries) or the
   * right passkey, `too_many_attempts`, `overloaded`. `conflict`: the passkey is an account's.
   */
  verify(token: string, visitor: Visitor, given?: VerificationProof): Promise<Result<Verified>>;
}

export interface VerificationOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly people: People;
  readonly links: Links;
  readonly passwords: Passwords;
  readonly attempts: Attempts;
  readonly sessions: Pick<Sessions, 'carryOver'>;
  readonly securityLog: SecurityLog;
  readonly companion: AccountCompanion;
  readonly ceremonies: PasskeyCeremonies;
}

interface Opened {
  readonly link: FoundLink;
  readonly person: Person;
}

export function createVerification(options: VerificationOptions): Verification {
  const { store, clock, random, people, links, passwords, attempts, securityLog, ceremonies } =
    options;

  async function open(token: string): Promise<Opened | undefined> {
    const link = await links.find('verify', token);
    const person = link && (await people.byId(link.account));
    if (!link || !person || isVerified(person) || person.account.disabled) return undefined;
    return link.epoch === person.credentials.epoch ? { link, person } : undefined;
  }

  /** Counts a try in the link. What it carries; `invalid_link` after five. */
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

  /** Whether the password is the one that was chosen with the link. */
  async function provePassword(
    token: string,
    person: Person,
    password: string,
    visitor: Visitor,
  ): Promise<Result<void>> {
    const attempt = {
      stage: 'password',
      account: person.account.email,
      network: visitor.network,
      browser: undefined,
    } as const;
    const waitSeconds = attempts.begin(attempt);
    if (waitSeconds > 0) return { ...fail('too_many_attempts'), retryAfterSeconds: waitSeconds };
    const data = await counted(token);
    if (!data.ok) return data;
    const normal = normalisePassword(password);
    const phc = normal === undefined ? '' : data.value.chosen.passwordHash;
    const checked = await passwords.verify(phc, normal ?? '');
    if (!checked.ok) {
      attempts.withdrawn(attempt);
      return checked;
    }
    if (!checked.value.right) return fail('sign_in_refused');
    attempts.succeeded(attempt);
    return ok(undefined);
  }

  /** Whether the passkey is the one that was made with the link. */
  async function provePasskey({ link }: Opened, response: unknown): Promise<Result<void>> {
    const { passkey } = readLinkData(link).chosen;
    const proof = await ceremonies.proven(response, 'verify', async (id, { account }) =>
      passkey && account === link.account && equalBytes(id, passkey.id)
        ? passkey.record
        : undefined,
    );
    return proof === undefined ? fail('sign_in_refused') : ok(undefined);
  }

  async function asks(token: string, visitor: Visitor) {
    const found = await open(token);
    if (found === undefined || isOwnBrowser(found.link, visitor)) return 'nothing';
    return readLinkData(found.link).chosen.passkey === undefined ? 'password' : 'passkey';
  }

  async function proofOptions(token: string) {
    const found = await open(token);
    const passkey = found && readLinkData(found.link).chosen.passkey;
    if (!found || !passkey) return fail('invalid_link');
    const ceremony = { purpose: 'verify', account: found.link.account, handle: '' } as const;
    return ceremonies.askToProve(ceremony, [passkey]);
  }

  async function verify(token: string, visitor: Visitor, given: VerificationProof = {}) {
    const found = await open(token);
    if (found === undefined) return fail('invalid_link');
    if (!isOwnBrowser(found.link, visitor)) {
      const proven =
        readLinkData(found.link).chosen.passkey === undefined
          ? await provePassword(token, found.person, given.password ?? '', visitor)
          : await provePasskey(found, given.passkey);
      if (!proven.ok) return proven;
    }
    return finish(token, visitor, given.session);
  }

  /** The credentials from now on: what the link brings, and nothing of who chose something else. */
  function credentialsOf({ link, person }: Opened, visitor: Visitor) {
    const { id, credentials } = person;
    const { passwordHash } = readLinkData(link).chosen;
    // No password is nobody's: who has a session chose another one.
    const sameOwner = passwordHash !== '' && passwordHash === credentials.passwordHash;
    const known =
      visitor.browser === undefined || !sameOwner
        ? { ...credentials, browsers: [] }
        : withBrowser(credentials, browserHash(id, visitor.browser));
    const changed: Credentials = {
      ...known,
      passwordHash,
      passwordChangedAt: passwordHash === '' ? 0 : clock.now(),
      epoch: credentials.epoch + 1,
    };
    return { sameOwner, credentials: changed };
  }

  /** Rows of the passkey that a link brings. Undefined: it was made an account's meanwhile. */
  async function passkeyOf({ passkey }: Chosen, account: string) {
    if (passkey === undefined) return { check: [], set: [] };
    const { id, record } = passkey;
    if ((await findPasskey(store, id)) !== undefined) return undefined;
    const check = [{ key: passkeyKey(id), version: null }];
    return { check, set: passkeyRows(id, { ...record, account }) };
  }

  function finish(token: string, visitor: Visitor, session: Session | undefined) {
    return untilUndisturbed<Verified>(async () => {
      const found = await open(token);
      if (found === undefined) return fail('invalid_link');
      const { link, person } = found;
      const { id } = person;
      const { chosen } = readLinkData(link);
      const passkey = await passkeyOf(chosen, id);
      if (passkey === undefined) return fail('conflict', 'This passkey is known already.');
      const account = { ...person.account, pendingUntil: 0 };
      const { sameOwner, credentials } = credentialsOf(found, visitor);
      const keptId = sameOwner && session !== undefined ? session.id : '';
      const kept = await options.sessions.carryOver(id, keptId, credentials.epoch, true);
      const before = await securityLog.lasting(id);
      const logged = await securityLog.entry(id, 'verified', visitor);
      const event = { kind: 'account.created', account: id, verified: true } as const;
      const done = await commitOnce(store, {
        check: [unused(link), ...unchanged(person), ...passkey.check, ...kept.check],
        set: [
          accountRow(id, account),
          emailRow(id, account),
          credentialsRow({ id, account }, credentials),
          ...passkey.set,
          ...kept.set,
          ...before,
          ...logged.set,
          ...options.companion.created(id, account.email),
        ],
        del: [link.key, ...logged.del],
        events: [encodeAccessEvent(createEventId(clock, random), event)],
      });
      if (done === 'lost' || !done.ok) return done;
      const onward = onwardFor(link, visitor);
      return ok({ accountId: id, email: account.email, onward, token: kept.token });
    });
  }

  return { asks, proofOptions, verify };
}
