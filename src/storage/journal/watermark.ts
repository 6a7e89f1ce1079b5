/**
 * Names the journal that a saved memory is made of: by the number of its last event, and the time
 * that the journal gave it.
 *
 * A database that was taken back has the name of the journal that it had, and with new events its length too; but
 * its event of that number came later.
 */

import { createWriter, decode } from '../codec.ts';
import { checkpointKey } from '../keys.ts';
import type { SetRow, Store } from '../store.ts';

export interface JournalWatermark {
  readonly seq: bigint;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** Stored along with the checkpoint that it belongs to. */
export const watermarkKey = checkpointKey('journal');

/** The journal position of a memory; `at` is undefined if none was saved for that event. */
type JournalPosition = Pick<JournalWatermark, 'seq'> & Partial<JournalWatermark>;

export function watermarkRows({ seq, at }: JournalPosition): SetRow[] {
  if (at === undefined) return [];
  return [{ key: watermarkKey, value: createWriter().u64(seq).u64(BigInt(at)).finish() }];
}

/** @param seq of the last checkpoint */
export async function savedPosition(
  store: Pick<Store, 'get'>,
  seq: bigint,
): Promise<JournalPosition> {
  const watermark = await readWatermark(store);
  return watermark?.seq === seq ? watermark : { seq };
}

export async function readWatermark(
  store: Pick<Store, 'get'>,
): Promise<JournalWatermark | undefined> {
  const row = await store.get(watermarkKey);
  return row && decode(row.value, (input) => ({ seq: input.u64(), at: Number(input.u64()) }));
}

/** The row of the journal in which an event is, unless it is pruned. */
export const rowOfEvent = {
  name: 'row of event',
  text: 'select first_seq, at from journal where last_seq >= $1 order by last_seq limit 1',
};

export interface EventRow {
  readonly first_seq: string;
  readonly at: string;
}

export function isOtherJournal({ seq, at }: JournalWatermark, row: EventRow | undefined): boolean {
  return row !== undefined && BigInt(row.first_seq) <= seq && Number(row.at) !== at;
}
