/**
 * A torture reader: looks addresses up in requests of a few dozen, keeps the entries found and
 * checks them all at the end of the request, when the writer has had time to do harm.
 */

import { parentPort, workerData } from 'node:worker_threads';
import { openIpIndexReader, type ReaderHandle } from '../../../src/index/reader.ts';
import { COVERING_MAX } from '../../../src/index/trie/layout.ts';
import { seededRandom } from '../seeded.ts';
import { hashAround, isWhole, lengthIn } from './torture-payload.ts';

export interface TortureTask {
  readonly handle: ReaderHandle;
  readonly family: 4 | 6;
  readonly lookups: number;
  readonly seed: number;
  /** Four words per address (IPv4: the first). All are there from begin to end, as hosts. */
  readonly steady: SharedArrayBuffer;
  /** Come and go, with prefixes above them. */
  readonly volatile: SharedArrayBuffer;
  /** Covered by nothing, ever. */
  readonly absent: SharedArrayBuffer;
  /** Word 0: 1 = go, 2 = stop. */
  readonly signal: SharedArrayBuffer;
}

export interface TortureReport {
  lookups: number;
  hits: number;
  /** A record that is not wholly that of a prefix around the address. */
  foreign: number;
  /** A steady host not found, or not as the most specific entry. */
  lost: number;
  /** An entry for an address that has none. */
  invented: number;
  /** A chain of covering entries that does not get shorter and shorter. */
  disordered: number;
}

const BATCH = 48;

function run(task: TortureTask): TortureReport {
  const { family } = task;
  const reader = openIpIndexReader(task.handle);
  const { records } = reader;
  const signal = new Int32Array(task.signal);
  const pools = [task.steady, task.volatile, task.absent].map((pool) => new Int32Array(pool));
  const { next } = seededRandom(task.seed);
  const report = { lookups: 0, hits: 0, foreign: 0, lost: 0, invented: 0, disordered: 0 };
  const kinds = new Int32Array(BATCH);
  const places = new Int32Array(BATCH);
  const found = new Int32Array(BATCH);
  const chain = new Int32Array(COVERING_MAX);

  function find(words: Int32Array, at: number): number {
    if (family === 4) return reader.find4(words[at]!);
    return reader.find6(words[at]!, words[at + 1]!, words[at + 2]!, words[at + 3]!);
  }

  function covering(words: Int32Array, at: number): number {
    if (family === 4) return reader.covering4(words[at]!, chain);
    return reader.covering6(words[at]!, words[at + 1]!, words[at + 2]!, words[at + 3]!, chain);
  }

  function checkEntry(words: Int32Array, at: number, entry: number): number {
    const length = lengthIn(records, entry, family);
    const isRight = length >= 0 && isWhole(records, entry, hashAround(family, words, at, length));
    if (!isRight) report.foreign++;
    return length;
  }

  function request(): void {
    for (let i = 0; i < BATCH; i++) {
      const kind = [0, 0, 1, 1, 1, 1, 1, 2][Math.floor(next() * 8)]!;
      const words = pools[kind]!;
      const at = Math.floor(next() * (words.length >> 2)) << 2;
      kinds[i] = kind;
      places[i] = at;
      found[i] = find(words, at);
    }
    for (let i = 0; i < BATCH; i++) {
      const words = pools[kinds[i]!]!;
      const entry = found[i]!;
      if (entry === 0) {
        if (kinds[i] === 0) report.lost++;
        continue;
      }
      report.hits++;
      const length = checkEntry(words, places[i]!, entry);
      if (kinds[i] === 0 && length !== (family === 4 ? 32 : 128)) report.lost++;
      if (kinds[i] === 2) report.invented++;
    }
    // One chain for each request: all that covers the last address.
    const words = pools[kinds[BATCH - 1]!]!;
    const at = places[BATCH - 1]!;
    const count = covering(words, at);
    let shorter = 129;
    for (let i = 0; i < count; i++) {
      const length = checkEntry(words, at, chain[i]!);
      if (length >= shorter) report.disordered++;
      shorter = length;
    }
    report.lookups += BATCH + 1;
  }

  parentPort!.postMessage('ready');
  while (Atomics.load(signal, 0) === 0) Atomics.wait(signal, 0, 0, 1000);
  while (report.lookups < task.lookups && Atomics.load(signal, 0) === 1) {
    reader.enter();
    request();
    reader.leave();
  }
  return report;
}

const report = run(workerData as TortureTask);
parentPort!.postMessage(report);
