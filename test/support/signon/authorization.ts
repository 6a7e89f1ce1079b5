/** Sign-on of sites by itself, without accounts and sessions: each session lives, each account is enabled. */

import { masterKeyFromBytes } from '../../../src/access/keys/master-key.ts';
import type { Clock } from '../../../src/core/clock.ts';
import type { Log } from '../../../src/core/log.ts';
import type { Random } from '../../../src/core/random.ts';
import { parseRequestQuery } from '../../../src/signon/module.ts';
import type { Profiles } from '../../../src/signon/people/profile/profile-store.ts';
import {
  type Authorization,
  createAuthorization,
} from '../../../src/signon/sites/authorization.ts';
import type { Store } from '../../../src/storage/store.ts';

/** Under one master key wherever it is opened. */
export function openAuthorization(tools: {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly profiles: Profiles;
}): Authorization {
  return createAuthorization({
    ...tools,
    standing: { sessionAlive: () => true, isActiveAccount: () => true },
    demo: false,
    masterKey: masterKeyFromBytes(new Uint8Array(32)),
    parseQuery: parseRequestQuery,
    avatarUrl: (avatar) => avatar,
  });
}
