/** Requests about an address: the queues of removal requests and anonymous reports, and the forms that fill them. */

import { deriveKey, type MasterKey } from '../../access/keys/master-key.ts';
import type { Store } from '../../storage/store.ts';
import { createAnonymousReports, createRemovals, networkTags } from './queue.ts';
import { type RequestNeeds, requestRoutes } from './requests.route.ts';

export function openRequests(
  needs: RequestNeeds & { readonly store: Store; readonly masterKey: MasterKey },
) {
  return {
    routes: requestRoutes({
      ...needs,
      removals: createRemovals(needs),
      anonymousReports: createAnonymousReports(needs),
      networkTag: networkTags(deriveKey(needs.masterKey, 'networks of requests')),
    }),
  };
}
