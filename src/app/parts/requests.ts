/** Opens the queues of removal requests and anonymous reports, which the server's pages fill. */

import { deriveKey, type MasterKey } from '../../access/keys/master-key.ts';
import type { Clock } from '../../core/clock.ts';
import {
  createAnonymousReports,
  createRemovals,
  networkMarks,
} from '../../reputation/requests/queue.ts';
import type { Store } from '../../storage/store.ts';

export function openRequests(parts: { store: Store; clock: Clock; masterKey: MasterKey }) {
  return {
    removals: createRemovals(parts),
    anonymousReports: createAnonymousReports(parts),
    networkMark: networkMarks(deriveKey(parts.masterKey, 'networks of requests')),
  };
}
