/**
 * Kill -9 at a random moment, again and again, on one directory. The child module gets
 * `<directory> <round>` as arguments, works as fast as it can, and prints one line for each
 * thing it may promise to a client, after it may. What it printed must survive: `verify` looks
 * at the directory after each round with all lines of that round.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { seededRandom } from '../seeded.ts';
import { startChild } from './child.ts';
import { makeTempDir } from './temp-dir.ts';

export interface CrashRound {
  /** 1, 2, 3 … */
  readonly round: number;
  readonly directory: string;
  /** Lines of this round, in order; the kill may have cut a last one off. */
  readonly acks: readonly string[];
}

interface CrashOptions {
  /** Compiled module to run, e.g. `new URL('../crash-child.js', import.meta.url)`. */
  readonly childModule: URL;
  readonly rounds: number;
  /** The kill comes at a random moment after this many lines. */
  readonly minAcks: number;
  readonly verify: (round: CrashRound) => Promise<void>;
  readonly seed?: number;
  /** The kill comes at most this long after `minAcks`. */
  readonly spreadMs?: number;
  /** A child that does not get so far in this time fails the run. */
  readonly roundMsMax?: number;
}

/** Total number of lines that had to survive. */
export async function runCrashRounds({
  childModule,
  rounds,
  minAcks,
  verify,
  seed = 1,
  spreadMs = 60,
  roundMsMax = 120_000,
}: CrashOptions): Promise<number> {
  const random = seededRandom(seed);
  const directory = makeTempDir('crash');
  let total = 0;
  try {
    for (let round = 1; round <= rounds; round++) {
      const child = startChild(childModule, [directory.path, String(round)]);
      const overdue = setTimeout(() => child.process.kill('SIGKILL'), roundMsMax);
      let count = 0;
      await child.line(() => ++count >= minAcks);
      await delay(random.next() * spreadMs);
      child.process.kill('SIGKILL');
      const { signal } = await child.ended;
      clearTimeout(overdue);
      if (signal !== 'SIGKILL') {
        throw new Error(`round ${round}: the child ended by itself: ${child.stderr()}`);
      }
      await verify({ round, directory: directory.path, acks: child.lines });
      total += child.lines.length;
    }
  } catch (error) {
    throw new Error(`crash rounds with seed ${seed}`, { cause: error });
  } finally {
    directory.remove();
  }
  return total;
}
