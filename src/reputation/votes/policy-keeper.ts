/** Keeps the policy of votes, as the journal last said it, in the header of the checkpoint. */

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
    policy = readPolicy(input);
  }

  return { get, set, encode, load };
}
