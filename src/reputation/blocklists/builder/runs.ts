/**
 * Divides a list into runs of some thousand rows. The address of a row alone decides if a run ends
 * there, so that a row that comes or goes changes one run (two, if it ends one): the others are the
 * same bytes, and are not rendered and compressed again.
 */

import { ROW, type Rows } from './rows.ts';

/** A run ends no sooner: whoever picks addresses can't make runs of one row. */
export const runRowsMin = 1_024;
/** One row in so many may end a run: as text and compressed it stays within a processor's cache. */
const oneInBits = 13;

/** Views of `rows`; none of none. */
export function runsOf(rows: Rows): Rows[] {
  const runs: Rows[] = [];
  let start = 0;
  for (let at = runRowsMin * ROW; at < rows.length; at += ROW) {
    if (!endsRun(rows, at - ROW)) continue;
    runs.push(rows.subarray(start, at));
    start = at;
    at += (runRowsMin - 1) * ROW;
  }
  if (start < rows.length) runs.push(rows.subarray(start));
  return runs;
}

function endsRun(rows: Rows, at: number): boolean {
  let mixed = 0;
  for (let word = 0; word < 4; word++) {
    mixed = Math.imul(mixed ^ rows[at + word]!, 0x9e37_79b1);
    mixed ^= mixed >>> 15;
  }
  return Math.imul(mixed, 0x85eb_ca6b) >>> (32 - oneInBits) === 0;
}
