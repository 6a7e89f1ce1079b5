/**
 * Rows per second from the journal into the index, and how long the event loop is held meanwhile:
 * while a list is applied, checkpointed, loaded again beside checkpoints, and taken back. The
 * least of the rounds' longest pauses is shown: the others hold what a busy machine did.
 */

import type { State } from '../src/app/state.ts';
import { listBegun, listEnded } from '../src/reputation/state/events.ts';
import { type JournalStore, openJournalStore } from './journal-data.ts';
import { type Pauses, watchPauses } from './pauses.ts';
import type { BenchRow } from './row.ts';

const sizes = {
  tiny: { rows: 5_000, rounds: 1 },
  full: { rows: 1_000_000, rounds: 3 },
} as const;
const pauseMsGoal = 10;
const besideMs = 200;

export async function run(size: 'tiny' | 'full'): Promise<BenchRow[]> {
  const { rows, rounds } = sizes[size];
  const measured: Phases[] = [];
  for (let round = 0; round < rounds; round++) {
    const journal = openJournalStore(2 * rows);
    try {
      measured.push(await measure(journal, rows));
    } finally {
      await journal.close();
    }
  }
  const phase = (name: string, of: (phases: Phases) => Pauses): BenchRow[] => {
    const pauses = measured.map(of);
    const best = pauses.toSorted((a, b) => a.max - b.max)[0]!;
    const rate = Math.max(...pauses.map(({ elapsedMs }) => (rows * 1_000) / elapsedMs));
    return [
      { name: `${name}: rate`, unit: 'rows/s', ours: Math.round(rate) },
      {
        name: `${name}: longest pause`,
        unit: 'ms',
        ours: Number(best.max.toFixed(2)),
        p99: Number(best.p99.toFixed(2)),
        goal: `<= ${pauseMsGoal}`,
        ok: best.max <= pauseMsGoal,
      },
    ];
  };
  return [
    ...phase('apply', (p) => p.applied),
    ...phase('checkpoint', (p) => p.checkpoint),
    ...phase('apply again beside checkpoints', (p) => p.again),
    ...phase('take a list back', (p) => p.swept),
  ];
}

interface Phases {
  readonly applied: Pauses;
  readonly checkpoint: Pauses;
  readonly again: Pauses;
  readonly swept: Pauses;
}

async function measure(journal: JournalStore, rows: number): Promise<Phases> {
  await journal.load(rows);
  const first = await journal.open();
  const applied = await watchPauses(() => catchUp(journal, first));
  const checkpoint = await watchPauses(() => first.checkpoint());
  await first.follower.stop();
  await journal.load(rows);
  const second = await journal.open({ checkpointMs: besideMs });
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
