/** Counts the rows of a new list that its former one had, before the journal replaces them. */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { contributionKinds, tagOf } from '../../state/contributions.ts';
import type { Entries } from '../../state/entries.ts';
import type { ListRef, RowBatch } from '../../state/events.ts';
import type { Sources } from '../sources.ts';

/** Others get their turn after this long, looked at every so many rows. */
const sliceMs = 3;
const rowsPerSlice = 64;

export async function countKnownRows(
  { entries, sources }: { entries: Entries; sources: Pick<Sources, 'list'> },
  { list, source }: Pick<ListRef, 'list' | 'source'>,
  batches: readonly RowBatch[],
): Promise<number> {
  const former = sources.list().find((one) => one.list === list && one.source === source);
  if (former === undefined) return 0;
  const tag = tagOf(contributionKinds[list], former.number);
  const words = new Uint32Array(4);
  let known = 0;
  let sliceEnd = performance.now() + sliceMs;
  for (const batch of batches) {
    for (let i = 0; i < batch.count; i++) {
      if (i % rowsPerSlice === 0 && performance.now() > sliceEnd) {
        await nextTurn();
        sliceEnd = performance.now() + sliceMs;
      }
      for (let word = 0; word < 4; word++) words[word] = batch.words[4 * i + word]!;
      const entry = entries.get(batch.families[i] === 4 ? 4 : 6, words, batch.lengths[i]!);
      if (entry !== 0 && entries.contributions.find(entry, tag) !== 0) known += 1;
    }
  }
  return known;
}
