/**
 * Compares the published rows with the present reports: rows to remove, rows to repeat once a day, and new rows. Each
 * new row waits for a random part of five minutes, so that the segment with it does not reveal the time of the
 * attack. It works in slices, at most a hundredth of the time.
 */

import type { Clock } from '../../../core/clock.ts';
import type { Random } from '../../../core/random.ts';
import { createScheduler } from '../../../core/scheduling.ts';
import { minuteMs } from '../../../core/time.ts';
import type { IpIndex } from '../../../index/ip-index.ts';
import { comparePrefixes, type IndexPrefix } from '../../../index/prefix.ts';
import { reportByAddressPrefix } from '../../../storage/keys.ts';
import type { Store } from '../../../storage/store.ts';
import { addressBytes, decodeRow } from '../../reports/store/report-rows.ts';
import {
  type AddressRef,
  addressAt,
  type CountedRow,
  createRowList,
  deletionLine,
  factsAt,
  newAddress,
  ROW,
  type RowFacts,
  rowCount,
  rowLine,
  snapshotRowsMax,
} from '../document/segment.ts';
import type { Selection } from './selection.ts';

export const waitMsMax = 5 * minuteMs;
/** Beyond so many that wait, a row goes out at once. */
const waitingMax = 10_000;
/** A row is said again when its last report is so much newer. */
const renewedHours = 24;
/** A hundredth of a core goes into looking for changes at most. */
const restRatio = 100;
const entriesPerStep = 250;
const rowsPerSlice = 64;
const all: readonly IndexPrefix[] = [
  { family: 4, words: new Uint32Array(4), length: 0 },
  { family: 6, words: new Uint32Array(4), length: 0 },
];

/** The rows as they are behind a segment, and its lines. */
interface FoundChanges {
  readonly rows: Uint32Array;
  readonly lines: readonly string[];
}

