/** Personal data in webhooks, for the export and for the deletion of an account. */

import { removeWebhooks, webhooksOf } from '../../../reputation/webhooks/hooks.ts';
import { dateText, type PersonalData } from '../../../signon/people/deletion/deletion.ts';
import type { Store } from '../../../storage/store.ts';

export function webhookPersonalData(store: Store): PersonalData {
  return {
    name: 'webhooks',
    async exportOf(accountId) {
      const hooks = await webhooksOf(store, accountId);
      return hooks.map((hook) => ({ ...hook, createdAt: dateText(hook.createdAt) }));
    },
    erase: (accountId) => removeWebhooks(store, accountId),
  };
}
