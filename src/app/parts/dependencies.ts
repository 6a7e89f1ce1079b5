/** Dependencies of a server and of each of its parts. */

import type { MasterKey } from '../../access/keys/master-key.ts';
import type { Config } from '../../config.ts';
import type { Clock } from '../../core/clock.ts';
import type { Closers } from '../../core/closers.ts';
import type { Log } from '../../core/log.ts';
import type { Random } from '../../core/random.ts';
import type { Timings } from '../../core/timings.ts';
import type { Mail } from '../../signon/mail/letter.ts';
import type { Claim } from '../../storage/lmdb/claim.ts';
import type { Store } from '../../storage/store.ts';

export interface ServerDependencies {
  /** The claim on the data directory. Without one the server takes it and gives it back. */
  readonly claim?: Claim;
  readonly config: Config;
  readonly clock: Clock;
  readonly random: Random;
  readonly masterKey: MasterKey;
  readonly log: Log;
  /** Something broke that only a new process can mend. */
  readonly onFatal: (error: unknown) => void;
  /** Runs when the data directory is ours, before anything is read from it. */
  readonly prepare?: (store: Store) => Promise<void>;
  /** Documentation ranges may be reported. */
  readonly demo?: boolean;
  /** Called for each mail that is written to the outbox; the demo's. */
  readonly onMail?: (mail: Mail) => void;
  /** The last part of the address of the page that shows the outbox; the demo's. */
  readonly outboxName?: string;
  /** Offered on the home page; the demo's. */
  readonly exampleAddresses?: readonly string[];
  /** The site key of the widget on the CAPTCHA page, asked for after `prepare`; only the demo has one. */
  readonly exampleSiteKey?: () => string | undefined;
}

/** Handed to each part: what it opens, it adds to the closers at once. */
export interface Opening extends ServerDependencies {
  readonly closers: Closers;
  /** A row for each front end, and the last one for the main thread. */
  readonly timings: Timings;
}
