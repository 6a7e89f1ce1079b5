/** Where a server says which store it has opened, for whoever was loaded into it before. */

import { channel } from 'node:diagnostics_channel';
import type { Store } from '../../store/store.ts';

export const openedChannel = 'portcullis:store:opened';

export interface OpenedServerStore {
  readonly store: Store;
  readonly dataDir: string;
}

export function announceStore(opened: OpenedServerStore): void {
  channel(openedChannel).publish(opened);
}
