/** Accounts and keys in the process of the test, on the store of a server that runs: as a command changes them. */

import { type Accounts, createAccounts } from '../../../src/access/accounts/accounts.ts';
import { loadMasterKey } from '../../../src/access/keys/master-key.ts';
import { systemClock } from '../../../src/core/clock.ts';
import { systemRandom } from '../../../src/core/random.ts';
import { profileExtraRows } from '../../../src/signon/people/profile/profile-extra-rows.ts';
import { createProfiles } from '../../../src/signon/people/profile/profile-store.ts';
import { openStoreBeside } from './shared-store.ts';

export function accountsBeside(dataDir: string): AsyncDisposable & { readonly accounts: Accounts } {
  const clock = systemClock();
  const random = systemRandom();
  const masterKey = loadMasterKey({ dataDir, strict: true, random });
  const store = openStoreBeside(dataDir, clock);
  const profiles = createProfiles({ store, clock, random });
  const accounts = createAccounts({
    store,
    clock,
    random,
    masterKey,
    beside: profileExtraRows(profiles),
  });
  return {
    accounts,
    [Symbol.asyncDispose]: () => store.close(),
  };
}
