/**
 * Child of the crash rounds: commits as fast as it can until it is killed. Each commit has one
 * event, whose body says what the commit did to the entries, so that the journal alone tells what
 * must be there. Prints `<event id> <seq>` for each acknowledged commit.
 */

import { systemClock } from '../../src/core/clock.ts';
import { seededRandom } from '../../src/core/random.ts';
import { createWriter } from '../../src/store/codec.ts';
import { scratchKey, u16 } from '../../src/store/keys.ts';
import { open } from './lmdb-opener.ts';

const [directory, round] = process.argv.slice(2);
const random = seededRandom(Number(round));
const below = (n: number) => Math.floor(random.next() * n);
const store = await open(directory!, systemClock());
const inFlight = 64;
const keyCount = 500;
let next = 0;

async function commitOnce(): Promise<void> {
  const id = `r${round}-${next++}`;
  const first = below(keyCount - 3);
  const value = random.bytes(8 + below(200));
  const body = createWriter().u16(first).bytes(value).finish();
  const result = await store.commit({
    set: [
      { key: scratchKey(u16(first)), value },
      { key: scratchKey(u16(first + 1)), value },
    ],
    del: [scratchKey(u16(first + 2))],
    events: [{ id, kind: 'pair', version: 1, body }],
  });
  if (!result.ok) throw new Error(result.error);
  process.stdout.write(`${id} ${result.seq}\n`);
}

await Promise.all(
  Array.from({ length: inFlight }, async () => {
    for (;;) await commitOnce();
  }),
);
