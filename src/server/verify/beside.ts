/**
 * Memory as the server has it, for commands that read: loaded as at a start and brought up to the journal's
 * end, over a view of the store. Nothing is written, and a server may run beside it.
 */

import type { Config } from '../../config.ts';
import type { Clock } from '../../core/clock.ts';
import { createLog } from '../../core/log/log.ts';
import type { Random } from '../../core/random.ts';
import { createGeoFragments } from '../../geo/fragments.ts';
import { openGeoReader } from '../../geo/reader.ts';
import { createEvidence, type EvidenceReader } from '../../reputation/address/evidence/evidence.ts';
import { type Check, openCheck } from '../../reputation/check/check.ts';
import type { ReportCounts } from '../../reputation/counts/report-counts.ts';
import { viewStore } from '../../store/verify/view-store.ts';
import type { View } from '../../store/view.ts';
import { openGeoTables, placesIn } from '../parts/data.ts';
import { openState, type State, type StateOptions } from '../state.ts';

export interface BesideOptions {
  readonly view: View;
  readonly clock: Clock;
  readonly random: Random;
}

/** As of the last checkpoint; `follower` goes on from there. @param hides keys that are as if they were not there */
export function stateBeside(
  { view, clock, random }: BesideOptions,
  hides?: (key: Uint8Array) => boolean,
  more: Pick<StateOptions, 'placeOf'> = {},
): Promise<State> {
  const store = viewStore(view, clock.now(), hides);
  const log = createLog('silent');
  return openState({ ...more, store, clock, random, log, onFailure() {} });
}

export interface Memory {
  readonly check: Check;
  readonly evidence: EvidenceReader;
  readonly counts: ReportCounts;
}

/** @throws what the follower met, when an event of the journal can't be applied */
export async function withMemory<T>(
  options: BesideOptions & { readonly config: Config },
  read: (memory: Memory) => T,
): Promise<T> {
  const { view, config } = options;
  const tables = openGeoTables({ config, log: createLog('silent') });
  const state = await stateBeside(options, undefined, { placeOf: placesIn(tables) });
  state.follower.start();
  try {
    await state.follower.catchUpTo(BigInt(view.counters.lastSeq));
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
