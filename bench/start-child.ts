/**
 * One start in a process of its own, as it is for an operator: nothing compiled, nothing to
 * collect. `start-child <directory> <entries at most> index|read|snapshot|rebuild` prints
 * milliseconds and entries.
 */

import { takeSnapshot } from '../src/app/state.ts';
import { createLog } from '../src/core/log.ts';
import { loadSnapshot } from '../src/index/snapshot.ts';
import { readCheckpointSeq } from '../src/storage/journal/projection.ts';
import { openJournalStore } from './journal-data.ts';

const [directory = '', entries = '', mode = ''] = process.argv.slice(2);
const entriesMax = Number(entries);
const journal = openJournalStore(entriesMax, directory);
const sequence = await readCheckpointSeq(journal.store);
const startMs = performance.now();
let size: number | undefined;
if (mode === 'index') {
  const loaded = loadSnapshot(`${directory}/index-alone`, { entriesMax });
  size = loaded.ok ? loaded.value.index.size() : undefined;
} else if (mode === 'read') {
  const log = createLog('fatal');
  const taken = takeSnapshot({ path: journal.snapshotPath, entriesMax, sequence, log });
  size = taken.parts?.index.size();
} else {
  const state = await journal.open({ snapshot: mode === 'snapshot' });
  size = state.index.size();
}
const ms = performance.now() - startMs;
process.stdout.write(JSON.stringify({ ms, size }));
await journal.close();
