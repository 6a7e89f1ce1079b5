/**
 * The check of a proof of identity, at the sign-in and inside a session alike: the subjects that an attempt
 * counts for, the password against the stored hash (with the same work whatever is wrong), and
 * the security log's entry, written after the answer.
 */

import type { Log } from '../../core/log.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import { knowsBrowser, type Person } from '../people.ts';
import type { SecurityEvent, SecurityLog } from '../sessions/security-log.ts';
import { browserHash, type Visitor } from '../visitor.ts';
import type { Attempt, Attempts } from './attempts.ts';
import type { FailureNotices } from './failure-notices.ts';
import type { Turn } from './password/password-queue.ts';
import { normalisePassword, type Passwords } from './password/passwords.ts';

export interface JudgedPassword {
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

export function createProofs(options: {
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
      const { network, neighbourhood, browserId } = visitor;
      const browser = person && visitor.browser && browserHash(person.id, visitor.browser);
      const known = person && browser && knowsBrowser(person, browser);
      // The trust of a reset is for the password alone, or a mailbox would bring tries at the second factor.
      const vouched =
        stage === 'password' && browserId !== undefined && attempts.isVouched(account, browserId);
      const name = known ? Buffer.from(browser).toString('hex') : vouched ? browserId : undefined;
      return { stage, account, network, neighbourhood, browser: name };
    },
    /** `overloaded`: not judged. */
    async judge(
      person: Person | undefined,
      password: string,
      turn: Turn,
    ): Promise<Result<JudgedPassword>> {
      const normal = normalisePassword(password);
      const phc = normal === undefined ? '' : (person?.credentials.passwordHash ?? '');
      const checked = await passwords.verify(phc, normal ?? impossiblePassword, turn);
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

export type Proofs = ReturnType<typeof createProofs>;

export function turnOf(lane: Turn['lane'], account: string, visitor: Visitor): Turn {
  const { network, neighbourhood = network } = visitor;
  return { lane, account, network, neighbourhood };
}

export function tooMany(retryAfterSeconds: number) {
  return { ...fail('too_many_attempts'), retryAfterSeconds };
}
