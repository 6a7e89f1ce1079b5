/** `portcullis migrate`: the embedded store into a shared database, or back. */

import type { Clock } from '../../core/clock.ts';
import { OperatorError } from '../../core/errors.ts';
import { openingOf, readMasterKey } from '../../operations/workspace.ts';
import { createRowProgress, type Progress } from '../../reputation/lists/import/progress.ts';
import {
  type MoveResult,
  type MoveRun,
  moveToEmbedded,
  moveToPostgres,
} from '../../storage/moving/run.ts';
import { columns, createOutput, grouped } from '../shell/output.ts';

export interface MigrateFlags {
  readonly json?: boolean;
}

export const moveForward = (flags: MigrateFlags) => run(moveToPostgres, flags);
export const moveBack = (flags: MigrateFlags) => run(moveToEmbedded, flags);

async function run(
  moveWith: (run: MoveRun) => Promise<MoveResult>,
  flags: MigrateFlags,
): Promise<void> {
  const output = createOutput(flags.json === true);
  const { config, opening } = openingOf();
  const { dataDir, databaseUrl } = config;
  if (databaseUrl === undefined) {
    throw new OperatorError('set DATABASE_URL, and what else a node needs (docs/CLUSTER.md)');
  }
  const { clock, random, log } = opening;
  const { id: masterKeyId } = readMasterKey(config, random, true);
  const bars = createBars(output.json, clock);
  const place = { dataDir, databaseUrl, masterKeyId, clock, random, log };
  const moved = await moveWith({ ...place, onProgress: bars.update }).finally(bars.stop);
  if (moved === undefined) {
    output.line('moved before: nothing is left to do');
    output.result({ moved: false });
    return;
  }
  const { seq, rows, tallies, resumedAt } = moved;
  for (const line of columns([
    ['kind', 'rows', 'SHA-256, the same on both sides'],
    ...tallies.map(({ name, rows: count, sha256 }) => [name, grouped(count), sha256]),
  ])) {
    output.line(line);
  }
  const before = resumedAt === 0 ? '' : `, ${grouped(resumedAt)} of them by an earlier run`;
  output.line(`moved: ${grouped(rows)} rows${before}, journal position ${grouped(seq)}`);
  output.result({ moved: true, seq, rows, resumedAt, kinds: tallies });
}

/** One after the other: looked at, written, compared. */
function createBars(silent: boolean, clock: Clock) {
  let bar: { verb: string; progress: Progress<number> } | undefined;
  return {
    update(verb: string, rows: number, totalRows: number): void {
      if (bar?.verb !== verb) {
        bar?.progress.stop();
        const shared = { stream: process.stderr, silent, label: 'migrate', clock };
        bar = { verb, progress: createRowProgress({ ...shared, totalRows, verb }) };
      }
      bar.progress.update(rows);
    },
    stop: () => bar?.progress.stop(),
  };
}
