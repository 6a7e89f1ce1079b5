/**
 * The changes that only the operator of the service may make of a person: a first password, the plan, and that
 * a proof of the birth date was seen.
 */

import type { Accounts } from '../../access/accounts/accounts.ts';
import type { Clock } from '../../core/clock.ts';
import { fail, ok, type Result } from '../../core/result.ts';
import { commitOnce, untilUndisturbed } from '../../storage/change.ts';
import type { Store } from '../../storage/store.ts';
import { credentialsRow, openPeople, unchanged } from '../people.ts';
import type { NewPasswords } from '../proofs/new-password.ts';
import type { Plan, Profile } from './profile/profile.ts';
import type { Profiles } from './profile/profile-store.ts';

export function createOperator(options: {
  store: Store;
  clock: Clock;
  accounts: Pick<Accounts, 'find'>;
  profiles: Pick<Profiles, 'update'>;
}) {
  const { store, clock, accounts, profiles } = options;
  const people = openPeople(store);

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
      newPasswords: NewPasswords,
    ): Promise<Result<void>> {
      const first = await people.byId(accountId);
      if (first === undefined) return fail('unknown_account');
      const phc = await newPasswords.accept(password, first.account.email);
      if (!phc.ok) return phc;
      return untilUndisturbed<void>(async () => {
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
          check: unchanged(person),
          set: [credentialsRow(person, changed)],
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
  };
}

export type Operator = ReturnType<typeof createOperator>;
