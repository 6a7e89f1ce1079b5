/**
 * A client's counts under one limit: a ring of slices of its window. It must be advanced before it
 * is read, so that slices which begin are empty.
 */

/** Slices of a window; one more counts. */
export const sliceCount = 12;
/** Slices a record holds, a power of two above 13. */
export const ringLength = 16;
const countMax = 65_535;

/** The storage of clients' counts, in this thread alone or shared (limit-records.ts). */
export interface LimitRecords {
  /** A record's ring begins at `record * ringLength`. */
  readonly counts: Uint16Array;
  /** By record. */
  readonly newestSlices: Float64Array;
  /** Runs `use` with the key's record locked and returns its result. A new record counts from `slice` on. */
  with(key: string, slice: number, use: (record: number) => number): number;
  readonly size: number;
  readonly capacity: number;
  /** Present when counts are exchanged with other nodes. */
  readonly sharing?: {
    /** Counted here since the last exchange, by record. */
    readonly pending: Uint16Array;
    /** Window of the record's limit, in ms. */
    readonly windows: Uint32Array;
    /** Returns the number of other nodes. */
    peers(): number;
  };
}

export function sliceAt(nowMs: number, windowMs: number): number {
  return Math.floor(nowMs / (windowMs / sliceCount));
}

/** Empties the slices that begin a new round of the ring. */
export function advanceRing(
  counts: Uint16Array,
  newestSlices: Float64Array,
  record: number,
  slice: number,
): void {
  const newest = newestSlices[record]!;
  for (let j = Math.max(newest, slice - ringLength) + 1; j <= slice; j++) {
    counts[record * ringLength + (j % ringLength)] = 0;
  }
  newestSlices[record] = Math.max(newest, slice);
}

/** Stops at what a slice holds. */
export function addCount(counts: Uint16Array, record: number, slice: number, count: number): void {
  const at = record * ringLength + (slice % ringLength);
  counts[at] = Math.min(countMax, counts[at]! + count);
}
