/**
 * The newest events of the journal, as the core's own follower read them: what edges ask for is mostly here,
 * so that a hundred of them cost the database nothing. Bounded by number and bytes; the oldest go first.
 */

import { type StoreEvent, storeLimits } from '../store.ts';

export interface Ring {
  /** What was read behind `after`, possibly nothing: then `after` is the end of the journal as it is known. */
  add(after: bigint, events: readonly StoreEvent[]): void;
  /** Events behind `after`; undefined when they are not all here. */
  after(after: bigint, limit: number): readonly StoreEvent[] | undefined;
  /** Of an event; undefined when it is not here. */
  timeOf(seq: bigint): number | undefined;
  /** The newest event; undefined before anything was read. */
  last(): bigint | undefined;
}

const eventsMaxDefault = 50_000;
const bytesMaxDefault = 16 << 20;
/** Of an event besides its body. */
const ownBytes = 200;

const bytesOf = (event: StoreEvent) => event.body.length + ownBytes;

export function createRing({
  eventsMax = eventsMaxDefault,
  bytesMax = bytesMaxDefault,
} = {}): Ring {
  let events: StoreEvent[] = [];
  /** Those before it are gone; the array is cut when half of it is. */
  let first = 0;
  let bytes = 0;
  let end: bigint | undefined;

  function begin(at: bigint): void {
    events = [];
    first = 0;
    bytes = 0;
    end = at;
  }

  function trim(): void {
    while (events.length - first > eventsMax || (bytes > bytesMax && first < events.length)) {
      bytes -= bytesOf(events[first]!);
      first += 1;
    }
    if (first < events.length / 2) return;
    events = events.slice(first);
    first = 0;
  }

  return {
    add(after, page) {
      // Somebody else than the follower reads from elsewhere; a gap would be one for every edge.
      if (end === undefined || after > end) begin(after);
      for (const event of page) {
        if (event.seq !== end! + 1n) continue;
        events.push(event);
        bytes += bytesOf(event);
        end = event.seq;
      }
      trim();
    },
    after(after, limit) {
      const held = events.length - first;
      if (end === undefined || after > end || after < end - BigInt(held)) return undefined;
      const from = events.length - Number(end - after);
      let size = 0;
      let to = from;
      while (to < events.length && to - from < limit && size < storeLimits.pageBytesMax) {
        size += bytesOf(events[to]!);
        to += 1;
      }
      return events.slice(from, to);
    },
    timeOf(seq) {
      if (end === undefined || seq > end || seq <= end - BigInt(events.length - first))
        return undefined;
      return events[events.length - 1 - Number(end - seq)]!.at;
    },
    last: () => end,
  };
}
