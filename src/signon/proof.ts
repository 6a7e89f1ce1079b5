/**
 * How a proof of identity is judged, at the sign-in and inside a session alike: whom an attempt is
 * counted for, the password against the stored hash (with the same work whatever is wrong), and
 * the security log's entry, written after the answer.
 */

import type { Log } from '../core/log.ts';
import { fail, ok, type Result } from '../core/result.ts';
import type { Attempt } from './attempts.ts';
import { normalisePassword, type Passwords } from './passwords.ts';
import { knowsBrowser, type Person } from './people.ts';
import type { SecurityEvent, SecurityLog } from './security-log.ts';
import { browserHash, type Visitor } from './visitor.ts';

export interface JudgedPassword {
  readonly right: boolean;
  /** As it is hashed. */
  readonly normal: string;
  /** Right, but hashed with other parameters than today's. */
  readonly outdated: boolean;
}

export interface Proofs {
  /** @param name the normalised mail address, or the account's id */
  attemptOf(
    stage: Attempt['stage'],
    name: string,
    person: Person | undefined,
    visitor: Visitor,
  ): Attempt;
  /** `overloaded`: not judged. */
  judge(person: Person | undefined, password: string): Promise<Result<JudgedPassword>>;
  note(person: Person | undefined, event: SecurityEvent, visitor: Visitor): void;
}

/** Of the right length, for what no password can be: the work must be the same. */
const impossiblePassword = 'impossible password';

export function createProofs(options: {
  passwords: Pick<Passwords, 'verify'>;
  securityLog: Pick<SecurityLog, 'add'>;
  log: Log;
}): Proofs {
  const { passwords, securityLog, log } = options;
  return {
    attemptOf(stage, account, person, visitor) {
      const browser = person && visitor.browser && browserHash(person.id, visitor.browser);
      const known = person && browser && knowsBrowser(person, browser);
      return {
        stage,
        account,
        network: visitor.network,
        browser: known ? Buffer.from(browser).toString('hex') : undefined,
      };
    },
    async judge(person, password) {
      const normal = normalisePassword(password);
      const phc = normal === undefined ? '' : (person?.credentials.passwordHash ?? '');
      const checked = await passwords.verify(phc, normal ?? impossiblePassword);
      if (!checked.ok) return checked;
      const right =
        checked.value.right && normal !== undefined && person?.account.disabled === false;
      return ok({ right, normal: normal ?? '', outdated: checked.value.outdated });
    },
    // After the answer: writing it down must not tell that there is such an account.
    note(person, event, visitor) {
      if (person === undefined) return;
      const { id, account } = person;
      setImmediate(() => {
        securityLog
          .add(id, event, visitor, account.pendingUntil)
          .catch((error) => log.warn({ err: error }, 'security log: not written'));
      });
    },
  };
}

export function tooMany(retryAfterSeconds: number) {
  return { ...fail('too_many_attempts'), retryAfterSeconds };
}
