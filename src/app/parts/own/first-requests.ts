/** Reports to /connect, which waits for a first request, whether a key of the account was used. */

import type { ApiKeys } from '../../../access/keys/api-keys.ts';
import { keyScopes } from '../../../access/keys/key-scopes.ts';
import type { Usage } from '../../../access/quota/usage.ts';

export interface FirstRequests {
  isBouncerSeen(accountId: string): Promise<boolean>;
  /** Returns how many requests the account's keys made. */
  seenOf(accountId: string): number;
}

export function firstRequests(options: {
  readonly noteKeyUses: () => Promise<void>;
  readonly apiKeys: Pick<ApiKeys, 'list'>;
  readonly usage: Usage;
  readonly standingOf: (accountId: string) => { readonly slot: number } | undefined;
}): FirstRequests {
  return {
    async isBouncerSeen(accountId) {
      await options.noteKeyUses();
      const keys = await options.apiKeys.list(accountId);
      const newest = keys.findLast(({ scopes }) => (scopes & keyScopes.bouncer) !== 0);
      return newest?.use !== undefined;
    },
    seenOf(accountId) {
      const slot = options.standingOf(accountId)?.slot;
      const hours = slot === undefined ? [] : options.usage.of(slot);
      return hours.reduce((sum, { reads, writes }) => sum + reads + writes, 0);
    },
  };
}
