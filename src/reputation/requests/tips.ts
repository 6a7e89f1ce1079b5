/**
 * Tips: what somebody without an account, or without a key, says of an address. A tip counts for nothing
 * until an operator reports the address. Who sent it is not kept; queue.ts says what a row tells of it.
 */

import { tipKey, tipPrefix } from '../../store/keys.ts';
import { bareRecord, text, time, u32 } from '../../store/record.ts';
import {
  type AddressQueue,
  type Asker,
  askerFields,
  createAddressQueue,
  type QueueOptions,
} from './queue.ts';

export interface Tip extends Asker {
  readonly at: number;
  /** Bit n for category n. */
  readonly categories: number;
  /** As a report's; empty when there was none. */
  readonly comment: string;
}

export type Tips = AddressQueue<Tip>;

const codec = bareRecord<Tip>({ at: time, categories: u32, comment: text, ...askerFields });

export function createTips(options: QueueOptions): Tips {
  const rows = { name: 'tips', codec, keyOf: tipKey, prefix: tipPrefix } as const;
  return createAddressQueue(options, rows);
}
