/** What the contract suite needs to know about an implementation: how to make and open a store. */

import type { Clock } from '../../src/core/clock.ts';
import type { Store } from '../../src/storage/store.ts';

interface StoreLocation {
  /** Opens the same data again; where it is shared, also from several processes at once. */
  readonly location: string;
  destroy(): Promise<void>;
}

export interface StoreFactory {
  readonly name: string;
  /** Whether several processes may have it open. */
  readonly isShared: boolean;
  create(): Promise<StoreLocation>;
  open(location: string, clock: Clock): Promise<Store>;
  /** Compiled module that exports `open` as above, for child processes. */
  readonly opener: URL;
}

export interface OpenerModule {
  open(location: string, clock: Clock): Promise<Store>;
}