export function createChanges(options: {
  readonly index: Pick<IpIndex, 'walk' | 'prefixOf'>;
  readonly selection: Selection;
  /** Returns the position of the journal in memory: while it stays, no address is new. */
  readonly appliedSeq: () => bigint;
  /** Returns the categories of the address's reports, bit n for category n; 0: none is known any more. */
  readonly categoriesOf: (address: AddressRef) => Promise<number>;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly random: Random;
}) {
  const { index, selection, appliedSeq, categoriesOf, clock, random } = options;
  /** New rows that wait, with the time from which they go out. */
  const waiting = new Map<string, number>();
  let walkedTo = -1n;
  let restsUntilMs = 0;

  function forget(): void {
    waiting.clear();
    walkedTo = -1n;
  }

  /** Adds the row's categories. Undefined: the reports' details are gone, so there is nothing to say. */
  async function whole(address: AddressRef, counted: CountedRow): Promise<RowFacts | undefined> {
    const categories = await categoriesOf(address);
    return categories === 0 ? undefined : { ...counted, categories };
  }

  function isWaiting(address: AddressRef, now: number): boolean {
    const name = `${address.words.join(' ')} ${address.length}`;
    const until = waiting.get(name);
    if (until === undefined) {
      if (waiting.size >= waitingMax) return false;
      const [high = 0, low = 0] = random.bytes(2);
      waiting.set(name, now + (waitMsMax * (256 * high + low)) / 65_536);
      return true;
    }
    // An address that was taken back meanwhile is forgotten some time later.
    if (now < until) return true;
    waiting.delete(name);
    return false;
  }

  /** Walks all entries for rows that are not out yet, in their order. */
  async function newRows(rows: Uint32Array, now: number, mayWait: boolean): Promise<Uint32Array> {
    const scheduler = createScheduler();
    const found = createRowList();
    const out = newAddress();
    const room = snapshotRowsMax - rowCount(rows);
    let next = 0;
    function isOut(address: AddressRef): boolean {
      for (; next < rowCount(rows); next++) {
        const order = comparePrefixes(addressAt(rows, next, out), address);
        if (order >= 0) return order === 0;
      }
      return false;
    }
    for (const within of all) {
      let after: IndexPrefix | undefined;
      do {
        const seen: { readonly address: AddressRef; readonly counted: CountedRow }[] = [];
        after = index.walk(
          within,
          (entry) => {
            const counted = selection.judge(entry, false, now);
            if (counted === undefined) return;
            const prefix = index.prefixOf(entry)!;
            const words = new Uint32Array(4);
            words.set(prefix.words);
            const address = { family: prefix.family, words, length: prefix.length };
            if (!isOut(address)) seen.push({ address, counted });
          },
          { after, limit: entriesPerStep },
        );
        for (const { address, counted } of seen) {
          if (found.count() >= room) break;
          if (mayWait && isWaiting(address, now)) continue;
          const facts = await whole(address, counted);
          if (facts !== undefined) found.add(address, facts);
        }
        if (scheduler.shouldYield()) await scheduler.yield();
      } while (after !== undefined);
    }
    for (const [name, until] of waiting) if (until + waitMsMax < now) waiting.delete(name);
    return found.finish();
  }

  /**
   * Compares the rows that are out with what the reports say now.
   * @param isDue new rows and renewed ones go out too, not only those that go
   */
  async function find(rows: Uint32Array, isDue: boolean, now: number): Promise<FoundChanges> {
    const scheduler = createScheduler();
    const at = appliedSeq();
    const isNews = isDue && (at !== walkedTo || waiting.size > 0);
    const added = isNews ? await newRows(rows, now, true) : new Uint32Array();
    if (isNews) walkedTo = at;
    const list = createRowList(rowCount(rows) + rowCount(added));
    const lines: string[] = [];
    const [address, newcomer] = [newAddress(), newAddress()];
    let next = 0;
    /** Adds the next new row when it lies before an address. */
    function addNext(before: AddressRef | undefined): boolean {
      if (next === rowCount(added)) return false;
      const one = addressAt(added, next, newcomer);
      if (before !== undefined && comparePrefixes(one, before) >= 0) return false;
      list.copy(added, next);
      lines.push(rowLine(one, factsAt(added, next++)));
      return true;
    }
    const isOver = () => list.count() % rowsPerSlice === 0 && scheduler.shouldYield();
    for (let row = 0; row < rowCount(rows); row++) {
      addressAt(rows, row, address);
      while (addNext(address)) if (isOver()) await scheduler.yield();
      const counted = selection.judgeOut(address, now);
      const before = rows[row * ROW + 6]!;
      if (counted === undefined) lines.push(deletionLine(address));
      else if (isDue && counted.lastHour - before >= renewedHours) {
        const former = factsAt(rows, row);
        const facts = (await whole(address, counted)) ?? {
          ...counted,
          categories: former.categories,
        };
        list.add(address, facts);
        lines.push(rowLine(address, facts));
      } else list.copy(rows, row);
      if (row % rowsPerSlice === 0 && scheduler.shouldYield()) await scheduler.yield();
    }
    while (addNext(undefined)) if (isOver()) await scheduler.yield();
    restsUntilMs = clock.monotonicMs() + restRatio * scheduler.workedMs();
    return { rows: list.finish(), lines };
  }

  /** Returns all rows as they are now; none waits. */
  async function allRows(now: number): Promise<Uint32Array> {
    forget();
    const at = appliedSeq();
    const found = await newRows(new Uint32Array(), now, false);
    walkedTo = at;
    return found;
  }

  return {
    find,
    all: allRows,
    forget,
    /** The last look was long enough ago for what it cost. */
    mayCollect: () => clock.monotonicMs() >= restsUntilMs,
    waiting: () => waiting.size,
  };
}

export type RowChanges = ReturnType<typeof createChanges>;

/** The newest reports of an address that are read for their categories. */
const reportsRead = 100;

/** Returns the categories of the newest reports of an address or a /64, bit n for category n. */
export async function categoriesIn(
  store: Pick<Store, 'scan'>,
  { family, words, length }: AddressRef,
): Promise<number> {
  const bytes = addressBytes(family, words).subarray(0, family === 4 ? 17 : 1 + length / 8);
  let categories = 0;
  for (const { key, value } of await store.scan(reportByAddressPrefix(bytes), {
    limit: reportsRead,
  })) {
    categories |= decodeRow(key, value)?.categories ?? 0;
  }
  return categories;
}
