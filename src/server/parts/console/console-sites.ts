/** Sign-on sites as the operators' console shows and blocks them: by what the commands use. */

import type { ConsoleSites } from '../../../console/people/sites.route.ts';
import type { Clock } from '../../../core/clock.ts';
import { createTurns } from '../../../core/work/turns.ts';
import type { BlockedSites } from '../../../signon/sites/clients/blocked-sites.ts';
import { createSiteList } from '../../../signon/sites/clients/site-list.ts';
import type { Store } from '../../../store/store.ts';
import type { SignInCounts } from '../../memory/sign-in-counts.ts';

export function consoleSites(parts: {
  readonly store: Store;
  readonly clock: Clock;
  readonly blocked: BlockedSites;
  readonly signIns: Pick<SignInCounts, 'sums'>;
}): ConsoleSites {
  const { block, unblock } = parts.blocked;
  const list = createSiteList({
    ...parts,
    pace: () => createTurns(),
    signIns: async (nowMs) => parts.signIns.sums(nowMs),
  });
  return { page: list.page, block, unblock };
}
