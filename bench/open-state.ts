/** The state of a server on a store of a bench. */

import { openState, type State } from '../src/app/state.ts';
import { systemClock } from '../src/core/clock.ts';
import { createLog } from '../src/core/log.ts';
import type { Store } from '../src/storage/store.ts';
import { seededRandom } from '../test/support/seeded.ts';

const neverMs = 2 ** 30;

/** Opens a state that writes no checkpoint unasked. */
export function openStateOn(
  store: Store,
  entriesMax: number,
  checkpointMs = neverMs,
): Promise<State> {
  const [clock, random, log] = [systemClock(), seededRandom(1), createLog('fatal')];
  function onFailure(error: unknown): never {
    throw error;
  }
  return openState({ store, clock, random, log, entriesMax, checkpointMs, onFailure });
}
