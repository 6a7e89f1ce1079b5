/** Limits per client against a slow model that keeps every request. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import fc from 'fast-check';
import {
  createClientLimits,
  createLimitMemory,
  openLimitRecords,
} from '../../../src/access/quota/client-limits.ts';
import { systemRandom } from '../../../src/core/random.ts';
import { clientOf } from '../../../src/ip/networks.ts';

const windowMs = 60_000;
const memory = (capacity = 64) => createLimitMemory(capacity, systemRandom());
const shared = () => openLimitRecords(memory());
/** Where clients may be counted: in the thread alone, and in shared memory. */
const rooms = { own: () => 64, shared };

for (const [kind, room] of Object.entries(rooms))
  test(`any requests agree with a model that keeps them all, ${kind}`, () => {
    const request = fc.record({
      client: fc.constantFrom('a', 'b', 'c'),
      waitMs: fc.oneof(
        fc.integer({ min: 0, max: 200 }),
        fc.integer({ min: 0, max: 20_000 }),
        fc.constantFrom(4_999, 5_000, 60_000, 64_999, 65_000, 80_000, 86_400_000),
      ),
    });
    fc.assert(
      fc.property(
        fc.array(request, { maxLength: 300 }),
        fc.integer({ min: 1, max: 20 }),
        fc.integer({ min: 0, max: 1e9 }),
        (requests, max, startMs) => {
          const limits = createClientLimits({ page: { max, windowMs } }, room());
          const admitted: { client: string; atMs: number }[] = [];
          let nowMs = startMs;
          for (const { client, waitMs } of requests) {
            nowMs += waitMs;
            const own = admitted.filter((r) => r.client === client);
            const slice = Math.floor(nowMs / 5_000);
            const used = own.filter((r) => Math.floor(r.atMs / 5_000) >= slice - 12).length;
            const retryAfter = limits.takeOrWait('page', client, nowMs);
            assert.equal(retryAfter === 0, used < max);
            if (retryAfter === 0) admitted.push({ client, atMs: nowMs });
            else {
              const then = Math.floor((nowMs + retryAfter * 1_000) / 5_000);
              const left = own.filter((r) => Math.floor(r.atMs / 5_000) >= then - 12).length;
              assert.ok(left < max, 'waiting that long is enough');
            }
            const inWindow = own.filter((r) => r.atMs > nowMs - windowMs).length;
            assert.ok(inWindow + (retryAfter === 0 ? 1 : 0) <= max);
          }
        },
      ),
      { seed: 1, numRuns: 300 },
    );
  });

for (const [kind, room] of Object.entries(rooms))
  test(`a charge counts past the limit, and waiting as long as told is enough, ${kind}`, () => {
    const step = fc.record({
      cost: fc.integer({ min: 0, max: 9 }),
      waitMs: fc.constantFrom(0, 0, 0, 100, 4_999, 5_000, 20_000, 65_000),
    });
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 80 }),
        fc.integer({ min: 1, max: 12 }),
        (steps, max) => {
          const limits = createClientLimits({ page: { max, windowMs } }, room());
          const counted: { units: number; slice: number }[] = [];
          const usedAt = (nowMs: number) => {
            const oldest = Math.floor(nowMs / 5_000) - 12;
            return counted.reduce((sum, c) => sum + (c.slice >= oldest ? c.units : 0), 0);
          };
          let nowMs = 0;
          for (const { cost, waitMs } of steps) {
            nowMs += waitMs;
            const used = usedAt(nowMs);
            const retryAfter = limits.takeOrWait('page', 'a', nowMs);
            assert.equal(retryAfter === 0, used < max);
            if (retryAfter > 0) {
              assert.ok(usedAt(nowMs + retryAfter * 1_000) < max, 'waiting that long is enough');
              const sooner = nowMs + retryAfter * 1_000 - 6_000;
              if (sooner > nowMs) assert.ok(usedAt(sooner) >= max, 'waiting so long is needed');
              continue;
            }
            limits.charge('page', 'a', nowMs, cost);
            counted.push({ units: 1 + cost, slice: Math.floor(nowMs / 5_000) });
          }
        },
      ),
      { seed: 2, numRuns: 300 },
    );
  });

