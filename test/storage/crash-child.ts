/**
 * Child of the crash rounds: commits as fast as it can until it is killed. Each commit has one
 * event, whose body says what the commit did to the entries, so that the journal alone tells what
 * must be there. Prints `<event id> <seq>` for each acknowledged commit.
 */

import { systemClock } from '../../src/core/clock.ts';
import { open } from './lmdb-opener.ts';
import { writePairs } from './pairs.ts';

const [directory, round] = process.argv.slice(2);
const store = await open(directory!, systemClock());
await writePairs(store, `r${round}`, (id, seq) => {
  process.stdout.write(`${id} ${seq}\n`);
}).running;
