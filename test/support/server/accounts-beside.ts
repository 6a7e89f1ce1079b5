/** Accounts and keys in the process of the test, on the store of a server that runs: as a command changes them. */

import { type Accounts, createAccounts } from '../../../src/access/accounts/accounts.ts';
import { type ApiKeys, createApiKeys } from '../../../src/access/keys/api-keys.ts';
import { loadMasterKey } from '../../../src/access/keys/master-key.ts';
import { systemClock } from '../../../src/core/clock.ts';
import { systemRandom } from '../../../src/core/random.ts';
import { createProfiles } from '../../../src/signon/people/profile/profile-store.ts';
import { openStoreBeside } from './shared-store.ts';

export function accountsBeside(dataDir: string): AsyncDisposable & {
  readonly accounts: Accounts;
  readonly apiKeys: ApiKeys;
} {
  const clock = systemClock();
  const random = systemRandom();
  const masterKey = loadMasterKey({ dataDir, strict: true, random });
  const store = openStoreBeside(dataDir, clock);
  const { created } = createProfiles({ store, clock, random });
  const tools = { store, clock, random, beside: created };
  const accounts = createAccounts(tools);
  return {
    accounts,
    apiKeys: createApiKeys({ ...tools, masterKey, accounts }),
    [Symbol.asyncDispose]: () => store.close(),
  };
}
