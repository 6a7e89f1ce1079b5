/** The follower: order, catching up, slices, and failing loudly. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { systemClock } from '../../src/core/clock.ts';
import { createFollower, type FollowerOptions } from '../../src/storage/journal/follower.ts';
import { isDamage } from '../../src/storage/rows.ts';
import { type StoreEvent, StoreUnavailableError } from '../../src/storage/store.ts';
import { manualClock } from '../support/seeded.ts';
import { memoryLog } from '../support/server/memory-log.ts';
import { makeTempDir } from '../support/server/temp-dir.ts';
import { open } from './lmdb-opener.ts';

function event(seq: number): StoreEvent {
  return {
    seq: BigInt(seq),
    at: 0,
    id: `e${seq}`,
    kind: 'test',
    version: 1,
    body: new Uint8Array(),
  };
}

/** A journal in memory that may lie, and a hint to press by hand. */
function fakeStore(events: StoreEvent[]) {
  const callbacks = new Set<() => void>();
  let reads = 0;
  return {
    events,
    reads: () => reads,
    hint() {
      for (const callback of callbacks) callback();
    },
    hinted: () => callbacks.size,
    async read(afterSeq: bigint, limit: number) {
      reads++;
      return events.filter((e) => e.seq > afterSeq).slice(0, limit);
    },
    onJournalGrowth(callback: () => void) {
      callbacks.add(callback);
      return () => callbacks.delete(callback);
    },
  };
}

function follow(store: ReturnType<typeof fakeStore>, options: Partial<FollowerOptions> = {}) {
  const { log, lines } = memoryLog();
  const seen: number[] = [];
  const follower = createFollower({
    store,
    apply: (e) => void seen.push(Number(e.seq)),
    from: 0n,
    log,
    clock: systemClock(),
    pollMs: 60_000,
    ...options,
  });
  return { follower, seen, lines };
}

const upTo = (count: number, first = 1) =>
  Array.from({ length: count }, (_, i) => event(first + i));

it('applies every event once and in order, over many pages, from where the state stands', async () => {
  const { follower, seen } = follow(fakeStore(upTo(2_600)), { from: 100n });
  follower.start();
  await follower.catchUpTo(2_600n);
  assert.deepEqual(
    seen,
    upTo(2_500, 101).map((e) => Number(e.seq)),
  );
  assert.equal(follower.appliedSeq(), 2_600n);
  await follower.stop();
});

it('a caller that waits for its own event is answered after it was applied, not before', async () => {
  const store = fakeStore(upTo(3));
  const { follower, seen } = follow(store);
  follower.start();
  await follower.catchUpTo(3n);
  const waits = [4, 5].map(async (seq) => {
    await follower.catchUpTo(BigInt(seq));
    assert.ok(seen.includes(seq));
  });
  store.events.push(event(4));
  store.hint();
  store.events.push(event(5));
  store.hint();
  await Promise.all(waits);
  await follower.stop();
});

it('polling alone finds new events', async () => {
  const store = fakeStore(upTo(1));
  const { follower } = follow(store, { pollMs: 5 });
  follower.start();
  await follower.catchUpTo(1n);
  const waiting = follower.catchUpTo(2n);
  // After the look that the wait itself causes.
  await new Promise((resolve) => setTimeout(resolve, 1));
  store.events.push(event(2));
  const alive = setInterval(() => {}, 1_000);
  await waiting;
  clearInterval(alive);
  await follower.stop();
});

it('lets others run after each slice', async () => {
  const clock = manualClock(0);
  let turns = 0;
  let most = 0;
  let inThisTurn = 0;
  const { follower } = follow(fakeStore(upTo(100)), {
    clock,
    sliceMs: 4,
    apply: () => {
      clock.advance(1);
      inThisTurn += 1;
      most = Math.max(most, inThisTurn);
    },
  });
  const count = () => {
    turns += 1;
    inThisTurn = 0;
    if (turns < 200) setImmediate(count);
  };
  setImmediate(count);
  follower.start();
  await follower.catchUpTo(100n);
  assert.ok(most <= 5, `${most} events in one turn`);
  await follower.stop();
});

