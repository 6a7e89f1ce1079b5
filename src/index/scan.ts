/**
 * All IPv4 entries in the order of their numbers, read row by row: a tenth of the time of a walk over the
 * trie, for counts in which neither the order nor one entry more or less matters. An entry that was
 * removed is seen until its number is given back (`IpIndex.settle`), one that is being made may be missed.
 *
 * Nothing is looked up, so no reader's epoch is needed: a row is never unmapped, and each word of it is
 * read whole.
 */

import {
  KEY,
  LENGTH,
  LENGTH_4,
  LENGTH_6,
  LENGTH_MASK,
  LENGTH_UNUSED,
  type Records,
  ROW_WORDS,
} from './records.ts';

/** @param visit first word of the prefix, and its length, 0 to 32 */
export function scan4(
  { word }: Records,
  visit: (entry: number, first: number, length: number) => void,
): void {
  // Numbers are given out in order: behind the first that was never used there are none.
  for (let row = ROW_WORDS, entry = 1; row < word.length; row += ROW_WORDS, entry++) {
    const code = word[row + LENGTH]! & LENGTH_MASK;
    if (code === LENGTH_UNUSED) return;
    if (code < LENGTH_6) visit(entry, word[row + KEY]!, code - LENGTH_4);
  }
}
