/**
 * Profiles at rest, one row an account. A change reads, decides and writes with a check of the
 * version, so two forms sent at once never lose half of each other's fields.
 */

import type { Clock } from '../../../core/clock.ts';
import type { Random } from '../../../core/random.ts';
import { fail, ok, type Result } from '../../../core/result.ts';
import { commitOnce, retryOnConflict, withValue } from '../../../storage/change.ts';
import { type Key, profileKey } from '../../../storage/keys.ts';
import type { RowCheck, SetRow, Store } from '../../../storage/store.ts';
import { erasureCheck } from '../../people.ts';
import { changedNews } from '../../sites/site-news.ts';
import { decodeProfile, encodeProfile, newProfile, type Profile } from './profile.ts';
import type { ProfileChanges } from './profile-edit.ts';

interface ExtraRows {
  readonly set: readonly SetRow[];
  readonly del: readonly Key[];
}

export function createProfiles(options: { store: Store; clock: Clock; random: Random }) {
  const { store, clock, random } = options;

  /** Returns the profile with the version of its row, for a commit that depends on it. */
  async function find(
    accountId: string,
  ): Promise<{ readonly profile: Profile; readonly version: number } | undefined> {
    const entry = await store.get(profileKey(accountId));
    const profile = entry && decodeProfile(entry.value);
    return entry && profile && { profile, version: entry.version };
  }

  /**
   * Applies a change that the service itself makes: verified facts, plan, avatar, mail address.
   * `change` runs again when another commit was faster, so it must be pure. `extra` returns further
   * rows of the same commit by the profile as it was before.
   */
  function update(
    accountId: string,
    change: (profile: Profile) => Result<Profile>,
    extra: (before: Profile) => ExtraRows = () => ({ set: [], del: [] }),
  ): Promise<Result<Profile>> {
    const key = profileKey(accountId);
    return retryOnConflict(async () => {
      const found = await find(accountId);
      if (found === undefined) return fail('unknown_account');
      const changed = change(found.profile);
      if (!changed.ok) return changed;
      const { set, del } = extra(found.profile);
      const news = await changedNews(store, accountId, [found.profile, changed.value], clock.now());
      const done = await commitOnce(store, {
        check: [{ key, version: found.version }],
        set: [{ key, value: encodeProfile(changed.value) }, ...set, ...news],
        del,
      });
      return withValue(done, changed.value);
    });
  }

  function newRow(accountId: string, email: string, emailVerified: boolean): SetRow {
    const profile = newProfile(random, email, emailVerified);
    return { key: profileKey(accountId), value: encodeProfile(profile) };
  }

  return {
    newRow,
    /**
     * Returns the row of an account whose mail address counts as verified: it was proved, or the operator made
     * the account.
     */
    created: (accountId: string, email: string): readonly SetRow[] => [
      newRow(accountId, email, true),
    ],
    /** Returns the check and the row for the commit that changes the address of an account. */
    async emailChanged(
      accountId: string,
      email: string,
    ): Promise<{ check: readonly RowCheck[]; set: readonly SetRow[] }> {
      const found = await find(accountId);
      const key = profileKey(accountId);
      // An account without a profile gets one now.
      const check = [{ key, version: found?.version ?? null }];
      if (found === undefined) return { check, set: [newRow(accountId, email, true)] };
      const after = { ...found.profile, email, emailVerified: true };
      const news = await changedNews(store, accountId, [found.profile, after], clock.now());
      return { check, set: [{ key, value: encodeProfile(after) }, ...news] };
    },
    /** Returns the profile, and makes it for an account from before there were profiles. */
    async ensure(
      accountId: string,
      email: string,
      emailVerified: boolean,
    ): Promise<Result<Profile>> {
      const profile = newProfile(random, email, emailVerified);
      const key = profileKey(accountId);
      const set = [{ key, value: encodeProfile(profile) }];
      const check = [{ key, version: null }, erasureCheck(accountId)];
      const done = await store.commit({ check, set });
      if (done.ok) return ok(profile);
      const found = await find(accountId);
      return found === undefined ? fail('store_unavailable') : ok(found.profile);
    },
    find,
    /** Returns undefined when there is no such account any more. */
    load: async (accountId: string): Promise<Profile | undefined> =>
      (await find(accountId))?.profile,
    /** Applies changes that a person typed; `invalid_parameter` names the field. */
    async edit(accountId: string, changes: ProfileChanges): Promise<Result<Profile>> {
      // Loaded here: it brings the telephone numbers of all countries, and no command edits a profile.
      const { editProfile } = await import('./profile-edit.ts');
      return update(accountId, (profile) => editProfile(profile, changes, clock.now()));
    },
    update,
  };
}

export type Profiles = ReturnType<typeof createProfiles>;
