/**
 * The operator switches a second factor off: for a person who lost it, or whose account was taken
 * over by somebody who set one up, which a new password by mail does not undo. All sessions end,
 * known browsers are forgotten, and the review of passkeys, keys and sites is due at the next
 * sign-in: the operator can't know which of them are the owner's. A mail and the security log record it.
 */

import type { Accounts } from '../../access/accounts/accounts.ts';
import type { Clock } from '../../core/clock.ts';
import type { Random } from '../../core/random.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import { commitOnce, untilUndisturbed } from '../../storage/change.ts';
import type { Store } from '../../storage/store.ts';
import type { Notices } from '../mail/notices.ts';
import { hasReviewable } from '../people/review.ts';
import { credentialsRow, isVerified, openPeople, unchanged } from '../people.ts';
import { createSecurityLog } from '../sessions/security-log.ts';
import type { Visitor } from '../visitor.ts';
import { loadFactor } from './factor-rows.ts';

/** The visitor of an act of the operator has neither a browser nor a country. */
const operator: Visitor = { network: '', country: 'ZZ', userAgent: '', language: 'en' };

export function createFactorReset(options: {
  store: Store;
  clock: Clock;
  random: Random;
  accounts: Pick<Accounts, 'find'>;
  notices: Pick<Notices, 'about'>;
}) {
  const { store, clock, accounts, notices } = options;
  const people = openPeople(store);
  const securityLog = createSecurityLog(options);

  return {
    /** `unknown_account`, `invalid_parameter`; `conflict`: there is no second factor. */
    async resetFactor(email: string): Promise<Result<{ email: string }>> {
      const account = await accounts.find(email);
      if (!account.ok) return account;
      return untilUndisturbed<{ email: string }>(async () => {
        const person = await people.byId(account.value.id);
        if (person === undefined) return fail('unknown_account');
        const { key, version, factor } = await loadFactor(store, person.id);
        if (factor === undefined || factor.enabledAt === 0) {
          return fail('conflict', `${person.account.email} has no second factor`);
        }
        const { credentials } = person;
        const isDue = credentials.reviewSince !== 0 || (await hasReviewable(store, person));
        const changed = {
          ...credentials,
          epoch: credentials.epoch + 1,
          factors: credentials.factors + 1,
          browsers: [],
          reviewSince: isDue ? clock.now() : 0,
        };
        const logged = await securityLog.entry(person.id, 'factor_reset', operator);
        const notice = isVerified(person) && notices.about(person, 'factor_reset', operator);
        const mails = notice ? notice.set : [];
        const done = await commitOnce(store, {
          check: [...unchanged(person), { key, version }, ...logged.check],
          set: [credentialsRow(person, changed), ...mails, ...logged.set],
          del: [key, ...logged.del],
        });
        if (done === 'lost' || !done.ok) return done;
        if (notice) notice.send();
        return ok({ email: person.account.email });
      });
    },
  };
}

export type FactorReset = ReturnType<typeof createFactorReset>;
