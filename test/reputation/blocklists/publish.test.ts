/** When a build begins, and what happens when it fails or can't be stored. */

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Built } from '../../../src/reputation/blocklists/builder/build.ts';
import { createFeedPublisher } from '../../../src/reputation/blocklists/publish.ts';
import { manualClock } from '../../support/seeded.ts';
import { memoryLog } from '../../support/server/memory-log.ts';
import { createMemoryStore } from '../../support/server/memory-store.ts';

const stats = { entries: 0, dropped: 0, textBytes: 0, gzipBytes: 0, brotliBytes: 0 };
const tickMs = 250;

function builtAt(version: number): Built {
  const none = new Uint8Array();
  return {
    files: [],
    changes: {
      version,
      since: [version],
      addedBytes: [0],
      removedBytes: [0],
      added: none,
      removed: none,
    },
    head: { version, floor: version, baseVersion: version, contents: [] },
    step: undefined,
    dropped: [],
    base: Uint8Array.of(3, 0),
    origins: Uint8Array.of(version % 256),
    stats,
  };
}

/** @param isAsked somebody asks for a feed at once */
function world(t: TestContext, intervalMs = 60_000, isAsked = true) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const clock = manualClock(Date.UTC(2026, 10, 21, 9));
  const memory = createMemoryStore();
  const state = {
    position: 1n,
    allowlistVersion: 0,
    available: true,
    failing: false,
    hasRows: false,
  };
  const builds: number[] = [];
  const threads = { opened: 0, closed: 0 };
  const given: (Uint8Array | undefined)[] = [];
  const publisher = createFeedPublisher({
    store: {
      ...memory,
      writeState: () => ({ available: state.available, fatal: false, detail: '' }),
    },
    clock,
    log: memoryLog().log,
    openThread: (restored) => ({
      opened: ++threads.opened,
      given: given.push(restored?.origins),
      async build(nowMs) {
        builds.push(clock.monotonicMs());
        if (state.failing) throw new Error('told to fail');
        return builtAt(nowMs);
      },
      adopt: () => Promise.reject(new Error('nobody else builds')),
      async close() {
        threads.closed++;
      },
    }),
    hasEntries: () => state.hasRows,
    appliedSeq: () => state.position,
    allowlistVersion: () => state.allowlistVersion,
    intervalMs,
    onPublished: () => {},
    onReplaced: () => {},
  });
  /** Ticks of so long in all, each with what it begins done. */
  async function pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += tickMs) {
      clock.advance(tickMs);
      t.mock.timers.tick(tickMs);
      for (let turn = 0; turn < 12; turn++) await new Promise(setImmediate);
    }
  }
  t.after(() => publisher.stop());
  publisher.start();
  if (isAsked) void publisher.first(0);
  return { publisher, memory, state, builds, threads, given, pass };
}

test('nothing is built while nobody asks and there is nothing to list, and at once for who asks', async (t) => {
  const { builds, state, threads, pass, publisher } = world(t, 60_000, false);
  state.position++;
  await pass(3_700_000);
  assert.deepEqual([builds.length, threads.opened], [0, 0]);
  const asked = publisher.first(5_000);
  await pass(tickMs);
  assert.equal(await asked, publisher.current());
  assert.ok(publisher.current() !== undefined);
  assert.equal(builds.length, 1);
});

test('what there is to list is built ten seconds after the start, when nobody asked sooner', async (t) => {
  const { builds, state, pass } = world(t, 60_000, false);
  state.hasRows = true;
  await pass(9_000);
  assert.equal(builds.length, 0);
  await pass(1_500);
  assert.equal(builds.length, 1);
});

test('a change is built once in an interval, an urgent one at once, and the full hour always', async (t) => {
  const { builds, state, pass } = world(t);
  await pass(1_000);
  state.position++;
  await pass(2_000);
  assert.equal(builds.length, 2, 'the first build delays nothing');
  for (let second = 0; second < 50; second++) {
    state.position++;
    await pass(1_000);
  }
  assert.equal(builds.length, 2);
  state.position++;
  state.allowlistVersion++;
  await pass(1_500);
  assert.equal(builds.length, 3);
  await pass(3_600_000 - builds.at(-1)! + tickMs);
  assert.equal(builds.length, 4);
  assert.ok(builds.at(-1)! >= 3_600_000);
});

test('the building thread ends after half a quiet minute, and the next change starts another', async (t) => {
  const { builds, state, threads, given, pass, publisher } = world(t);
  await pass(29_000);
  assert.deepEqual([builds.length, threads], [1, { opened: 1, closed: 0 }]);
  await pass(2_000);
  assert.deepEqual([builds.length, threads], [1, { opened: 1, closed: 1 }]);
  await pass(120_000);
  assert.deepEqual(threads, { opened: 1, closed: 1 }, 'once');
  const { version } = publisher.current()!.changes;
  state.position++;
  await pass(2_000);
  assert.deepEqual([builds.length, threads], [2, { opened: 2, closed: 1 }]);
  assert.deepEqual(
    given,
    [undefined, Uint8Array.of(version % 256)],
    'it knows by whom all is there',
  );
});

test('changes that never end are waited for no longer than three seconds', async (t) => {
  const { builds, state, pass } = world(t, 10_000);
  for (let i = 0; i < 4 * 60; i++) {
    state.position++;
    await pass(tickMs);
  }
  const gaps = builds.slice(2).map((at, i) => at - builds[i + 1]!);
  assert.ok(builds.length >= 5);
  assert.ok(
    gaps.every((gap) => gap >= 10_000 && gap <= 13_500),
    gaps.join(' '),
  );
});

test('after failures the next attempt comes ever later, after a success soon again', async (t) => {
  const { builds, state, pass, publisher } = world(t);
  state.failing = true;
  state.position++;
  await pass(200_000);
  const gaps = builds.slice(1).map((at, i) => at - builds[i]!);
  assert.deepEqual(
    gaps.map((gap) => Math.round(gap / 1_000)),
    [5, 10, 20, 40, 80],
  );
  assert.equal(publisher.current(), undefined);
  state.failing = false;
  await pass(300_000);
  assert.ok(publisher.current() !== undefined);
  const before = builds.length;
  state.failing = true;
  state.position++;
  await pass(75_000);
  assert.ok(builds.length >= before + 2, 'five seconds again');
});

test('while the store takes no writes nothing is built, and what is served stays', async (t) => {
  const { builds, state, memory, pass, publisher } = world(t);
  await pass(1_000);
  const served = publisher.current();
  assert.ok(served !== undefined);
  memory.failFrom(0);
  state.position++;
  await pass(2_000);
  assert.equal(builds.length, 2, 'one build finds out');
  state.available = false;
  state.allowlistVersion++;
  await pass(600_000);
  assert.equal(builds.length, 2);
  assert.equal(publisher.current(), served);
  state.available = true;
  memory.failFrom(undefined);
  await pass(2_000);
  assert.equal(builds.length, 3);
  assert.notEqual(publisher.current(), served);
});
