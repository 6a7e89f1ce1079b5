/**
 * Anonymous reports: what somebody without an account, or without a key, says of an address. One
 * counts for nothing until an operator reports the address. Who sent it is not kept; queue.ts says
 * what a row reveals of it.
 */

import { tipKey, tipPrefix } from '../../storage/keys.ts';
import { bareRecord, text, time, u32 } from '../../storage/record.ts';
import {
  type AddressQueue,
  type Asker,
  askerFields,
  createAddressQueue,
  type QueueOptions,
} from './queue.ts';

export interface AnonymousReport extends Asker {
  readonly at: number;
  /** Bit n for category n. */
  readonly categories: number;
  /** As a report's; empty when there was none. */
  readonly comment: string;
}

export type AnonymousReports = AddressQueue<AnonymousReport>;

const codec = bareRecord<AnonymousReport>({
  at: time,
  categories: u32,
  comment: text,
  ...askerFields,
});

export function createAnonymousReports(options: QueueOptions): AnonymousReports {
  const rows = { name: 'tips', codec, keyOf: tipKey, prefix: tipPrefix } as const;
  return createAddressQueue(options, rows);
}
