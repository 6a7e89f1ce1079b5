/**
 * Keeps the policy of votes, as the journal last said it, in the header of the checkpoint:
 * a store of data format 1 has none and begins with the default.
 */

import type { Reader, Writer } from '../../storage/codec.ts';
import { readPolicy, writePolicy } from '../state/events.ts';
import { defaultPolicy, type Policy } from './quorum.ts';

export type PolicyKeeper = ReturnType<typeof createPolicyKeeper>;

/** @param touch called before anything changes, for the checkpoint */
export function createPolicyKeeper(touch: () => void) {
  let policy = defaultPolicy;

  function get(): Policy {
    return policy;
  }

  function set(next: Policy): void {
    touch();
    policy = next;
  }

  function encode(out: Writer): void {
    writePolicy(out, policy);
  }

  function load(input: Reader): void {
    if (input.remaining() > 0) policy = readPolicy(input);
  }

  return { get, set, encode, load };
}
