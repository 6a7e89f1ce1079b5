/** The part of the checkpoint that belongs to no page. */

import type { AccessReducer } from '../../access/accounts/reducer.ts';
import type { Sources } from '../../reputation/lists/sources.ts';
import type { Refusals } from '../../reputation/reports/refusals.ts';
import type { PolicyKeeper } from '../../reputation/state/reducer.ts';
import type { ProjectionHeader } from '../../storage/projection.ts';

interface HeaderParts {
  readonly sources: Sources;
  readonly access: AccessReducer;
  readonly refusals: Refusals;
  readonly policy: PolicyKeeper;
}

/** Returns the header of the checkpoint record. */
export function headerOf({ sources, access, refusals, policy }: HeaderParts): ProjectionHeader {
  return {
    encode(out) {
      sources.encode(out);
      access.encodeHeader(out);
      refusals.encode(out);
      policy.encode(out);
    },
    load(input) {
      if (!sources.load(input)) return false;
      access.loadHeader(input);
      refusals.load(input);
      policy.load(input);
      return !input.failed();
    },
  };
}
