/**
 * Retired nodes: unlinked, but perhaps still being read. First in, first out, each item stamped
 * with the epoch of its unlinking. Writer only.
 *
 * It is drained every `BATCH` items; a reader that stays in one request holds it back, and it
 * then grows with the updates made meanwhile, at most to what the arena and the entries hold.
 */

import { isBefore, type WriterEpoch } from './epochs.ts';

/** Advancing the epoch costs an Atomics call and one more per reader: shared by this many. */
const BATCH = 64;
const ITEM_WORDS = 3;

/** Frees a node block of `words` words, or an entry when `words` is 0. */
type Release = (reference: number, words: number) => void;

export function createRetiredNodes(epoch: WriterEpoch, release: Release) {
  let ring = new Int32Array(1024 * ITEM_WORDS);
  let capacity = 1024;
  let head = 0;
  let count = 0;
  let drainAt = BATCH;

  function grow(): void {
    const larger = new Int32Array(capacity * 2 * ITEM_WORDS);
    larger.set(ring.subarray(head * ITEM_WORDS));
    larger.set(ring.subarray(0, head * ITEM_WORDS), (capacity - head) * ITEM_WORDS);
    ring = larger;
    capacity *= 2;
    head = 0;
  }

  /** Releases at once what no reader can see, however little waits. */
  function drain(): void {
    epoch.advance();
    const oldest = epoch.oldestInUse();
    while (count > 0 && isBefore(ring[head * ITEM_WORDS + 2]!, oldest)) {
      release(ring[head * ITEM_WORDS]!, ring[head * ITEM_WORDS + 1]!);
      head = (head + 1) & (capacity - 1);
      count--;
    }
    // Items that a reader holds back are not checked again for each further item.
    drainAt = count + BATCH;
  }

  return {
    add(reference: number, words: number): void {
      if (count === capacity) grow();
      const at = ((head + count) & (capacity - 1)) * ITEM_WORDS;
      ring[at] = reference;
      ring[at + 1] = words;
      ring[at + 2] = epoch.current();
      count++;
    },
    /** Releases what no reader can see. Cheap when little waits. */
    drainSome(): void {
      if (count >= drainAt) drain();
    },
    drain,
    /** Items waiting. */
    size: () => count,
    /** Pairs (reference, words) of all items waiting. */
    items(): Int32Array {
      const pairs = new Int32Array(count * 2);
      for (let i = 0; i < count; i++) {
        const at = ((head + i) & (capacity - 1)) * ITEM_WORDS;
        pairs[2 * i] = ring[at]!;
        pairs[2 * i + 1] = ring[at + 1]!;
      }
      return pairs;
    },
  };
}

export type RetiredNodes = ReturnType<typeof createRetiredNodes>;

/** Reuses at once whatever is unlinked. Unsafe: it exists so that tests can see it fail. */
export function createUnsafeRetiredNodes(release: Release): RetiredNodes {
  return {
    add: release,
    drainSome() {},
    drain() {},
    size: () => 0,
    items: () => new Int32Array(0),
  };
}
