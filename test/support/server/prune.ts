/** The journal of nodes that are stopped, cut as it is for a node that was away for long. */

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { systemClock } from '../../../src/core/clock.ts';
import { readCheckpointSeq } from '../../../src/storage/journal/projection.ts';
import { pruneJournal } from '../../../src/storage/nodes/checkpoints.ts';
import { createLease } from '../../../src/storage/nodes/lease.ts';
import { openPostgresStore } from '../../../src/storage/postgres/store.ts';
import { open as openLocal } from '../../storage/lmdb-opener.ts';
import { memoryLog } from './memory-log.ts';
import type { TestPostgres } from './postgres.ts';
import { within } from './server.ts';

/** Before nodes are stopped: a stop waits only so long for what makes the next start fast. */
export async function waitForCheckpoints(database: TestPostgres, url: string): Promise<void> {
  const behind = `select from nodes, journal_head where not is_stopped and checkpoint_seq < last_seq
                  and seen_at > (select max(seen_at) from nodes) - 60000`;
  await within(
    async () => (await database.ask(url, behind)).rows.length === 0,
    'all that is in the journal is on the disks of the nodes',
  );
}

/** Saves what this node has on its disk as a checkpoint for others, and removes the events before it. */
export async function pruneToCheckpoint(url: string, dataDir: string): Promise<void> {
  const [clock, { log }] = [systemClock(), memoryLog()];
  const local = await openLocal(`${dataDir}/node/store`, clock);
  const store = await openPostgresStore({ url, clock, log });
  const seq = await readCheckpointSeq(local);
  try {
    const lease = createLease({
      store,
      clock,
      boot: randomUUID(),
      aliveMs: 600_000,
      isAlive: async () => false,
    });
    await lease.poll(clock.monotonicMs());
    const events = await pruneJournal({
      store,
      local,
      fence: lease.fence()!,
      everyEvents: 1,
      keepEvents: 0,
      withoutCheckpoint: (work) => work(),
      signal: new AbortController().signal,
    });
    assert.ok(events > 0);
    assert.equal((await store.head()).prunedThrough, seq);
    await lease.release();
  } finally {
    await Promise.all([store.close(), local.close()]);
  }
}
