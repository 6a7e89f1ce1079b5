/** A store whose journal is one list of many rows, as `portcullis seed` writes it. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openState, type State } from '../src/app/state.ts';
import { systemClock } from '../src/core/clock.ts';
import { createLog } from '../src/core/log.ts';
import { seededRandom } from '../src/core/random.ts';
import { createIpIndex } from '../src/index/ip-index.ts';
import type { IndexPrefix } from '../src/index/prefix.ts';
import { loadList } from '../src/reputation/lists/load-list.ts';
import { type RowBatch, rowsPerEventMax } from '../src/reputation/state/events.ts';
import { openLmdbStore } from '../src/storage/lmdb/store.ts';
import type { Store } from '../src/storage/store.ts';
import { clustered, clustered6, dice, sparse } from './index-data.ts';

const clock = systemClock();
const log = createLog('fatal');

export interface JournalStore {
  readonly directory: string;
  readonly store: Store;
  readonly snapshotPath: string;
  /** A state on it that writes no checkpoint unasked. */
  open(options?: { snapshot?: boolean; checkpointMs?: number }): Promise<State>;
  /** Loads a list of `rows` distinct rows; the same ones each time. */
  load(rows: number): Promise<void>;
  close(): Promise<void>;
}

const neverMs = 2 ** 30;

/** @param at a directory that has one, made otherwise; it is removed by whoever made it */
export function openJournalStore(entriesMax: number, at?: string): JournalStore {
  const directory = at ?? mkdtempSync(join(tmpdir(), 'portcullis-bench-journal-'));
  const store = openLmdbStore({ path: join(directory, 'store'), clock, log });
  const snapshotPath = join(directory, 'index.snapshot');
  let loads = 0;
  return {
    directory,
    store,
    snapshotPath,
    open({ snapshot = false, checkpointMs = neverMs } = {}) {
      return openState({
        store,
        clock,
        random: seededRandom(1),
        log,
        entriesMax,
        checkpointMs,
        onFailure(error) {
          throw error;
        },
        ...(snapshot ? { snapshotPath } : {}),
      });
    },
    async load(rows) {
      const result = await loadList({
        store,
        clock,
        random: seededRandom(1_000 + loads++),
        list: 'seed',
        source: 'bench',
        holdDays: 30,
        batches: [...batches(rows)],
        onRows: () => {},
      });
      if (!result.ok) throw new Error(result.error);
    },
    async close() {
      await store.close();
      if (at === undefined) rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** Six in ten clustered IPv4, three scattered, one IPv6, in no order. */
export function* batches(rows: number): Generator<RowBatch> {
  const rolls = dice(11);
  const kinds = [clustered(dice(1)), sparse(dice(2)), clustered6(dice(3))] as const;
  // An index tells the rows seen before: a set of texts would leave its garbage to the measured.
  const seen = createIpIndex({ entriesMax: rows + 1 });
  let batch: IndexPrefix[] = [];
  while (seen.size() < rows) {
    const roll = rolls.next();
    const prefix = kinds[roll < 0.6 ? 0 : roll < 0.9 ? 1 : 2].next().value as IndexPrefix;
    const before = seen.size();
    seen.insert(prefix);
    if (seen.size() === before) continue;
    batch.push(prefix);
    if (batch.length < rowsPerEventMax && seen.size() < rows) continue;
    yield packed(batch);
    batch = [];
  }
}

function packed(prefixes: readonly IndexPrefix[]): RowBatch {
  const batch = {
    count: prefixes.length,
    families: Uint8Array.from(prefixes, ({ family }) => family),
    words: new Uint32Array(4 * prefixes.length),
    lengths: Uint8Array.from(prefixes, ({ length }) => length),
    scores: Uint8Array.from(prefixes, (_, i) => 50 + (i % 50)),
  };
  for (const [i, { words }] of prefixes.entries()) batch.words.set(words, 4 * i);
  return batch;
}
