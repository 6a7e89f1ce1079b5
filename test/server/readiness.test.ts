/** What /readyz says while memory follows the journal, and after an event failed. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { systemClock } from '../../src/core/clock.ts';
import { createMetrics } from '../../src/core/metrics.ts';
import type { Request } from '../../src/http/message.ts';
import { readinessOf } from '../../src/server/metrics.ts';
import { serviceRoutes } from '../../src/server/service.route.ts';
import type { State } from '../../src/server/state.ts';
import { createFollower } from '../../src/store/follower.ts';
import type { StoreEvent } from '../../src/store/store.ts';
import { guardOf } from '../support/server/guard.ts';
import { memoryLog } from '../support/server/memory-log.ts';

it('a server whose follower has failed is not ready, and says how far behind it stays', async () => {
  const clock = systemClock();
  const events = [1n, 2n, 3n].map((seq) => ({ seq }) as StoreEvent);
  let last = 1n;
  const store = {
    read: async (after: bigint) => events.filter(({ seq }) => seq > after && seq <= last),
    lastSeq: async () => last,
    onHint: () => () => {},
    writeState: () => ({ available: true, fatal: false, detail: '' }),
  };
  let failWith: (error: unknown) => void = () => {};
  const failed = new Promise((resolve) => {
    failWith = resolve;
  });
  const follower = createFollower({
    ...{ store, clock, from: 0n, log: memoryLog().log, onFailure: failWith },
    pollMs: 1,
    apply({ seq }) {
      if (seq === 2n) throw new Error('an event that nobody understands');
    },
  });
  const state = { follower, sources: { list: () => [] }, index: { size: () => 7 } };
  const routes = serviceRoutes({
    ...{
      guard: guardOf(),
      assets: { url: String },
      endpoints: [],
      clock,
      metrics: createMetrics(),
      metricsToken: undefined,
    },
    ...{ isProxied: false, baseUrl: 'http://localhost' },
    readiness: () => readinessOf(state as unknown as State, store, clock, isDraining),
  });
  let isDraining = false;
  async function ask() {
    const route = routes.find(({ path }) => path === '/readyz')!;
    const request: Partial<Request> = { method: 'GET', path: '/readyz', query: '', headers: {} };
    const reply = await route.handle(request as Request, { onGone: () => {} } as never);
    return { status: reply.status, ...JSON.parse(String(reply.body)) };
  }
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
