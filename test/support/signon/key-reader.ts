/**
 * A thread that authenticates keys while another adds and revokes them. A key's word counts its
 * changes: 0 absent, 1 being added, 2 live, 3 being revoked, 4 absent again. Only when the word
 * is the same before and after is the right answer known.
 */

import { parentPort, workerData } from 'node:worker_threads';
import {
  createKeyCache,
  type KeyTableHandle,
  openKeyTableReader,
} from '../../../src/access/keys/key-table.ts';
import { seededRandom } from '../seeded.ts';

export interface KeyReaderInput {
  readonly handle: KeyTableHandle;
  readonly texts: readonly string[];
  /** One word a key, then a stop word, then a count of the readers that have seen enough. */
  readonly changes: Int32Array;
  /** Right answers of either kind that are enough for a reader. */
  readonly enough: number;
  readonly seed: number;
}

export interface KeyReaderResult {
  readonly wrong: readonly string[];
  readonly accepted: number;
  readonly refused: number;
}

function readUntilStopped(input: KeyReaderInput): KeyReaderResult {
  const { handle, texts, changes, enough, seed } = input;
  const cache = createKeyCache(openKeyTableReader(handle), 32);
  const random = seededRandom(seed);
  const wrong: string[] = [];
  let accepted = 0;
  let refused = 0;
  let hasEnough = false;
  while (Atomics.load(changes, texts.length) === 0 && wrong.length < 10) {
    // Squared: some keys are asked for often, and so come from the cache.
    const key = Math.floor(random.next() ** 2 * texts.length);
    const before = Atomics.load(changes, key);
    const account = cache.authenticate(texts[key]!);
    const after = Atomics.load(changes, key);
    if (account === -1) refused++;
    else accepted++;
    if (!hasEnough && accepted > enough && refused > enough) {
      hasEnough = true;
      Atomics.add(changes, texts.length + 1, 1);
    }
    if (account !== -1 && account !== key) wrong.push(`key ${key} served account ${account}`);
    if (before !== after) continue;
    if (before % 4 === 2 && account === -1) wrong.push(`living key ${key} refused`);
    if (before % 4 === 0 && account !== -1) wrong.push(`revoked key ${key} accepted`);
  }
  return { wrong, accepted, refused };
}

parentPort?.postMessage(readUntilStopped(workerData as KeyReaderInput));
