/**
 * The start with a full table: from the snapshot of the last stop, and rebuilt from the pages in
 * the store. Each in a process of its own, files in the system's cache. Medians over rounds.
 */

import { spawnSync } from 'node:child_process';
import { copyFileSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { saveSnapshot } from '../src/index/snapshot.ts';
import { type JournalStore, openJournalStore } from './journal-data.ts';
import { median } from './median.ts';
import type { BenchRow } from './row.ts';

const sizes = {
  tiny: { rows: 5_000, rounds: 1 },
  full: { rows: 1_000_000, rounds: 7 },
} as const;
const modes = {
  index: { name: 'the index alone from a snapshot', goalMs: 50 },
  read: { name: 'read the snapshot with all arrays', goalMs: undefined },
  snapshot: { name: 'the state from the snapshot', goalMs: undefined },
  rebuild: { name: 'the state rebuilt from the store', goalMs: 1_500 },
} as const;

type Mode = keyof typeof modes;

export async function run(size: 'tiny' | 'full'): Promise<BenchRow[]> {
  const { rows, rounds } = sizes[size];
  const journal = openJournalStore(2 * rows);
  try {
    await journal.load(rows);
    const first = await journal.open({ snapshot: true });
    first.start();
    await first.follower.catchUpTo(await journal.store.lastSeq());
    await first.stop();
    copyFileSync(journal.snapshotPath, keptPath(journal));
    await saveSnapshot(first.index, `${journal.directory}/index-alone`, () => ({ sequence: 1n }));
    // One process has a store open: from here on each child does.
    await journal.store.close();
    const names = Object.keys(modes) as Mode[];
    const times: Record<Mode, number[]> = { index: [], read: [], snapshot: [], rebuild: [] };
    for (let round = 0; round < rounds; round++) {
      for (const mode of names) times[mode].push(startOnce(journal, rows, mode));
    }
    return names.map((mode): BenchRow => {
      const { name, goalMs } = modes[mode];
      const ours = Number(median(times[mode]).toFixed(1));
      const title = `${name}, ${rows.toLocaleString('en-US')} entries`;
      const goal = goalMs === undefined ? {} : { goal: `<= ${goalMs}`, ok: ours <= goalMs };
      return { name: title, unit: 'ms', ours, ...goal };
    });
  } finally {
    rmSync(journal.directory, { recursive: true, force: true });
  }
}

const keptPath = (journal: JournalStore) => `${journal.directory}/kept`;

function startOnce(journal: JournalStore, rows: number, mode: Mode): number {
  copyFileSync(keptPath(journal), journal.snapshotPath);
  const child = fileURLToPath(new URL('./start-child.js', import.meta.url));
  const args = [child, journal.directory, String(2 * rows), mode];
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  if (stdout === '') throw new Error(stderr);
  const { ms, size } = JSON.parse(stdout) as { ms: number; size: number };
  if (size !== rows) throw new Error(`${size} entries instead of ${rows}`);
  return ms;
}
