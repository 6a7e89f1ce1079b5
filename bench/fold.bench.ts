/**
 * Rows per second from the journal into the index, and how long the event loop is held meanwhile:
 * while a list is applied, checkpointed, loaded again beside checkpoints, and taken back. The
 * least of the rounds' longest pauses is shown: the others hold what a busy machine did.
 */

import type { State } from '../src/app/state.ts';
import { systemClock } from '../src/core/clock.ts';
import { createLog } from '../src/core/log.ts';
import { createIpIndex } from '../src/index/ip-index.ts';
import type { IndexPrefix } from '../src/index/prefix.ts';
import { loadList } from '../src/reputation/lists/load-list.ts';
import draw from '../src/reputation/radar/map.worker.ts';
import {
  listBegun,
  listEnded,
  type RowBatch,
  rowsPerEventMax,
} from '../src/reputation/state/events.ts';
import { openLmdbStore } from '../src/storage/lmdb/store.ts';
import { batchOf } from '../test/support/reputation/random-journal.ts';
import { seededRandom } from '../test/support/seeded.ts';
import { makeTempDir } from '../test/support/server/temp-dir.ts';
import { clustered, clustered6, dice, sparse } from './index-table.ts';
import { openStateOn } from './open-state.ts';
import { type Pauses, watchPauses } from './pauses.ts';
import { type BenchRow, median, rowAtMost } from './row.ts';
import { cpuSecondsOf } from './work.ts';

const clock = systemClock();
const log = createLog('fatal');

type JournalStore = ReturnType<typeof openJournalStore>;

/** A store whose journal is one list of many rows, as `portcullis seed` writes it. */
function openJournalStore(entriesMax: number) {
  const directory = makeTempDir('bench-journal');
  const store = openLmdbStore({ path: `${directory.path}/store`, clock, log });
  let loads = 0;
  return {
    store,
    open: (checkpointMs?: number) => openStateOn(store, entriesMax, checkpointMs),
    /** Loads a list of `rows` distinct rows; the same ones each time. */
    async load(rows: number): Promise<void> {
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
    async [Symbol.asyncDispose](): Promise<void> {
      await store.close();
      directory.remove();
    },
  };
}

/** Six in ten clustered IPv4, three scattered, one IPv6, in no order. */
function* batches(rows: number): Generator<RowBatch> {
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
    yield batchOf(batch.map((one, i) => ({ prefix: one, score: 50 + (i % 50) })));
    batch = [];
  }
}

const sizes = {
  tiny: { rows: 5_000, rounds: 1, maps: 2 },
  full: { rows: 1_000_000, rounds: 3, maps: 15 },
} as const;
const [pauseMsGoal, mapGoalMs] = [10, 100];
const besideMs = 200;

export async function run(size: 'tiny' | 'full'): Promise<BenchRow[]> {
  const { rows, rounds, maps } = sizes[size];
  const measured: Phases[] = [];
  for (let round = 0; round < rounds; round++) {
    measured.push(await measure(rows));
  }
  const phase = (name: string, of: (phases: Phases) => Pauses): BenchRow[] => {
    const pauses = measured.map(of);
    const best = pauses.toSorted((a, b) => a.max - b.max)[0]!;
    const rate = Math.max(...pauses.map(({ elapsedMs }) => (rows * 1_000) / elapsedMs));
    return [
      { name: `${name}: rate`, unit: 'rows/s', ours: Math.round(rate) },
      {
        ...rowAtMost(`${name}: longest pause`, 'ms', best.max, pauseMsGoal),
        ours: Number(best.max.toFixed(2)),
        p99: Number(best.p99.toFixed(2)),
      },
    ];
  };
  return [
    ...phase('apply', (p) => p.applied),
    ...phase('checkpoint', (p) => p.checkpoint),
    ...phase('apply again beside checkpoints', (p) => p.again),
    ...phase('take a list back', (p) => p.swept),
    await drawing(rows, maps),
  ];
}

/** What the thread that draws the map of the radar works for one map: all entries counted, two pictures made. */
async function drawing(rows: number, maps: number): Promise<BenchRow> {
  await using journal = openJournalStore(2 * rows);
  await journal.load(rows);
  const state = await journal.open();
  await catchUp(journal, state);
  const reader = state.index.openReader();
  if (reader === undefined) throw new Error('no reader is left in the index');
  const times: number[] = [];
  for (let i = 0; i < maps; i++) {
    const seconds = await cpuSecondsOf(() => {
      const { pictures } = draw({ reader, nowMs: Date.now() });
      if (Object.values(pictures).some(({ length }) => length === 0)) throw new Error('no picture');
    });
    times.push(1_000 * seconds);
  }
  await state.stop();
  const name = `the map of the radar, ${rows.toLocaleString('en-US')} entries: processor time`;
  return {
    ...rowAtMost(name, 'ms', median(times), mapGoalMs),
    note: `off the answering threads; the first time ${times[0]!.toFixed(0)} ms, the longest ${Math.max(...times).toFixed(0)}`,
  };
}

type Phases = Awaited<ReturnType<typeof measure>>;

async function measure(rows: number) {
  await using journal = openJournalStore(2 * rows);
  await journal.load(rows);
  const first = await journal.open();
  const applied = await watchPauses(() => catchUp(journal, first));
  const checkpoint = await watchPauses(() => first.checkpoint());
  await first.follower.stop();
  await journal.load(rows);
  const second = await journal.open(besideMs);
  const again = await watchPauses(() => catchUp(journal, second));
  // Ended by a run that brings nothing.
  const ref = { list: 'seed', source: 'bench', run: 'none' } as const;
  const begun = listBegun.encode('begun', { ref, holdDays: 30 });
  const ended = listEnded.encode('ended', { ref });
  const swept = await watchPauses(async () => {
    const result = await journal.store.commit({ events: [begun, ended] });
    await second.follower.catchUpTo(result.seq);
  });
  if (second.index.size() !== 0) throw new Error('rows were left');
  await second.stop();
  return { applied, checkpoint, again, swept };
}

async function catchUp(journal: JournalStore, state: State): Promise<void> {
  state.start();
  await state.follower.catchUpTo(await journal.store.lastSeq());
}
