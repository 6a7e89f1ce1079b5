/**
 * Sends an owner a mail when somebody fails to sign in to the account again and again: a wrong
 * password, or a wrong code behind the right one. At most one mail a day; counted after the answer,
 * so neither its text nor its time shows whether there is such an account. In memory, shared by the
 * nodes; at the bound the account that was quiet longest is evicted.
 */

import { createClientLimits } from '../../access/quota/client-limits.ts';
import type { DistributedLimits } from '../../access/quota/distributed-limits.ts';
import type { Clock } from '../../core/clock.ts';
import { dayMs } from '../../core/time.ts';
import type { Mailer } from '../mail/mailer.ts';
import type { PageLinks } from '../people/links.ts';
import { isVerified, type Person } from '../people.ts';
import { agentName, countryOf, type Visitor } from '../visitor.ts';

/** The failures a day from which a mail is sent; fewer are an owner who mistypes. */
export const failuresNotified = 10;
/** An account takes two records: its failures, and its mail. */
const subjectsMax = 32_768;

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

export type FailureNotices = ReturnType<typeof createFailureNotices>;
