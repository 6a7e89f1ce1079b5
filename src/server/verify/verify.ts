/** All that can be looked at in a data directory, at one moment; beside a running server too. */

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../core/clock.ts';
import type { Random } from '../../core/random.ts';
import { openTables } from '../../store/lmdb-environment.ts';
import { idFile, snapshotFile } from '../../store/presence.ts';
import { createFindings, type Findings } from '../../store/verify/findings.ts';
import { type RowsSeen, verifyRows } from '../../store/verify/rows.ts';
import { openView } from '../../store/view.ts';
import { verifyOrigins } from './origins.ts';
import { verifyState } from './state.ts';

export interface VerifiedStore {
  readonly findings: Findings;
  readonly seen: RowsSeen;
  readonly journalPosition: number;
}

export async function verifyDataDir(options: {
  dataDir: string;
  /** The store's directory. */
  path: string;
  clock: Clock;
  random: Random;
  onProgress?: (rows: number, rowsAbout: number) => void;
}): Promise<VerifiedStore> {
  const { dataDir, path, clock, random, onProgress } = options;
  const findings = createFindings();
  const tables = openTables(path);
  const view = openView(tables);
  try {
    const idPath = join(dataDir, idFile);
    const storeId = existsSync(idPath) ? readFileSync(idPath, 'latin1').trim() : undefined;
    const rows = { view, findings, nowMs: clock.now(), storeId };
    const seen = await verifyRows(onProgress === undefined ? rows : { ...rows, onProgress });
    await verifyOrigins(rows);
    const snapshotPath = join(dataDir, snapshotFile);
    await verifyState({ view, findings, clock, random, snapshotPath });
    if (seen.unsealed > 0) {
      findings.note(`${seen.unsealed} rows are of a version that wrote no checksums`);
    }
    return { findings, seen, journalPosition: view.counters.lastSeq };
  } finally {
    view.release();
    await tables.root.close();
  }
}
