/**
 * Keeps the policy of votes, as the journal last said it, in the header of the checkpoint:
 * a store of data format 1 has none and begins with the default.
 */

import type { Reader, Writer } from '../../store/codec.ts';
import { readPolicy, writePolicy } from '../state/events.ts';
import { defaultPolicy, type Policy } from './quorum.ts';

export interface PolicyKeeper {
  get(): Policy;
  set(policy: Policy): void;
  encode(out: Writer): void;
  load(input: Reader): void;
}

/** @param touch called before anything changes, for the checkpoint */
export function createPolicyKeeper(touch: () => void): PolicyKeeper {
  let policy = defaultPolicy;
  return {
    get: () => policy,
    set(next) {
      touch();
      policy = next;
    },
    encode: (out) => writePolicy(out, policy),
    load(input) {
      if (input.remaining() > 0) policy = readPolicy(input);
    },
  };
}
