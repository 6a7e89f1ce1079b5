/**
 * The changes that only the operator of the service may make of a person: a first password, the plan, that
 * a proof of the birth date was seen, and that the second factor is off.
 */

import type { Accounts } from '../../access/accounts/accounts.ts';
import type { Clock } from '../../core/clock.ts';
import type { Random } from '../../core/random.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import { commitOnce, retryOnConflict } from '../../storage/change.ts';
import type { Store } from '../../storage/store.ts';
import type { Notices } from '../mail/notices.ts';
import { credentialsRow, isVerified, openPeople, versionChecks } from '../people.ts';
import { loadFactor } from '../proofs/factor-rows.ts';
import type { NewPasswords } from '../proofs/new-password.ts';
import { createSecurityLog } from '../sessions/security-log.ts';
import { signedOutNews } from '../sites/site-news.ts';
import { operatorsClient } from '../visitor.ts';
import type { Plan, Profile } from './profile/profile.ts';
import type { Profiles } from './profile/profile-store.ts';
import { hasReviewable } from './review.ts';

export function createOperator(options: {
  store: Store;
  clock: Clock;
  random: Random;
  accounts: Pick<Accounts, 'find'>;
  profiles: Pick<Profiles, 'update'>;
}) {
  const { store, clock, accounts, profiles } = options;
  const people = openPeople(store);
  const securityLog = createSecurityLog(options);

  async function change(
    email: string,
    to: (profile: Profile) => Result<Profile>,
  ): Promise<Result<Profile>> {
    const found = await accounts.find(email);
    return found.ok ? profiles.update(found.value.id, to) : found;
  }

  return {
    /** Sets the password of an account without one; `conflict` when it has one. It is judged as any other. */
    async setFirstPassword(
      accountId: string,
      password: string,
      newPasswords: Pick<NewPasswords, 'accept'>,
    ): Promise<Result<void>> {
      const first = await people.byId(accountId);
      if (first === undefined) return fail('unknown_account');
      const phc = await newPasswords.accept(password, first.account.email);
      if (!phc.ok) return phc;
      return retryOnConflict<void>(async () => {
        const person = await people.byId(accountId);
        if (person === undefined) return fail('unknown_account');
        const { credentials } = person;
        if (credentials.passwordHash !== '') {
          return fail('conflict', `${person.account.email} has a password already`);
        }
        const changed = {
          ...credentials,
          passwordHash: phc.value,
          passwordChangedAt: clock.now(),
          epoch: credentials.epoch + 1,
        };
        return commitOnce(store, {
          check: versionChecks(person),
          set: [credentialsRow(person, changed), signedOutNews(accountId, clock.now())],
        });
      });
    },
    setPlan: (email: string, plan: Plan): Promise<Result<Profile>> =>
      change(email, (profile) => ok({ ...profile, plan })),
    /** `conflict` without a birth date: there is nothing that was proved. */
    verifyIdentity: (email: string): Promise<Result<Profile>> =>
      change(email, (profile) =>
        profile.birthdate === ''
          ? fail('conflict', `${profile.email} has given no birth date that could be proved`)
          : ok({ ...profile, ageVerified: true }),
      ),
    /**
     * Switches a second factor off: for a person who lost it, or whose account was taken over by somebody who set
     * one up, which a new password by mail does not undo. All sessions end, known browsers are forgotten, and the
     * review of passkeys, keys and sites is due at the next sign-in: the operator can't know which of them are the
     * owner's. A mail and the security log record it. `unknown_account`, `invalid_parameter`; `conflict`: there is
     * no second factor.
     */
    async resetFactor(
      email: string,
      notices: Pick<Notices, 'about'>,
    ): Promise<Result<{ email: string }>> {
      const account = await accounts.find(email);
      if (!account.ok) return account;
      return retryOnConflict<{ email: string }>(async () => {
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
        const logged = await securityLog.entry(person.id, 'factor_reset', operatorsClient);
        const notice = isVerified(person) && notices.about(person, 'factor_reset', operatorsClient);
        const mails = notice ? notice.set : [];
        const done = await commitOnce(store, {
          check: [...versionChecks(person), { key, version }, ...logged.check],
          set: [
            credentialsRow(person, changed),
            signedOutNews(person.id, clock.now()),
            ...mails,
            ...logged.set,
          ],
          del: [key, ...logged.del],
        });
        if (done === 'conflict' || !done.ok) return done;
        if (notice) notice.send();
        return ok({ email: person.account.email });
      });
    },
  };
}
