/**
 * One node of the bench of nodes, alone in its process: `cluster-child.js <url> <callers> <ms>`. Says that it
 * is ready, commits from when it is told until the time is over, and tells how many commits were made. Each
 * is a row of its own and an event, as a report or a code is.
 */

import { once } from 'node:events';
import { systemClock } from '../src/core/clock.ts';
import { createLog } from '../src/core/log.ts';
import { systemRandom } from '../src/core/random.ts';
import { createEventId } from '../src/storage/journal/define-event.ts';
import { scratchKey, text } from '../src/storage/keys.ts';
import { openPostgresStore } from '../src/storage/postgres/store.ts';

const [url, callers, ms] = process.argv.slice(2);
const [clock, random] = [systemClock(), systemRandom()];
const store = await openPostgresStore({ url: url!, clock, log: createLog('error') });
const value = Buffer.alloc(80, 7);
const body = Buffer.alloc(40, 7);
let commits = 0;

async function call(endMs: number): Promise<void> {
  while (performance.now() < endMs) {
    const key = scratchKey(text(Buffer.from(random.bytes(12)).toString('hex')));
    const event = { id: createEventId(clock, random), kind: 'bench', version: 1, body };
    const done = await store.commit({
      check: [{ key, version: null }],
      set: [{ key, value }],
      events: [event],
    });
    if (!done.ok) throw new Error(done.error);
    commits += 1;
  }
}

process.send!('ready');
await once(process, 'message');
const startMs = performance.now();
await Promise.all(Array.from({ length: Number(callers) }, () => call(startMs + Number(ms))));
process.send!({ commits, ms: performance.now() - startMs });
await store.close();
process.disconnect();