it('hints cause one read in each interval, and who waits for an event does not wait for its end', async () => {
  const store = fakeStore(upTo(300));
  const clock = manualClock(0);
  const { follower, seen } = follow(store, { clock, readIntervalMs: 3_600_000 });
  follower.start();
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  // A journal that is ahead is read to its end at once, in a few turns.
  for (let n = 0; n < 4; n++) await turn();
  assert.deepEqual([seen.length, store.reads()], [300, 2]);
  for (let n = 301; n <= 320; n++) {
    store.events.push(event(n));
    store.hint();
    await turn();
  }
  assert.deepEqual([seen.length, store.reads()], [300, 2]);
  clock.advance(3_600_000);
  store.hint();
  await turn();
  // Nor is the look for more after a few events at once.
  assert.deepEqual([seen.length, store.reads()], [320, 3]);
  store.events.push(event(321));
  store.hint();
  await follower.catchUpTo(321n);
  await follower.stop();
});

it('the next query of a journal that is ahead is on its way while events are applied', async () => {
  const store = fakeStore(upTo(2_500));
  const { read } = store;
  let follow2nd = () => {};
  const second = new Promise<void>((resolve) => {
    follow2nd = resolve;
  });
  store.read = (afterSeq, limit) => {
    if (afterSeq > 0n) follow2nd();
    return read(afterSeq, limit);
  };
  const seen: number[] = [];
  const apply = (e: StoreEvent) => {
    seen.push(Number(e.seq));
    return e.seq === 1n ? second : undefined;
  };
  const { follower } = follow(store, { apply, readIntervalMs: 5 });
  follower.start();
  await follower.catchUpTo(2_500n);
  assert.deepEqual(
    seen,
    upTo(2_500).map((e) => Number(e.seq)),
  );
  await follower.stop();
});

it('what a query ahead fails with is told once the events before it are applied', async () => {
  const store = fakeStore(upTo(2_500));
  const { read } = store;
  store.read = async (afterSeq, limit) => {
    if (afterSeq > 0n) throw new Error('another journal');
    return read(afterSeq, limit);
  };
  const { follower, seen } = follow(store, { readIntervalMs: 5 });
  follower.start();
  await assert.rejects(follower.catchUpTo(2_500n), /failed after event 1000/);
  assert.equal(seen.length, 1_000);
});

it('a hint that waits for the end of the interval is not forgotten', {
  timeout: 120_000,
}, async () => {
  const store = fakeStore(upTo(1));
  let arrive = () => {};
  const arrived = new Promise<void>((resolve) => {
    arrive = resolve;
  });
  const { follower } = follow(store, {
    readIntervalMs: 5,
    apply: (e) => {
      if (e.seq === 1n) {
        store.events.push(event(2));
        store.hint();
      } else arrive();
    },
  });
  const alive = setInterval(() => {}, 1_000);
  follower.start();
  await arrived;
  clearInterval(alive);
  await follower.stop();
});

it('an apply that throws stops it for good: nothing is skipped, waiters are told, it is logged', async () => {
  const failures: unknown[] = [];
  const applied: number[] = [];
  const store = fakeStore(upTo(10));
  const { follower, lines } = follow(store, {
    apply: (e) => {
      if (e.seq === 5n) throw new Error('bad body');
      applied.push(Number(e.seq));
    },
    onFailure: (error) => failures.push(error),
  });
  assert.equal(follower.isFollowing(), false);
  follower.start();
  assert.equal(follower.isFollowing(), true);
  await assert.rejects(follower.catchUpTo(10n), /failed after event 4/);
  assert.equal(follower.isFollowing(), false, 'the service is not ready any more');
  store.hint();
  await assert.rejects(follower.catchUpTo(6n), /failed/);
  assert.deepEqual(applied, [1, 2, 3, 4]);
  assert.equal(failures.length, 1);
  assert.equal(store.hinted(), 0);
  assert.ok(lines.some(({ level, msg }) => level === 60 && msg.startsWith('follower')));
  await follower.stop();
});

it('a gap in the journal stops it', async () => {
  const { follower, seen } = follow(fakeStore([...upTo(3), ...upTo(3, 5)]));
  follower.start();
  await assert.rejects(
    follower.catchUpTo(6n),
    ({ message, cause }: Error) => /failed after event 3/.test(message) && isDamage(cause),
  );
  assert.deepEqual(seen, [1, 2, 3]);
});

