/**
 * Requests to take back what is said of an address. Who asked is not kept; queue.ts says what a row
 * reveals of it.
 */

import { removalKey, removalPrefix } from '../../storage/keys.ts';
import { bareRecord, flag, text, time } from '../../storage/record.ts';
import {
  type AddressQueue,
  type Asker,
  type AskerStanding,
  askerFields,
  createAddressQueue,
  type QueueOptions,
} from './queue.ts';

export interface Removal extends Asker {
  readonly at: number;
  /** In the words of who asked. */
  readonly reason: string;
  /** It was asked for from the address itself. */
  readonly fromAddress: boolean;
  /** By somebody with a verified account; else with a solved challenge. */
  readonly signedIn: boolean;
}

export type Removals = AddressQueue<Removal>;

export const reasonLengths = { min: 10, max: 1_000 } as const;

const codec = bareRecord<Removal>({
  at: time,
  reason: text,
  fromAddress: flag,
  signedIn: flag,
  ...askerFields,
});

export function standingOf(from: Pick<Removal, 'fromAddress' | 'signedIn'>): AskerStanding {
  if (from.fromAddress) return 'from_address';
  return from.signedIn ? 'signed_in' : 'anyone';
}

/**
 * Reads the reason that was typed; undefined: too short or too long. Control characters become
 * spaces.
 */
export function readReason(typed: string): string | undefined {
  const reason = typed.replace(/\p{C}+/gu, ' ').trim();
  const { length } = Array.from(reason);
  return length < reasonLengths.min || length > reasonLengths.max ? undefined : reason;
}

export function createRemovals(options: QueueOptions): Removals {
  const rows = { name: 'removals', codec, keyOf: removalKey, prefix: removalPrefix } as const;
  return createAddressQueue(options, rows);
}
