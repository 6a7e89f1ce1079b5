/** The route of a bulk report over a store that the test holds: order, waiting, a store that stops. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../../../src/core/clock.ts';
import { fail, ok } from '../../../src/core/result.ts';
import { createScheduler } from '../../../src/core/scheduling.ts';
import type { GeoReader } from '../../../src/geo/reader.ts';
import type { Check } from '../../../src/reputation/check/check.ts';
import { bulkReportRoute } from '../../../src/reputation/reports/bulk-report.route.ts';
import type { ReportStore } from '../../../src/reputation/reports/store/report-store.ts';
import { guardOf } from '../../support/server/guard.ts';

interface Bulk {
  readonly savedReports: number;
  readonly invalidReports: { error: string; input: string; rowNumber: number }[];
}

interface WorldOptions {
  readonly savesMax?: number;
  readonly catchUpTo?: (seq: bigint) => Promise<void>;
  /** Slot of the key; -1: it is good no more. */
  readonly authenticate?: () => number;
}

function world(options: WorldOptions = {}) {
  const { savesMax = Number.POSITIVE_INFINITY, catchUpTo = async () => {} } = options;
  const { authenticate = () => 0 } = options;
  const clock = systemClock();
  const saved: string[] = [];
  let underWay = 0;
  let underWayMax = 0;
  const reports: Pick<ReportStore, 'add'> = {
    async add(_reporter, report) {
      underWayMax = Math.max(underWayMax, ++underWay);
      await new Promise(setImmediate);
      underWay--;
      if (saved.length >= savesMax) return fail('store_unavailable');
      saved.push(report.ip);
      return ok({ id: '', seq: BigInt(saved.length) });
    },
  };
  const quotas = { limit: 50, remaining: 49, resetSecond: 1, retryAfterSeconds: 0 };
  const quotaGuard = { authenticate, spend: () => true, quotas };
  const geo = { find: () => 0, country: () => 'ZZ' } as unknown as GeoReader;
  const { route } = bulkReportRoute({
    guard: guardOf({ quotaGuard }),
    slotOf: authenticate,
    geo,
    check: { judge: () => ({ anonymousExit: false }) } as unknown as Check,
    clock,
    scheduler: createScheduler(clock.monotonicMs),
    reports: reports as ReportStore,
    accountOf: () => 'a',
    catchUpTo,
    allowDocumentation: false,
    serverAddresses: [],
    onRefused: () => {},
    recordRefusal: () => {},
  });
  return {
    saved,
    underWayMax: () => underWayMax,
    send(csv: string) {
      const text = `--b\r\nContent-Disposition: form-data; name="csv"\r\n\r\n${csv}\r\n--b--\r\n`;
      async function* body() {
        yield Buffer.from(text);
      }
      const request = {
        method: 'POST' as const,
        path: route.path,
        param: '',
        query: '',
        headers: { key: ['k'], 'content-type': ['multipart/form-data; boundary=b'] },
        body: new Uint8Array(0),
        clientIp: '192.0.2.1',
        id: 'r1',
      };
      return route.handle(request, body());
    },
  };
}

const addresses = (count: number) =>
  Array.from({ length: count }, (_, i) => `9.9.${i >> 8}.${i & 255}`);
const csvOf = (count: number) =>
  addresses(count)
    .map((ip) => `${ip},18\n`)
    .join('');
const dataOf = (body: unknown) => (JSON.parse(String(body)) as { data: Bulk }).data;

test('rows are saved in their order, many at a time, but not all', async () => {
  const w = world();
  const reply = await w.send(csvOf(5_000));
  assert.deepEqual(dataOf(reply.body), { savedReports: 5_000, invalidReports: [] });
  assert.deepEqual(w.saved, addresses(5_000));
  assert.ok(w.underWayMax() > 100 && w.underWayMax() <= 1_000, `${w.underWayMax()}`);
});

test('the answer waits until the last event is in memory', async () => {
  const asked: bigint[] = [];
  let arrive = (): void => {};
  const w = world({
    catchUpTo: (seq) => {
      asked.push(seq);
      return new Promise((resolve) => {
        arrive = resolve;
      });
    },
  });
  let isAnswered = false;
  const reply = w.send(csvOf(300)).then(() => {
    isAnswered = true;
  });
  while (asked.length === 0) await new Promise(setImmediate);
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
  assert.deepEqual([asked, isAnswered], [[300n], false]);
  arrive();
  await reply;
  assert.deepEqual(asked, [300n]);
});

test('a key that ended while its file was under way saves nothing', async () => {
  for (const later of [-1, 7]) {
    const slots = [0];
    const w = world({ authenticate: () => slots.shift() ?? later });
    const reply = await w.send(csvOf(3));
    assert.equal(reply.status, 401);
    assert.deepEqual(w.saved, []);
  }
});

test('a store that takes nothing makes a 503 with Retry-After', async () => {
  const w = world({ savesMax: 0 });
  const reply = await w.send(`x,18\n${csvOf(2_000)}`);
  assert.equal(reply.status, 503);
  assert.ok(reply.headers.some(([name, value]) => name === 'Retry-After' && Number(value) > 0));
});

test('a store that stops half-way makes an answer that names each row it did not take', async () => {
  const w = world({ savesMax: 700 });
  const reply = await w.send(`x,18\n${csvOf(2_000)}`);
  assert.equal(reply.status, 200);
  const { savedReports, invalidReports } = dataOf(reply.body);
  assert.equal(savedReports, 700);
  assert.deepEqual(
    invalidReports.map(({ input, rowNumber }) => [input, rowNumber]),
    [
      ['x', 1],
      ...addresses(2_000)
        .slice(700)
        .map((ip, i) => [ip, 702 + i]),
    ],
  );
  assert.ok(invalidReports.slice(1).every(({ error }) => error.startsWith('Not saved: ')));
});
