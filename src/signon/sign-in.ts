/**
 * Sign-in by password, with a second factor where one is set up. An unknown address, a wrong password, an account without one and a disabled
 * account get the same answer after the same work.
 */

import { normaliseEmail } from '../access/accounts.ts';
import type { Log } from '../core/log.ts';
import type { Random } from '../core/random.ts';
import { fail, ok, type Result } from '../core/result.ts';
import type { Store } from '../store/store.ts';
import type { Attempts } from './attempts.ts';
import { commitOnce, untilUndisturbed } from './change.ts';
import { notErased } from './erasure-mark.ts';
import { type Links, unused } from './links.ts';
import type { PageLinks } from './links-to-pages.ts';
import type { Mailer } from './mail/mailer.ts';
import type { Passwords } from './passwords.ts';
import {
  type Credentials,
  isVerified,
  knowsBrowser,
  type People,
  type Person,
  withBrowser,
} from './people.ts';
import { createProofs, tooMany } from './proof.ts';
import { createReauthenticate, type Reauthenticate } from './reauthentication.ts';
import type { SecondFactors } from './second-factors.ts';
import type { SecurityLog } from './security-log.ts';
import type { SessionMethod } from './session-records.ts';
import type { OpenRequest, Sessions } from './sessions.ts';
import { hashOfToken, newToken } from './tokens.ts';
import { agentName, browserHash, countryOf, type Visitor } from './visitor.ts';

export interface SignedIn {
  readonly kind: 'signed_in';
  /** For the session cookie. */
  readonly token: string;
  readonly sessionId: string;
  readonly accountId: string;
  /** False: send the person to "confirm your mail address". */
  readonly verified: boolean;
  /** For the browser cookie (lasts a year or more): the one that came, or a new one. */
  readonly browser: string;
}

/** The password was right; the ticket goes into the form that asks for the code. 10 minutes. */
export interface SecondFactorNeeded {
  readonly kind: 'second_factor';
  readonly ticket: string;
}

export interface SignIn {
  /** `sign_in_refused`, `too_many_attempts` (with `retryAfterSeconds`), `overloaded`, `store_unavailable`. */
  withPassword(request: {
    email: string;
    password: string;
    visitor: Visitor;
  }): Promise<Result<SignedIn | SecondFactorNeeded>>;
  /** A TOTP or backup code. `invalid_code`, `invalid_link` (ticket over), `too_many_attempts`. */
  withSecondFactor(request: {
    ticket: string;
    code: string;
    visitor: Visitor;
  }): Promise<Result<SignedIn>>;
  /** For a proof that was checked elsewhere (a passkey): opens the session. `sign_in_refused`. */
  proven(person: Person, method: SessionMethod, visitor: Visitor): Promise<Result<SignedIn>>;
  readonly reauthenticate: Reauthenticate;
}

export interface SignInOptions {
  readonly store: Store;
  readonly random: Random;
  readonly log: Log;
  readonly people: People;
  readonly passwords: Passwords;
  readonly sessions: Sessions;
  readonly attempts: Attempts;
  readonly links: Links;
  readonly secondFactors: Pick<SecondFactors, 'isEnabled' | 'matches' | 'use'>;
  readonly mailer: Pick<Mailer, 'post'>;
  readonly pages: PageLinks;
  readonly securityLog: SecurityLog;
}

export function createSignIn(options: SignInOptions): SignIn {
  const { store, random, people, passwords, sessions, attempts, links, secondFactors } = options;
  const proofs = createProofs(options);
  const { attemptOf, judge, note } = proofs;

  /** The person with this password. Counts the attempt. */
  async function prove(
    name: string,
    person: Person | undefined,
    password: string,
    visitor: Visitor,
  ): Promise<Result<{ person: Person; normal: string; outdated: boolean }>> {
    const attempt = attemptOf('password', name, person, visitor);
    const waitSeconds = attempts.begin(attempt);
    if (waitSeconds > 0) return tooMany(waitSeconds);
    const judged = await judge(person, password);
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

  async function withPassword(request: { email: string; password: string; visitor: Visitor }) {
    const { visitor } = request;
    const email = normaliseEmail(request.email);
    const person = email === undefined ? undefined : await people.byEmail(email);
    const proof = await prove(email ?? 'malformed', person, request.password, visitor);
    if (!proof.ok) return proof;
    const proven = proof.value.person;
    if (await secondFactors.isEnabled(proven.id)) {
      const { epoch } = proven.credentials;
      const ticket = links.make('secondFactor', { account: proven.id, data: '', epoch });
      const done = await commitOnce(store, { check: [notErased(proven.id)], set: [ticket.row] });
      if (done === 'lost') return fail('sign_in_refused');
      return done.ok ? ok({ kind: 'second_factor' as const, ticket: ticket.token }) : done;
    }
    let passwordHash = proven.credentials.passwordHash;
    if (proof.value.outdated) {
      const rehashed = await passwords.hash(proof.value.normal);
      // Under overload the old hash does for now.
      if (rehashed.ok) passwordHash = rehashed.value;
    }
    return open(proven, 'password', visitor, { passwordHash });
  }

  /** Opens the session for a person whose proof was checked against the credentials as loaded. */
  function open(
    proven: Person,
    method: SessionMethod,
    visitor: Visitor,
    change: Partial<Credentials> = {},
    also?: OpenRequest['also'],
  ): Promise<Result<SignedIn>> {
    const given = visitor.browser !== undefined && hashOfToken(visitor.browser) !== undefined;
    const browser = given ? visitor.browser! : newToken(random).text;
    const mark = browserHash(proven.id, browser);
    return untilUndisturbed(async () => {
      const person = await people.byId(proven.id);
      if (!person || person.account.disabled || !sameProof(person, proven)) {
        return fail('sign_in_refused');
      }
      const opened = await sessions.open({
        person,
        credentials: withBrowser({ ...person.credentials, ...change }, mark),
        method,
        visitor,
        ...(also === undefined ? {} : { also }),
      });
      if (opened === 'lost') return also && (await isSpent(also)) ? fail('invalid_link') : 'lost';
      if (!opened.ok) return opened;
      note(person, 'signed_in', visitor);
      if (isVerified(person) && !knowsBrowser(person, mark)) {
        options.mailer.post(
          person.account.email,
          person.credentials.language,
          'newSignIn',
          {
            link: options.pages.security,
            agent: agentName(visitor.userAgent),
            country: countryOf(visitor),
          },
          person.id,
        );
      }
      const { id: sessionId, token } = opened.value;
      const verified = isVerified(person);
      return ok({ kind: 'signed_in', token, sessionId, accountId: person.id, verified, browser });
    });
  }

  async function isSpent(also: NonNullable<OpenRequest['also']>): Promise<boolean> {
    const found = await Promise.all(also.check.map(({ key }) => store.get(key)));
    return found.some((row, i) => row?.version !== also.check[i]!.version);
  }

  async function withSecondFactor(request: { ticket: string; code: string; visitor: Visitor }) {
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
    return open(person, 'password+totp', visitor, {}, also);
  }

  return {
    withPassword,
    withSecondFactor,
    proven: (person, method, visitor) => open(person, method, visitor),
    reauthenticate: createReauthenticate({ people, sessions, attempts, secondFactors, proofs }),
  };
}

/** Nothing that the proof rests on was changed since. */
function sameProof({ credentials: a }: Person, { credentials: b }: Person): boolean {
  return a.epoch === b.epoch && a.passwordHash === b.passwordHash;
}
