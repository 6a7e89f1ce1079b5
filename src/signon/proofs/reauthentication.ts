/**
 * The proof of identity again inside a session, by password: with the second factor's code too
 * where one is set up, since a password alone would not have opened the session either. (A passkey
 * counts as both; passkeys.ts.)
 *
 * A wrong password and a wrong code are one answer after the same work, counted and logged alike:
 * whoever holds somebody's session learns nothing of either. Only when both are right the code is
 * used up.
 */

import { fail, ok, type Result } from '../../core/result.ts';
import { nameOf, type People } from '../people.ts';
import type { Session, Sessions } from '../sessions/sessions.ts';
import type { Visitor } from '../visitor.ts';
import type { Attempts } from './attempts.ts';
import type { SecondFactors } from './factors/second-factors.ts';
import { type Proofs, tooMany, turnOf } from './proof.ts';

export interface GivenProof {
  readonly password: string;
  /** A TOTP or backup code; ignored where no second factor is set up. */
  readonly code: string;
}

/**
 * Makes the session fresh, under a new cookie. `sign_in_refused`, `too_many_attempts`
 * (with `retryAfterSeconds`), `overloaded`, `form_expired` (renewed by another request meanwhile),
 * `store_unavailable`.
 */
export type Reauthenticate = (
  session: Session,
  proof: GivenProof,
  visitor: Visitor,
) => Promise<Result<{ token: string }>>;

export function createReauthenticate(options: {
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
    const byPassword = { ...attemptOf('password', nameOf(person), person, visitor), session: id };
    const byCode = attemptOf('secondFactor', person.id, person, visitor);
    const tries = needsCode ? [byPassword, byCode] : [byPassword];
    const waitSeconds = attempts.begin(...tries);
    if (waitSeconds > 0) return tooMany(waitSeconds);
    const judged = await judge(person, password, turnOf('known', person.id, visitor));
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
