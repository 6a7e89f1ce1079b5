/**
 * The state in memory for commands that only read: loaded as at a start and brought up to the journal's end.
 * Nothing is written, and a server may run at the same time.
 */

import type { Config } from '../config.ts';
import type { Clock } from '../core/clock.ts';
import { OperatorError } from '../core/errors.ts';
import { createLog } from '../core/log.ts';
import type { Random } from '../core/random.ts';
import { createGeoFragments } from '../geo/fragments.ts';
import { openGeoReader } from '../geo/reader.ts';
import { createEvidence } from '../reputation/address/evidence.ts';
import { openCheck } from '../reputation/check/check.ts';
import type { Memory } from '../reputation/operations.ts';
import type { Store } from '../storage/store.ts';
import { openGeoTables, placesIn } from './parts/data.ts';
import { openState, type State, type StateOptions } from './state.ts';

export interface OfflineStateOptions {
  /** A store that discards writes: what the state tidies up while it loads is not kept. */
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
}

/** Returns the state as of the last checkpoint; its follower continues from there. */
export function openOfflineState(
  options: OfflineStateOptions,
  more: Pick<StateOptions, 'placeOf'> = {},
): Promise<State> {
  const log = createLog('silent');
  return openState({ ...options, ...more, log, onFailure() {} });
}

/** @throws OperatorError when memory can't be brought up to the journal */
export async function withMemory<T>(
  options: OfflineStateOptions & { readonly config: Config; readonly lastSeq: bigint },
  read: (memory: Memory) => T,
): Promise<T> {
  const { store, clock, random, config, lastSeq } = options;
  const tables = openGeoTables({ config, log: createLog('silent') });
  const state = await openOfflineState({ store, clock, random }, { placeOf: placesIn(tables) });
  state.follower.start();
  try {
    await state.follower.catchUpTo(lastSeq).catch((error: Error) => {
      throw new OperatorError(
        `memory can't be brought up to the journal (${error.message}): a server that starts here does it, or says why not`,
      );
    });
    const { index, sources } = state;
    const { counts } = state.counting;
    const check = openCheck({ index, geo: createGeoFragments(openGeoReader(tables)) });
    const { contributions } = state.entries;
    const evidence = createEvidence({ index, contributions, sources, check });
    return read({ check, evidence, counts });
  } finally {
    await state.follower.stop();
  }
}
