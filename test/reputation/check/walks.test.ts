/** Routes that walk over reports: so many at a time, and 503 beyond those that may wait. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { ok } from '../../../src/core/result.ts';
import { createSemaphore } from '../../../src/core/scheduling.ts';
import type { Caller, PlainRoute } from '../../../src/http/router.ts';
import { checkBlockRoute } from '../../../src/reputation/check/check-block.route.ts';
import { clearAddressRoute } from '../../../src/reputation/reports/reports.route.ts';
import { manualClock } from '../../support/seeded.ts';
import { guardOf } from '../../support/server/guard.ts';

type BlockOptions = Parameters<typeof checkBlockRoute>[0];

const quotas = { limit: 50, remaining: 49, resetSecond: 1, retryAfterSeconds: 0 };
const quotaGuard = {
  authenticate: () => 0,
  spend: () => true,
  quotas,
};
const caller: Caller = { onGone: () => {} };

/** Work that lasts until `finish`. */
function held() {
  let finish = (): void => {};
  const until = new Promise<void>((resolve) => {
    finish = resolve;
  });
  return { until, finish: () => finish() };
}

async function ask(route: PlainRoute, query: string) {
  const request = {
    method: route.method,
    path: route.path,
    param: '',
    query,
    headers: { key: ['k'] },
    body: new Uint8Array(0),
    clientIp: '192.0.2.1',
    id: 'r1',
  };
  return route.handle(request, caller);
}

async function proveTurns(
  route: PlainRoute,
  query: string,
  started: () => number,
  end: () => void,
) {
  const first = [ask(route, query), ask(route, query)];
  const third = ask(route, query);
  await new Promise(setImmediate);
  assert.equal(started(), 1);
  end();
  assert.equal((await third).status, 503);
  const answers = await Promise.all(first);
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 200],
  );
}

it('a block is walked in its turn', async () => {
  const { until, finish } = held();
  let started = 0;
  const route = checkBlockRoute({
    guard: guardOf({ quotaGuard }),
    geo: {} as BlockOptions['geo'],
    clock: manualClock(0),
    scheduler: {
      beginSlice() {},
      yield: async () => {},
      shouldYield: () => false,
      workedMs: () => 0,
    },
    walks: createSemaphore({ runningMax: 1, waitingMax: 1 }),
    blockCheck: {
      async find() {
        started++;
        await until;
        return ok([]);
      },
    },
  });
  await proveTurns(route, 'network=8.8.8.0/24', () => started, finish);
});

it('an address is cleared in its turn', async () => {
  const { until, finish } = held();
  let started = 0;
  const route = clearAddressRoute({
    guard: guardOf({ quotaGuard }),
    accountOf: () => 'a',
    catchUpTo: async () => {},
    walks: createSemaphore({ runningMax: 1, waitingMax: 1 }),
    reports: {
      async withdraw() {
        started++;
        await until;
        return ok({ removed: 0, seq: 0n });
      },
    },
  });
  await proveTurns(route, 'ipAddress=8.8.8.8', () => started, finish);
});