test('limits and clients do not share', () => {
  const limits = createClientLimits({ a: { max: 1, windowMs }, b: { max: 2, windowMs } });
  assert.equal(limits.takeOrWait('a', 'x', 0), 0);
  assert.equal(limits.takeOrWait('b', 'x', 0), 0);
  assert.equal(limits.takeOrWait('a', 'y', 0), 0);
  assert.equal(limits.takeOrWait('a', 'x', 0), 65);
  assert.equal(limits.takeOrWait('b', 'x', 0), 0);
  assert.equal(limits.takeOrWait('b', 'x', 64_500), 1);
});

test('at the bound the client quiet for longest is forgotten', () => {
  const limits = createClientLimits({ page: { max: 1, windowMs } }, 3);
  for (const client of ['a', 'b', 'c']) assert.equal(limits.takeOrWait('page', client, 0), 0);
  assert.notEqual(limits.takeOrWait('page', 'a', 0), 0);
  assert.equal(limits.takeOrWait('page', 'd', 0), 0);
  assert.equal(limits.size, 3);
  assert.notEqual(limits.takeOrWait('page', 'a', 0), 0);
  assert.notEqual(limits.takeOrWait('page', 'c', 0), 0);
  assert.equal(limits.takeOrWait('page', 'b', 0), 0);
});

test('IPv6 clients are told apart by their /64, IPv4 clients by their address', () => {
  const words = (...w: number[]) => Uint32Array.from(w);
  const home = clientOf(6, words(0x20010db8, 1, 2, 3));
  assert.equal(clientOf(6, words(0x20010db8, 1, 9, 9)), home);
  assert.notEqual(clientOf(6, words(0x20010db8, 2, 2, 3)), home);
  assert.notEqual(clientOf(4, words(0xc0000201, 0, 0, 0)), clientOf(4, words(0xc0000202)));
  assert.notEqual(clientOf(4, words(1, 2, 0, 0)), clientOf(6, words(1, 2, 0, 0)));
});

test('a limit that can not be counted is a bug', () => {
  for (const limit of [
    { max: 0, windowMs },
    { max: 65_536, windowMs },
    { max: 1, windowMs: 0 },
  ]) {
    assert.throws(() => createClientLimits({ page: limit }), RangeError);
  }
});

test('shared records are counted by all who open them, however they are used', async () => {
  const shared = memory(512);
  const clients = 40;
  const source = (name: string) => new URL(`../../../src/access/quota/${name}.js`, import.meta.url);
  const counting = `
    import { parentPort, workerData } from 'node:worker_threads';
    import { createClientLimits } from ${JSON.stringify(source('client-limits'))};
    import { openLimitRecords } from ${JSON.stringify(source('client-limits'))};
    const { shared, clients } = workerData;
    const limits = createClientLimits({ page: { max: 1000, windowMs: 60000 } }, openLimitRecords(shared));
    let admitted = 0;
    for (let i = 0; i < clients * 800; i++) {
      if (limits.takeOrWait('page', 'client ' + (i % clients), 1000) === 0) admitted++;
    }
    parentPort.postMessage(admitted);`;
  const admitted = await Promise.all(
    [1, 2, 3].map(async () => {
      const worker = new Worker(counting, {
        eval: true,
        execArgv: ['--input-type=module'],
        workerData: { shared, clients },
      });
      const [count] = await once(worker, 'message');
      await worker.terminate();
      return count as number;
    }),
  );
  assert.equal(
    admitted.reduce((sum, count) => sum + count, 0),
    clients * 1_000,
  );
  assert.equal(openLimitRecords(shared).size, clients);
});

test('where a group is full, the client that was not seen for longest is forgotten', () => {
  const limits = createClientLimits({ page: { max: 1, windowMs } }, openLimitRecords(memory(8)));
  for (let client = 0; client < 8; client++)
    assert.equal(limits.takeOrWait('page', `${client}`, 0), 0);
  assert.notEqual(limits.takeOrWait('page', '0', 0), 0);
  assert.equal(limits.takeOrWait('page', 'one more', 0), 0);
  assert.equal(limits.size, 8);
  assert.notEqual(limits.takeOrWait('page', '0', 0), 0);
  assert.equal(limits.takeOrWait('page', '1', 0), 0);
});

test('a thread that ended in the middle locks nobody out', () => {
  const shared = memory(8);
  const records = openLimitRecords(shared);
  const limits = createClientLimits({ page: { max: 1, windowMs } }, records);
  records.with('page a', 0, () => limits.takeOrWait('page', 'a', 0));
  assert.notEqual(limits.takeOrWait('page', 'a', 0), 0);
});
