/** All kinds of journal events that this program reads, whichever capability has them. */

import { accessEvents } from '../access/accounts/events.ts';
import { agentEvents } from '../integrations/crowdsec/events.ts';
import { reputationEvents } from '../reputation/state/events.ts';
import { signedIn } from '../signon/sites/codes.ts';
import type { JournalEvent } from '../storage/journal/define-event.ts';
import type { StoreEvent } from '../storage/store.ts';

export const journalEvents: readonly JournalEvent[] = [
  ...accessEvents,
  ...reputationEvents,
  ...agentEvents,
  signedIn,
];

const byKind = new Map(journalEvents.map((each) => [each.kind, each]));

/** Returns the description of an event; undefined if this program does not know its kind. */
export function journalEvent({ kind }: Pick<StoreEvent, 'kind'>): JournalEvent | undefined {
  return byKind.get(kind);
}

/** Returns false for an event of a newer program. */
export function canRead({ kind, version }: Pick<StoreEvent, 'kind' | 'version'>): boolean {
  return byKind.get(kind)?.since[version] !== undefined;
}
