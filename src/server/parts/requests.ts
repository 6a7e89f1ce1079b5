/** The queues of what visitors ask and say of addresses, as the server's pages fill them. */

import { deriveKey, type MasterKey } from '../../access/keys/master-key.ts';
import type { Clock } from '../../core/clock.ts';
import { networkMarks } from '../../reputation/requests/queue.ts';
import { createRemovals } from '../../reputation/requests/removals.ts';
import { createTips } from '../../reputation/requests/tips.ts';
import type { Store } from '../../store/store.ts';

export function openRequests(parts: { store: Store; clock: Clock; masterKey: MasterKey }) {
  return {
    removals: createRemovals(parts),
    tips: createTips(parts),
    networkMark: networkMarks(deriveKey(parts.masterKey, 'networks of requests')),
  };
}
