/** What threads counted goes into the activity once, and comes back from the store. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createActivityCounters, createHourOfErrors } from '../../src/app/activity-counters.ts';
import { loadActivityCounters, startSampling } from '../../src/app/figures.ts';
import { createThreadCounters } from '../../src/app/threads/thread-counters.ts';
import { createLog } from '../../src/core/log.ts';
import { createTimings } from '../../src/core/timings.ts';
import { manualClock } from '../support/seeded.ts';
import { createMemoryStore } from '../support/server/memory-store.ts';

const startMs = Date.UTC(2026, 0, 1);
const paths = ['/api/v2/check', '/gate/check', '/ip'];

function open(store = createMemoryStore()) {
  const clock = manualClock(startMs);
  const activity = createActivityCounters(clock.now());
  const statuses = createHourOfErrors();
  const counters = createThreadCounters(2, paths);
  const timings = createTimings(2);
  const refused = new Map<string, number>();
  const sampling = startSampling({
    activity,
    statuses,
    counters,
    timings,
    clock,
    log: createLog('silent'),
    store: { ...store, writeState: () => ({ available: true, fatal: false, detail: '' }) },
    others: () => refused,
  });
  return { clock, activity, statuses, counters, timings, refused, sampling, store };
}

it('each request is counted once, whatever thread had it', async () => {
  const { clock, activity, statuses, counters, timings, refused, sampling } = open();
  counters.recorder(0)('/api/v2/check', 200);
  counters.recorder(1)('/api/v2/check', 200);
  counters.recorder(1)('/gate/check', 204);
  counters.recorder(1)('/api/v2/check', 429);
  counters.recorder(0)('/ip', 503);
  counters.recorder(0)('/ip', 303);
  timings.recorder(0)('check', 0.02);
  refused.set('reports_refused:invalid_parameter', 4);
  clock.advance(60_000);
  sampling.sample();
  sampling.sample();
  const all = new Map(activity.inAll().all.map(({ name, count }) => [name, count]));
  assert.deepEqual(Object.fromEntries(all), {
    'requests:2xx': 3,
    'requests:3xx': 1,
    'requests:4xx': 1,
    'requests:5xx': 1,
    checks: 3,
    'reports_refused:invalid_parameter': 4,
  });
  assert.deepEqual(
    statuses.read(clock.now()).map(({ name, count }) => [name, count]),
    [
      ['4xx /api/v2/check', 1],
      ['5xx /ip', 1],
    ],
  );
  await sampling.stop();
});

it('minutes have their checks and how long they took, and none before the first sample', async () => {
  const { clock, activity, counters, timings, sampling } = open();
  counters.recorder(0)('/api/v2/check', 200);
  timings.recorder(0)('check', 0.02);
  clock.advance(60_000);
  sampling.sample();
  clock.advance(60_000);
  sampling.sample();
  const [first, second] = activity.minutes(clock.now()).slice(-2);
  assert.equal(first!.startMs, startMs);
  assert.equal(first!.checks, 1);
  assert.ok(first!.p50! > 0.00001 && first!.p50! <= 0.000025);
  assert.deepEqual([second!.checks, second!.p50, second!.p99], [0, undefined, undefined]);
  await sampling.stop();
});

it('the next server goes on from what the last one wrote', async () => {
  const first = open();
  first.counters.recorder(0)('/api/v2/check', 200);
  first.activity.add('challenges:given', 7, startMs);
  await first.sampling.stop();
  const next = createActivityCounters(startMs + 5_000);
  assert.equal(await loadActivityCounters(first.store, next), true);
  assert.deepEqual(next.inAll().all, first.activity.inAll().all);
  assert.equal(next.inAll().of('checks'), 1);
  assert.equal(next.inAll().startMs, startMs);
});

it('a server that does nothing writes nothing', async () => {
  const { clock, sampling, store } = open();
  clock.advance(60_000);
  sampling.sample();
  await sampling.stop();
  assert.equal(await loadActivityCounters(store, createActivityCounters(startMs)), false);
});
