/**
 * The check of a proof of identity, at the sign-in and inside a session alike: the subjects that an attempt
 * counts for, the password against the stored hash (with the same work whatever is wrong), and
 * the security log's entry, written after the answer.
 */

import { createClientLimits } from '../../access/quota/client-limits.ts';
import type { DistributedLimits } from '../../access/quota/distributed-limits.ts';
import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import { dayMs } from '../../core/time.ts';
import type { Mailer } from '../mail/mailer.ts';
import type { PageLinks } from '../people/links.ts';
import { isVerified, knowsBrowser, type Person } from '../people.ts';
import type { SecurityEvent, SecurityLog } from '../sessions/security-log.ts';
import { agentName, browserHash, countryOf, type Visitor } from '../visitor.ts';
import type { Attempt, Attempts } from './attempts.ts';
import { normalisePassword, type Passwords, type Turn } from './passwords.ts';

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

/** The failures a day from which a mail is sent; fewer are an owner who mistypes. */
export const failuresNotified = 10;
/** An account takes two records: its failures, and its mail. */
const subjectsMax = 32_768;

/**
 * Sends an owner a mail when somebody fails to sign in to the account again and again: a wrong
 * password, or a wrong code behind the right one. At most one mail a day; counted after the answer,
 * so neither its text nor its time shows whether there is such an account. In memory, shared by the
 * nodes; at the bound the account that was quiet longest is evicted.
 */
export function createFailureNotices(options: {
  clock: Clock;
  mailer: Pick<Mailer, 'post'>;
  pages: Pick<PageLinks, 'security'>;
  shares: Pick<DistributedLimits, 'room'>;
}) {
  const { clock, mailer, pages } = options;
  const limits = createClientLimits(
    {
      failures: { max: failuresNotified - 1, windowMs: dayMs },
      mails: { max: 1, windowMs: dayMs },
    },
    options.shares.room('failed sign-ins', subjectsMax),
  );

  return {
    /** Counts a failure; call it after the answer. */
    failed(person: Person, visitor: Visitor): void {
      if (!isVerified(person) || person.account.disabled) return;
      const nowMs = clock.monotonicMs();
      if (limits.take('failures', person.id, nowMs) === 0) return;
      if (limits.take('mails', person.id, nowMs) > 0) return;
      const { account, credentials } = person;
      const seen = { agent: agentName(visitor.userAgent), country: countryOf(visitor) };
      const values = { ...seen, link: pages.security };
      mailer.post(account.email, credentials.language, 'failedSignIns', values, person.id);
    },
    /** The accounts that are counted. */
    table: limits.table('failed_sign_in_notices'),
  };
}

type FailureNotices = ReturnType<typeof createFailureNotices>;
