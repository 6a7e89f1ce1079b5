/**
 * Checks that the index has capacity for more prefixes before anything is written, in a command that
 * has no index: the server stores its fill and the event up to which it holds. All prefixes written
 * since are counted as new, and so are those of the command, unless it matters: then the pages of
 * the last checkpoint show which of them are known.
 *
 * The answer is never too good. It may be too strict while the server is stopped and much was
 * written since: the refusal says to start it.
 */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { fail, ok, type Result } from '../../core/result.ts';
import { createWriter, decode } from '../../storage/codec.ts';
import type { JournalEvent } from '../../storage/journal/define-event.ts';
import { readProjectionPage } from '../../storage/journal/projection.ts';
import { ledgerKey } from '../../storage/keys.ts';
import {
  JournalPrunedError,
  type SetRow,
  type Store,
  type StoreEvent,
} from '../../storage/store.ts';
import { createEntryRow, entryPages, pageOf, readEntryRow } from '../state/entry-pages.ts';
import { type RowBatch, reputationEvents, rowsPerEventMax } from '../state/events.ts';

export interface Fill {
  readonly entries: number;
  readonly contributions: number;
  /** The last event that is counted in. */
  readonly seq: bigint;
}

export interface CapacityLimits {
  readonly entriesMax: number;
  readonly contributionsMax: number;
}

const readEvents = 500;

export function fillRow(fill: Fill): SetRow {
  const value = createWriter().varint(fill.entries).varint(fill.contributions).u64(fill.seq);
  return { key: ledgerKey('entries'), value: value.finish() };
}

/** Before the first server has run everything stands in the journal. */
export async function readFill(store: Store): Promise<Fill> {
  const row = await store.get(ledgerKey('entries'));
  const fill =
    row &&
    decode(row.value, (input) => ({
      entries: input.varint(),
      contributions: input.varint(),
      seq: input.u64(),
    }));
  return fill ?? { entries: 0, contributions: 0, seq: 0n };
}

const eventsByKind = new Map<string, JournalEvent>(
  reputationEvents.map((event) => [event.kind, event]),
);

/** Returns an upper bound of the prefixes that the event adds. */
function prefixesOf({ kind, version, body }: StoreEvent): number {
  const { indexRows = 0, decode } = eventsByKind.get(kind) ?? {};
  if (typeof indexRows === 'number') return indexRows;
  const facts = decode?.(version, body);
  return facts === undefined ? rowsPerEventMax : indexRows(facts);
}

/** Returns an upper bound of the prefixes that the events after `seq` added. */
async function writtenSince(store: Store, seq: bigint): Promise<number> {
  const last = await store.lastSeq();
  let rows = 0;
  for (let after = seq; after < last; ) {
    const page = await store.read(after, readEvents).catch((error: unknown) => {
      if (error instanceof JournalPrunedError) return undefined;
      throw error;
    });
    // Pruned meanwhile: all we know is their number. Events with lists are few.
    if (page === undefined) return Number(last - seq) * 2;
    if (page.length === 0) return rows;
    for (const event of page) rows += prefixesOf(event);
    after = page.at(-1)!.seq;
    await nextTurn();
  }
  return rows;
}

const nameOf = (family: number, words: Uint32Array, at: number, length: number): string =>
  `${family}/${words[at]}/${words[at + 1]}/${words[at + 2]}/${words[at + 3]}/${length}`;

/** Rows, or pages, that are looked at in one turn: some milliseconds. */
const rowsPerTurn = 8_192;
const pagesPerTurn = 16;

/** Rows by the page they stand on: those of page p are `rows` from `starts[p]` to `starts[p + 1]`. */
async function rowsByPage(batches: readonly RowBatch[]) {
  const starts = new Uint32Array(entryPages + 1);
  const page = ({ families, words }: RowBatch, i: number) =>
    pageOf(families[i] === 4 ? 4 : 6, words[4 * i]!, words[4 * i + 1]!);
  let total = 0;
  for (const batch of batches) {
    for (let i = 0; i < batch.count; i++) starts[page(batch, i) + 1]!++;
    total += batch.count;
    if (total % rowsPerTurn < batch.count) await nextTurn();
  }
  for (let p = 0; p < entryPages; p++) starts[p + 1]! += starts[p]!;
  // Sorted by counting: four bytes a row twice, whatever there are of them.
  const ends = starts.slice(0, entryPages);
  const rows = new Uint32Array(total);
  let first = 0;
  for (const batch of batches) {
    for (let i = 0; i < batch.count; i++) rows[ends[page(batch, i)]!++] = first + i;
    first += batch.count;
    if (first % rowsPerTurn < batch.count) await nextTurn();
  }
  return { starts, rows };
}

/** Counts the prefixes that stand in the last checkpoint, in memory of a few bytes a row. */
async function countKnown(store: Store, batches: readonly RowBatch[]): Promise<number> {
  const { starts, rows } = await rowsByPage(batches);
  const firsts: number[] = [];
  let total = 0;
  for (const { count } of batches) {
    firsts.push(total);
    total += count;
  }
  function nameAt(position: number): string {
    let low = 0;
    let high = firsts.length;
    while (high - low > 1) {
      const middle = (low + high) >>> 1;
      if (firsts[middle]! <= position) low = middle;
      else high = middle;
    }
    const { families, words, lengths } = batches[low]!;
    const i = position - firsts[low]!;
    return nameOf(families[i]!, words, 4 * i, lengths[i]!);
  }
  let known = 0;
  let read = 0;
  const row = createEntryRow();
  for (let page = 0; page < entryPages; page++) {
    const [from, to] = [starts[page]!, starts[page + 1]!];
    if (from === to) continue;
    const bytes = await readProjectionPage(store, page);
    if (bytes.length > 1) {
      const names = new Set<string>();
      for (let position = from; position < to; position++) names.add(nameAt(rows[position]!));
      for (let at = 1; at >= 0 && at < bytes.length; ) {
        row.words.fill(0);
        at = readEntryRow(bytes, at, row);
        if (at >= 0 && names.has(nameOf(row.family, row.words, 0, row.length))) known++;
      }
    }
    if (++read % pagesPerTurn === 0) await nextTurn();
  }
  return known;
}

/**
 * Returns ok if the prefixes fit. `capacity_exceeded` says how many do.
 * @param underWay rows that others have announced
 */
export async function ensureCapacity(
  store: Store,
  batches: readonly RowBatch[],
  underWay: number,
  limits: CapacityLimits,
): Promise<Result<void>> {
  const fill = await readFill(store);
  const rows = batches.reduce((sum, { count }) => sum + count, 0);
  const quickly = Number((await store.lastSeq()) - fill.seq) * rowsPerEventMax;
  if (fits(fill, quickly + underWay + rows, limits)) return ok(undefined);
  const others = (await writtenSince(store, fill.seq)) + underWay;
  if (fits(fill, others + rows, limits)) return ok(undefined);
  const fresh = rows - (await countKnown(store, batches));
  if (fits(fill, others + fresh, limits)) return ok(undefined);
  const left = Math.max(0, limits.entriesMax - fill.entries - others);
  return fail(
    'capacity_exceeded',
    `no room: ${fresh} new addresses or networks, and ${left} fit; nothing was loaded. With the server running the count is exact`,
  );
}

function fits(fill: Fill, rows: number, limits: CapacityLimits): boolean {
  return (
    fill.entries + rows <= limits.entriesMax && fill.contributions + rows <= limits.contributionsMax
  );
}
