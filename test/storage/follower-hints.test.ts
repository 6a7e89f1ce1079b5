/**
 * Events that come with commits: applied once and in order whatever comes with which hint, against a model
 * that has nothing but the journal.
 */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { systemClock } from '../../src/core/clock.ts';
import { createFollower } from '../../src/storage/journal/follower.ts';
import type { StoreEvent } from '../../src/storage/store.ts';
import { seededRandom } from '../support/seeded.ts';
import { memoryLog } from '../support/server/memory-log.ts';

const event = (seq: number): StoreEvent => ({
  seq: BigInt(seq),
  at: 0,
  id: `e${seq}`,
  kind: 'test',
  version: 1,
  body: new Uint8Array(),
});
const span = (first: number, last: number) =>
  Array.from({ length: last - first + 1 }, (_, n) => event(first + n));
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** A journal whose commits are told of as a test likes. */
function setUp(apply: (event: StoreEvent) => void | Promise<void> = () => {}) {
  const { log, lines } = memoryLog();
  const seen: number[] = [];
  const failures: unknown[] = [];
  let end = 0;
  let reads = 0;
  let tell: (events?: readonly StoreEvent[]) => void = () => {};
  const follower = createFollower({
    store: {
      async read(after, limit) {
        reads += 1;
        const first = Number(after) + 1;
        return span(first, Math.min(end, first + limit - 1));
      },
      onJournalGrowth(callback) {
        tell = callback;
        return () => {};
      },
    },
    apply(one) {
      seen.push(Number(one.seq));
      return apply(one);
    },
    from: 0n,
    log,
    clock: systemClock(),
    onFailure: (error) => failures.push(error),
  });
  return {
    follower,
    seen,
    failures,
    lines,
    reads: () => reads,
    /** The journal has grown. */
    grow(events: number): readonly [first: number, last: number] {
      end += events;
      return [end - events + 1, end];
    },
    hint: (events?: readonly StoreEvent[]) => tell(events),
    async settle() {
      await follower.catchUpTo(BigInt(end));
      for (let n = 0; n < 3; n++) await turn();
      const all = Array.from({ length: end }, (_, n) => n + 1);
      assert.deepEqual([seen, failures], [all, []]);
    },
  };
}

it('what comes with commits in order is applied without a read', async () => {
  const { follower, grow, hint, reads, settle } = setUp();
  follower.start();
  await turn();
  const before = reads();
  for (let n = 0; n < 50; n++) {
    hint(span(...grow(3)));
    if (n % 7 === 0) await turn();
  }
  await settle();
  assert.equal(reads(), before);
  await follower.stop();
});

it('events that come with a gap are read from the journal', async () => {
  const { follower, grow, hint, reads, settle } = setUp();
  follower.start();
  await turn();
  hint(span(...grow(2)));
  await turn();
  const before = reads();
  grow(3);
  hint(span(...grow(2)));
  await settle();
  assert.ok(reads() > before);
  // And so when the gap is between two that wait.
  hint(span(...grow(2)));
  grow(1);
  hint(span(...grow(2)));
  await settle();
  // Afterwards they come without a read again.
  const now = reads();
  hint(span(...grow(2)));
  await settle();
  assert.equal(reads(), now);
  await follower.stop();
});

it('events that come twice or late are applied once', async () => {
  const { follower, grow, hint, settle } = setUp();
  follower.start();
  await turn();
  const first = span(...grow(4));
  hint(first);
  hint(first);
  await settle();
  hint(first);
  hint(span(...grow(1)));
  await settle();
  hint(first.slice(2));
  hint(span(...grow(2)));
  await settle();
  await follower.stop();
});

it('a commit that came while the start was still reading is not applied again', async () => {
  const { follower, grow, hint, settle } = setUp();
  grow(2_500);
  follower.start();
  hint(span(...grow(3)));
  hint(span(...grow(2)));
  await settle();
  await follower.stop();
});

/** The first event is being applied until `go` is called. */
async function heldUp() {
  let go = () => {};
  const held = new Promise<void>((resolve) => {
    go = resolve;
  });
  const made = setUp((one) => (one.seq === 1n ? held : undefined));
  made.follower.start();
  await turn();
  made.hint(span(...made.grow(1)));
  await turn();
  return { ...made, go };
}

it('more than it keeps is dropped, and read from the journal', async () => {
  const { go, follower, grow, hint, reads, settle } = await heldUp();
  const before = reads();
  // What waits meanwhile is bounded: 10,000 events.
  for (let n = 0; n < 13; n++) hint(span(...grow(1_000)));
  go();
  await settle();
  assert.ok(reads() > before + 5, `${reads() - before} reads`);
  await follower.stop();
});

for (const [what, events] of [
  ['a gap', 1],
  ['too many', 10_000],
] as const) {
  it(`nothing comes behind ${what}, and the journal is read all the same`, async () => {
    const { go, follower, grow, hint, settle } = await heldUp();
    // All of this waits for the first one.
    hint(span(...grow(events)));
    if (what === 'a gap') grow(1);
    hint(span(...grow(1)));
    go();
    await settle();
    await follower.stop();
  });
}

it('up to its bound nothing is read', async () => {
  const { go, follower, grow, hint, reads, settle } = await heldUp();
  const before = reads();
  for (let n = 0; n < 10; n++) hint(span(...grow(1_000)));
  go();
  await settle();
  assert.equal(reads(), before);
  await follower.stop();
});

for (const seed of [1, 2, 3, 4, 5, 6]) {
  it(`hints in every order, overlapping, missing and empty, against the journal (seed ${seed})`, async () => {
    const random = seededRandom(seed);
    const below = (n: number) => Math.floor(random.next() * n);
    const { follower, grow, hint, settle } = setUp(() => {
      const kind = below(20);
      if (kind === 0) return new Promise((resolve) => setTimeout(resolve, 1));
      return kind < 4 ? turn().then(() => undefined) : undefined;
    });
    grow(below(30));
    follower.start();
    let late: StoreEvent[][] = [];
    for (let round = 0; round < 400; round++) {
      const [first, last] = grow(1 + below(5));
      const own = span(first, last);
      switch (below(8)) {
        case 0:
          // Not told of until another one is.
          break;
        case 1:
          late.push(own);
          break;
        case 2:
          hint(own);
          hint(own);
          break;
        case 3:
          hint(span(Math.max(1, first - below(12)), last));
          break;
        case 4:
          hint();
          break;
        case 5:
          hint(own.slice(1 + below(2)));
          break;
        default:
          hint(own);
      }
      if (below(6) === 0) {
        while (late.length > 0) hint(late.splice(below(late.length), 1)[0]!);
      }
      if (below(5) === 0) await turn();
      if (below(60) === 0) {
        // Whoever waits has had a hint of its commit.
        hint(own);
        await settle();
      }
    }
    for (const one of late) hint(one);
    late = [];
    hint(span(...grow(1)));
    await settle();
    await follower.stop();
  });
}
