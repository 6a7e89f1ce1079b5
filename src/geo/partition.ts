/**
 * A partition of an address space: sorted starts, each with the id that holds from there up to
 * the next start. Id 0 is "unknown" and fills the gaps, so that a partition always begins at
 * address 0 and a look-up always finds a start. Neighbours with equal ids are merged.
 */

/** Columns of one partition; entry `i` begins at `columns[0][i]` (IPv4) or at four words. */
export interface Partition {
  /** One column for IPv4, four (highest word first) for IPv6. */
  readonly columns: readonly Uint32Array[];
  readonly ids: Uint32Array;
  readonly length: number;
}

type PartitionBuilder = ReturnType<typeof createPartitionBuilder>;
/** Takes the ranges of one family, as the readers of files give them. */
export type RangeSink = Pick<PartitionBuilder, 'add'>;

/** `words`: 1 for IPv4, 4 for IPv6. */
export function createPartitionBuilder(words: 1 | 4) {
  let capacity = 1 << 12;
  let columns = Array.from({ length: words }, () => new Uint32Array(capacity));
  let ids = new Uint32Array(capacity);
  let length = 1;
  /** The first address that no range has covered yet; meaningless once `full`. */
  const next = new Uint32Array(words);
  let full = false;

  function grow(): void {
    capacity *= 2;
    columns = columns.map((column) => extend(column, capacity));
    ids = extend(ids, capacity);
  }

  /** Sets the id from `start` on. */
  function set(start: ArrayLike<number>, id: number): void {
    const last = length - 1;
    if (compareAt(columns, last, start, words) === 0) {
      ids[last] = id;
      // The entry before may now hold the same id.
      if (last > 0 && ids[last - 1] === id) length--;
      return;
    }
    if (ids[last] === id) return;
    if (length === capacity) grow();
    for (let w = 0; w < words; w++) columns[w]![length] = start[w]!;
    ids[length++] = id;
  }

  /**
   * Adds `first..last` (inclusive) in ascending order. What lies at or before the end of an
   * earlier range stays as it is. Returns false when nothing of the range was left.
   */
  function add(first: ArrayLike<number>, last: ArrayLike<number>, id: number): boolean {
    if (full || compareWords(last, next, words) < 0 || compareWords(first, last, words) > 0) {
      return false;
    }
    set(compareWords(first, next, words) < 0 ? next : first, id);
    full = !setSuccessor(next, last, words);
    if (!full) set(next, 0);
    return true;
  }

  function finish(): Partition {
    return {
      columns: columns.map((column) => column.subarray(0, length)),
      ids: ids.subarray(0, length),
      length,
    };
  }

  return { add, finish };
}

function extend(column: Uint32Array, capacity: number): Uint32Array<ArrayBuffer> {
  const wider = new Uint32Array(capacity);
  wider.set(column);
  return wider;
}

function compareWords(a: ArrayLike<number>, b: ArrayLike<number>, words: number): number {
  for (let w = 0; w < words; w++) {
    if (a[w] !== b[w]) return a[w]! - b[w]!;
  }
  return 0;
}

/** Order of entry `index` against `address`. */
export function compareAt(
  columns: readonly Uint32Array[],
  index: number,
  address: ArrayLike<number>,
  words: number,
): number {
  for (let w = 0; w < words; w++) {
    const difference = columns[w]![index]! - address[w]!;
    if (difference !== 0) return difference;
  }
  return 0;
}

/** `out` becomes `address` + 1. False when the address is the last of the space. */
function setSuccessor(out: Uint32Array, address: ArrayLike<number>, words: number): boolean {
  for (let w = 0; w < words; w++) out[w] = address[w]!;
  for (let w = words - 1; w >= 0; w--) {
    out[w] = out[w]! + 1;
    if (out[w] !== 0) return true;
  }
  return false;
}
