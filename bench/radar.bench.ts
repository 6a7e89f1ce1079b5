/** What the thread that draws the map of the radar works for one map: all entries counted, two pictures made. */

import draw from '../src/reputation/radar/map.worker.ts';
import { openJournalStore } from './journal-data.ts';
import { median } from './median.ts';
import type { BenchRow } from './row.ts';

const sizes = {
  tiny: { rows: 5_000, rounds: 2 },
  full: { rows: 1_000_000, rounds: 15 },
} as const;
const goalMs = 100;

export async function run(size: 'tiny' | 'full'): Promise<BenchRow[]> {
  const { rows, rounds } = sizes[size];
  const journal = openJournalStore(2 * rows);
  try {
    await journal.load(rows);
    const state = await journal.open();
    state.start();
    await state.follower.catchUpTo(await journal.store.lastSeq());
    const reader = state.index.openReader();
    if (reader === undefined) throw new Error('no reader is left in the index');
    const times = Array.from({ length: rounds }, () => {
      const before = process.cpuUsage();
      const { pictures } = draw({ reader, nowMs: Date.now() });
      const { user, system } = process.cpuUsage(before);
      if (Object.values(pictures).some(({ length }) => length === 0)) throw new Error('no picture');
      return (user + system) / 1_000;
    });
    await state.stop();
    const [first, ours] = [times[0]!, median(times)];
    return [
      {
        name: `the map, ${rows.toLocaleString('en-US')} entries: processor time`,
        unit: 'ms',
        ours,
        goal: `≤ ${goalMs}`,
        ok: ours <= goalMs,
        note: `off the answering threads; the first time ${first.toFixed(0)} ms, the longest ${Math.max(...times).toFixed(0)}`,
      },
    ];
  } finally {
    await journal.close();
  }
}
