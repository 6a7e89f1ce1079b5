/** What /readyz says while memory follows the journal, and after an event failed. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { type Readiness, readinessOf, serviceRoutes } from '../../src/app/service/service.route.ts';
import type { State } from '../../src/app/state.ts';
import { systemClock } from '../../src/core/clock.ts';
import { createMetrics } from '../../src/core/metrics.ts';
import type { Request } from '../../src/http/request/message.ts';
import { createFollower } from '../../src/storage/journal/follower.ts';
import type { MemoryVerdict } from '../../src/storage/nodes/digests.ts';
import { type StoreEvent, StoreUnavailableError } from '../../src/storage/store.ts';
import { guardOf } from '../support/server/guard.ts';
import { memoryLog } from '../support/server/memory-log.ts';

/** What /readyz answers. */
async function readyzOf(readiness: () => Promise<Readiness>) {
  const urls = { baseUrl: 'http://localhost', secureUrl: 'http://localhost' };
  const routes = serviceRoutes({
    guard: guardOf(),
    assets: { url: String, brand: {} },
    endpoints: [],
    clock: systemClock(),
    metrics: createMetrics(),
    readiness,
    config: { ...urls, metricsToken: undefined, host: '', trustedProxies: [] },
  });
  const route = routes.find(({ path }) => path === '/readyz')!;
  const request: Partial<Request> = { method: 'GET', path: '/readyz', query: '', headers: {} };
  const reply = await route.handle(request as Request, { onGone: () => {} } as never);
  return { status: reply.status, ...JSON.parse(String(reply.body)) };
}

it('a server whose follower has failed is not ready, and says how far behind it stays', async () => {
  const clock = systemClock();
  const events = [1n, 2n, 3n].map((seq) => ({ seq }) as StoreEvent);
  let last = 1n;
  const store = {
    read: async (after: bigint) => events.filter(({ seq }) => seq > after && seq <= last),
    lastSeq: async () => last,
    onJournalGrowth: () => () => {},
    writeState: () => ({ available: true, fatal: false, detail: '' }),
  };
  let failWith: (error: unknown) => void = () => {};
  const failed = new Promise((resolve) => {
    failWith = resolve;
  });
  const follower = createFollower({
    store,
    clock,
    from: 0n,
    log: memoryLog().log,
    onFailure: failWith,
    pollMs: 1,
    apply({ seq }) {
      if (seq === 2n) throw new Error('an event that nobody understands');
    },
  });
  const state = { follower, sources: { list: () => [] }, index: { size: () => 7 } };
  let isDraining = false;
  const ask = () =>
    readyzOf(() => readinessOf(state as unknown as State, store, clock, isDraining));
  const facts = { writable: true, draining: false, entries: 7, newestListAgeSeconds: null };

  assert.deepEqual(await ask(), {
    status: 503,
    ready: false,
    indexLoaded: false,
    ...facts,
    behind: 1,
  });
  follower.start();
  await follower.catchUpTo(1n);
  assert.deepEqual(await ask(), {
    status: 200,
    ready: true,
    indexLoaded: true,
    ...facts,
    behind: 0,
  });
  isDraining = true;
  const { status, ready, draining } = await ask();
  assert.deepEqual([status, ready, draining], [503, false, true]);
  isDraining = false;
  last = 3n;
  await failed;
  assert.deepEqual(await ask(), {
    status: 503,
    ready: false,
    indexLoaded: false,
    ...facts,
    behind: 2,
  });
  await follower.stop();
});

it('a database that says nothing holds up no answer', async () => {
  const store = {
    lastSeq: () => new Promise<bigint>(() => {}),
    writeState: () => ({ available: true, fatal: false, detail: '' }),
  };
  const follower = { staleMs: () => 0, appliedSeq: () => 1n, isFollowing: () => true };
  const state = { follower, sources: { list: () => [] }, index: { size: () => 7 } };
  const member = { memory: () => 'unknown' as const, isOutdated: () => false };
  // The wait for the database alone doesn't keep the process alive.
  const alive = setInterval(() => {}, 1_000);
  const { status, writable, staleSeconds } = await readyzOf(() =>
    readinessOf(state as unknown as State, store, systemClock(), false, member),
  );
  clearInterval(alive);
  assert.deepEqual([status, writable, staleSeconds], [200, false, 1]);
});

it('a node is ready for 15 minutes without the database and says how stale it is; an outvoted memory is not ready', async () => {
  const clock = systemClock();
  let staleMs = 0;
  let memory: MemoryVerdict = 'agrees';
  let isOutdated = false;
  let isAway = true;
  const store = {
    async lastSeq() {
      if (isAway) throw new StoreUnavailableError('away');
      return 1n;
    },
    writeState: () => ({ available: true, fatal: false, detail: '' }),
  };
  const follower = { staleMs: () => staleMs, appliedSeq: () => 1n, isFollowing: () => true };
  const state = { follower, sources: { list: () => [] }, index: { size: () => 7 } };
  const readiness = () =>
    readinessOf(state as unknown as State, store, clock, false, {
      memory: () => memory,
      isOutdated: () => isOutdated,
    });
  async function ask() {
    const { status, writable, staleSeconds, memory } = await readyzOf(readiness);
    return { status, writable, staleSeconds, memory };
  }
  const agrees = { memory: 'agrees', writable: false };
  assert.deepEqual(await ask(), { status: 200, ...agrees, staleSeconds: 1 });
  staleMs = 900_000;
  assert.deepEqual(await ask(), { status: 200, ...agrees, staleSeconds: 900 });
  staleMs++;
  assert.deepEqual(await ask(), { status: 503, ...agrees, staleSeconds: 901 });
  isAway = false;
  const back = { writable: true, staleSeconds: 0 };
  assert.deepEqual(await ask(), { status: 200, memory: 'agrees', ...back });
  memory = 'differs';
  assert.deepEqual(await ask(), { status: 200, memory, ...back });
  memory = 'outvoted';
  assert.deepEqual(await ask(), { status: 503, memory, ...back });
  memory = 'agrees';
  isOutdated = true;
  assert.deepEqual(await ask(), { status: 503, memory, writable: false, staleSeconds: 0 });
});
