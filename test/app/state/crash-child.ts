/**
 * Child of the crash rounds: the state with frequent checkpoints, and a stream of commits of all
 * kinds, until it is killed. Prints `<event id> <seq>` for each acknowledged commit.
 */

import { openState } from '../../../src/app/state.ts';
import { systemClock } from '../../../src/core/clock.ts';
import { createLog } from '../../../src/core/log.ts';
import { openLmdbStore } from '../../../src/storage/lmdb/store.ts';
import type { NewEvent } from '../../../src/storage/store.ts';
import { encodeEvent } from '../../support/reputation/events.ts';
import { createRandomJournal } from '../../support/reputation/random-journal.ts';
import { seededRandom } from '../../support/seeded.ts';
import { crashEntriesMax, crashPoolSeed, crashPoolSize } from './crash-plan.ts';

const [directory, round] = process.argv.slice(2);
const random = seededRandom(1_000 + Number(round));
const clock = systemClock();
const log = createLog('fatal');
const inFlight = 32;
const store = openLmdbStore({ path: directory!, clock, log });
const state = await openState({
  store,
  clock,
  random,
  log,
  entriesMax: crashEntriesMax,
  checkpointMs: 10,
  snapshotPath: `${directory}/index.snapshot`,
  onFailure(error) {
    process.stderr.write(`${error}\n`);
    process.exit(1);
  },
});
state.start();
await state.follower.catchUpTo(await store.lastSeq());

// One pool of prefixes in all rounds, so that they meet what earlier rounds left.
const journal = createRandomJournal({
  random: seededRandom(crashPoolSeed),
  next: random,
  name: `r${round}`,
  poolSize: crashPoolSize,
});
let count = 0;

function nextEvent(id: string): NewEvent {
  const account = `a${Math.floor(random.next() * 300)}`;
  const choice = random.next();
  if (choice < 0.1)
    return encodeEvent(id, { kind: 'account.created', account, verified: true, slot: 'now' });
  if (choice < 0.2) {
    const hash = random.bytes(32);
    return encodeEvent(id, {
      kind: 'key.created',
      account,
      key: id,
      hash,
      facts: new Uint8Array(),
    });
  }
  return encodeEvent(id, journal.next().event);
}

async function commitOnce(): Promise<void> {
  const id = `r${round}-${count++}`;
  const result = await store.commit({ events: [nextEvent(id)] });
  if (!result.ok) throw new Error(result.error);
  process.stdout.write(`${id} ${result.seq}\n`);
}

await Promise.all(
  Array.from({ length: inFlight }, async () => {
    for (;;) await commitOnce();
  }),
);
