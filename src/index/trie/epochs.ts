/**
 * Quiescent-state reclamation: who may still look at what was unlinked.
 *
 * The control block holds the epoch and one word per reader thread, each on a cache line of
 * its own: 0 = idle, else the epoch that the reader announced when it began its request.
 * Unlinked memory is stamped with the current epoch and reused only when every reader is idle
 * or has announced a later one. A look-up never spans an `await`, so nothing found in one
 * request is used in the next.
 *
 * Memory order. The writer fills a block with plain stores and publishes it with one
 * `Atomics.store` (on arm64 a release store, on x64 an exchange). Readers use plain loads:
 * the block's address comes out of the loaded word, and neither x64 nor arm64 lets a load
 * through an address run before the load of that address, nor does V8 guess addresses.
 *
 * `enter` needs more: "I am active" must be visible before the first look-up loads a word, or
 * the writer sees "idle" and reuses what that look-up reads. A store followed by a load is the
 * one order that even x64 does not keep. `Atomics.store` then `Atomics.load` keeps it on both:
 * on x64 the exchange is a full barrier; on arm64 STLR then LDAR stay in order, and plain loads
 * stay behind LDAR. `leave` is a release store, so the loads of the request come before it.
 *
 * Cost (Node 20): each Atomics call 15–35 ns; three for enter and leave, once per request.
 */

export const READERS_MAX = 64;
const LINE_WORDS = 16;
const EPOCH = 0;
const FENCE = 1;
/** Number of entries, for readers. A count that is never used to reach memory. */
export const SIZE = 2;
export const CONTROL_WORDS = LINE_WORDS * (READERS_MAX + 1);
const IDLE = 0;
const FIRST_EPOCH = 1;

function readerWord(reader: number): number {
  return LINE_WORDS * (reader + 1);
}

export function readerEpoch(control: Int32Array, reader: number) {
  const word = readerWord(reader);
  let announced = IDLE;
  return {
    /** Begins a request: whatever was found before is forgotten. Needs no `leave` before it. */
    enter(): void {
      const epoch = Atomics.load(control, EPOCH);
      // Announced already: the epoch was loaded after all earlier look-ups, and no later one can
      // meet what was unlinked before it. Nothing to announce.
      if (epoch === announced) return;
      announced = epoch;
      Atomics.store(control, word, epoch);
      Atomics.load(control, EPOCH);
    },
    /** Ends the request and marks the thread idle: it holds back no memory until it enters. */
    leave(): void {
      announced = IDLE;
      Atomics.store(control, word, IDLE);
    },
    /** Returns false while idle; a look-up then is a bug. */
    isActive: () => announced !== IDLE,
  };
}

export type ReaderEpoch = ReturnType<typeof readerEpoch>;

export function writerEpoch(control: Int32Array, isOpen: (reader: number) => boolean) {
  let epoch = FIRST_EPOCH;
  Atomics.store(control, EPOCH, epoch);
  return {
    /** The stamp for what is unlinked now. */
    current: () => epoch,
    /** Makes what was unlinked so far old enough for readers that enter from now on. */
    advance(): void {
      epoch = (epoch + 1) | 0;
      if (epoch === IDLE) epoch = FIRST_EPOCH;
      Atomics.store(control, EPOCH, epoch);
    },
    /** Stamps before this one (compare with `isBefore`) are out of every reader's sight. */
    oldestInUse(): number {
      let oldest = epoch;
      for (let reader = 0; reader < READERS_MAX; reader++) {
        if (!isOpen(reader)) continue;
        const announced = Atomics.load(control, readerWord(reader));
        if (announced !== IDLE && isBefore(announced, oldest)) oldest = announced;
      }
      return oldest;
    },
    /** Blocks the thread so long, for readers to get on. */
    pause(milliseconds: number): void {
      Atomics.wait(control, FENCE, 0, milliseconds);
    },
    /** Every store before the call is visible before any store after it. */
    fence(): void {
      Atomics.store(control, FENCE, 0);
      Atomics.load(control, FENCE);
    },
  };
}

export type WriterEpoch = ReturnType<typeof writerEpoch>;

/** Epochs wrap: the difference decides. No reader sleeps in a request for 2^31 epochs. */
export function isBefore(a: number, b: number): boolean {
  return ((a - b) | 0) < 0;
}

/** Marks a reader's word idle: when its thread starts, and when it ended without `leave`. */
export function clearReader(control: Int32Array, reader: number): void {
  Atomics.store(control, readerWord(reader), IDLE);
}

// Retired nodes: unlinked, but perhaps still being read. First in, first out, each item stamped
// with the epoch of its unlinking. Writer only.
//
// It is drained every `BATCH` items; a reader that stays in one request holds it back, and it
// then grows with the updates made meanwhile, at most to what the arena and the entries hold.

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