it('stopping rejects those who wait and applies nothing more', async () => {
  const store = fakeStore(upTo(2));
  const { follower, seen } = follow(store);
  follower.start();
  await follower.catchUpTo(2n);
  const waiting = follower.catchUpTo(3n);
  const rejected = assert.rejects(waiting, /stopped/);
  await follower.stop();
  await rejected;
  store.events.push(event(3));
  store.hint();
  await assert.rejects(follower.catchUpTo(3n), /stopped/);
  assert.deepEqual(seen, [1, 2]);
});

it('over the LMDB store, every commit is applied by the time its author goes on', async () => {
  const directory = makeTempDir('follower');
  const store = await open(directory.path, systemClock());
  const ids: string[] = [];
  const { log } = memoryLog();
  const apply = (e: StoreEvent) => void ids.push(e.id);
  const follower = createFollower({ store, apply, from: 0n, log, clock: systemClock() });
  follower.start();
  await Promise.all(
    Array.from({ length: 300 }, async (_, n) => {
      const body = new Uint8Array();
      const result = await store.commit({
        events: [{ id: `e${n}`, kind: 'test', version: 1, body }],
      });
      await follower.catchUpTo(result.seq);
      assert.equal(ids[Number(result.seq) - 1], `e${n}`);
    }),
  );
  await follower.stop();
  await store.close();
  directory.remove();
});

it('a journal that is out of reach for a while is read again: nothing is lost, nothing fails', async () => {
  const store = fakeStore(upTo(3));
  let isAway = true;
  let asked = 0;
  const { read } = store;
  store.read = async (afterSeq, limit) => {
    asked += 1;
    if (isAway) throw new StoreUnavailableError('connection refused');
    return read(afterSeq, limit);
  };
  const { follower, seen, lines } = follow(store, { pollMs: 5 });
  // The follower's own timer doesn't keep the process alive.
  const alive = setInterval(() => {}, 1_000);
  follower.start();
  const reached = follower.catchUpTo(3n);
  while (asked < 3) await new Promise((resolve) => setTimeout(resolve, 5));
  assert.ok(follower.isFollowing());
  assert.equal(lines.filter(({ level }) => level === 40).length, 1, 'told once');
  isAway = false;
  await reached;
  assert.deepEqual(seen, [1, 2, 3]);
  await follower.stop();
  clearInterval(alive);
});

it('a read without an answer counts as stale from its start, and one that is answered does not', async () => {
  const clock = manualClock(1_000);
  let answer: (page: StoreEvent[]) => void = () => {};
  const read = () =>
    new Promise<StoreEvent[]>((resolve) => {
      answer = resolve;
    });
  const follower = createFollower({
    store: { read, onJournalGrowth: () => () => {} },
    apply() {},
    from: 0n,
    clock,
    log: memoryLog().log,
    pollMs: 600_000,
  });
  follower.start();
  clock.advance(1_500);
  assert.equal(follower.staleMs(), 0, 'a core waits for more');
  clock.advance(18_500);
  assert.equal(follower.staleMs(), 20_000);
  answer([]);
  await new Promise(setImmediate);
  assert.equal(follower.staleMs(), 0);
  await follower.stop();
});

it('an event of a newer program stops it before that event, in silence, and tells who waits to go elsewhere', async () => {
  const store = fakeStore(upTo(3));
  const failures: unknown[] = [];
  const { follower, seen, lines } = follow(store, {
    tooNew: ({ seq }) => (seq === 3n ? 'newer' : undefined),
    onFailure: (error) => void failures.push(error),
  });
  follower.start();
  await assert.rejects(follower.catchUpTo(3n), StoreUnavailableError);
  await assert.rejects(follower.catchUpTo(3n), StoreUnavailableError);
  await follower.catchUpTo(2n);
  assert.deepEqual([seen, failures, lines], [[1, 2], [], []]);
  assert.equal(follower.isFollowing(), false);
  assert.equal(store.hinted(), 0);
  await follower.stop();
});
