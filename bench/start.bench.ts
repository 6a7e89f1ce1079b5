/**
 * The start with a full table: from the snapshot of the last stop, and rebuilt from the pages in
 * the store. The file systems' caches are warm. Medians over rounds.
 */

import { copyFileSync } from 'node:fs';
import { createLog } from '../src/core/log.ts';
import { takeSnapshot } from '../src/state-snapshot.ts';
import { readCheckpointSeq } from '../src/store/projection.ts';
import { openJournalStore } from './journal-data.ts';
import type { BenchRow } from './row.ts';

const sizes = {
  tiny: { rows: 5_000, rounds: 1 },
  full: { rows: 1_000_000, rounds: 7 },
} as const;
const goals = { index: 50, snapshot: undefined, rebuild: 1_500 };

export async function run(size: 'tiny' | 'full'): Promise<BenchRow[]> {
  const { rows, rounds } = sizes[size];
  const entriesMax = 2 * rows;
  const journal = openJournalStore(entriesMax);
  const { snapshotPath } = journal;
  const kept = `${snapshotPath}.kept`;
  const log = createLog('fatal');
  try {
    await journal.load(rows);
    const first = await journal.open({ snapshot: true });
    first.start();
    await first.follower.catchUpTo(await journal.store.lastSeq());
    await first.stop();
    copyFileSync(snapshotPath, kept);
    const times = { index: [] as number[], snapshot: [] as number[], rebuild: [] as number[] };
    const sequence = await readCheckpointSeq(journal.store);
    for (let round = 0; round < rounds; round++) {
      copyFileSync(kept, snapshotPath);
      times.index.push(
        await timed(async () => {
          takeSnapshot({ path: snapshotPath, entriesMax, sequence, log });
        }),
      );
      copyFileSync(kept, snapshotPath);
      times.snapshot.push(await timed(() => opened(journal.open({ snapshot: true }), rows)));
      times.rebuild.push(await timed(() => opened(journal.open(), rows)));
    }
    const row = (name: string, part: keyof typeof times): BenchRow => {
      const ours = Number(median(times[part]).toFixed(1));
      const goal = goals[part];
      return {
        name: `${name}, ${rows.toLocaleString('en-US')} entries`,
        unit: 'ms',
        ours,
        ...(goal === undefined ? {} : { goal: `<= ${goal}`, ok: ours <= goal }),
      };
    };
    return [
      row('read the snapshot', 'index'),
      row('the state from the snapshot', 'snapshot'),
      row('the state rebuilt from the store', 'rebuild'),
    ];
  } finally {
    await journal.close();
  }
}

async function opened(
  opening: Promise<{ index: { size(): number } }>,
  rows: number,
): Promise<void> {
  const { index } = await opening;
  if (index.size() !== rows) throw new Error(`${index.size()} entries instead of ${rows}`);
}

async function timed(run: () => Promise<void>): Promise<number> {
  const startMs = performance.now();
  await run();
  return performance.now() - startMs;
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1]!;
}
