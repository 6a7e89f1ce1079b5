/** Limits of several nodes, by a model of what the network may do to their exchange. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createCluster, limitCounter, mostInAMinute, quotaCounter } from './cluster-model.ts';

const kinds = { quotas: quotaCounter, 'limits per client': limitCounter };
const stepMs = 50;
const never = () => false;

/** From 0 to 1, of a number. */
function randomOf(seed: number): () => number {
  let state = seed | 1;
  return () => {
    state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d);
    state = Math.imul(state ^ (state >>> 12), 0x297a2d39) ^ (state >>> 15);
    return (state >>> 0) / 2 ** 32;
  };
}

for (const [name, kind] of Object.entries(kinds)) {
  test(`${name}: no minute of all nodes has twice the limit, whatever is late, lost or dead`, async () => {
    const drawn = fc.record({
      nodes: fc.integer({ min: 2, max: 5 }),
      limit: fc.integer({ min: 10, max: 120 }),
      seed: fc.integer({ min: 1, max: 2 ** 30 }),
      delayMsMax: fc.constantFrom(0, 100, 900),
      lossShare: fc.constantFrom(0, 0.1, 0.6),
      /** Of the seconds: the others are silent, so that all come at once. */
      busyShare: fc.constantFrom(0.05, 0.5, 1),
      deaths: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(drawn, async ({ nodes, limit, seed, busyShare, deaths, ...network }) => {
        const random = randomOf(seed);
        const weather = { ...network, random, isAway: never };
        const cluster = createCluster({ kind, limit, nodes, weather });
        let eager: number[] = [];
        let isAsked = false;
        for (let step = 0; step < 1_800; step++) {
          if (step % 20 === 0) {
            const isBusy = random() < busyShare;
            eager = Array.from({ length: nodes }, () => (isBusy ? random() * random() : 0));
          }
          await cluster.step(stepMs);
          for (let i = 0; i < nodes; i++) {
            for (let call = 0; call < eager[i]! * limit; call++) {
              cluster.take(i);
              isAsked = true;
            }
          }
          if (deaths && random() < 0.001) cluster.replace(Math.floor(random() * nodes));
        }
        const most = mostInAMinute(cluster.admitted());
        assert.ok(most < 2 * limit, `${most} of ${limit} through ${nodes} nodes`);
        // A time in which everybody is silent may be drawn too.
        if (network.lossShare === 0) assert.equal(most > 0, isAsked);
      }),
      { numRuns: 12 },
    );
  });

  test(`${name}: all nodes at once, and then as fast as they can, keep the limit but for a second`, async () => {
    for (const nodes of [2, 3, 5]) {
      const [limit, perStep] = [600, 1];
      const weather = { random: randomOf(nodes), delayMsMax: 40, lossShare: 0, isAway: never };
      const cluster = createCluster({ kind, limit, nodes, weather });
      for (let step = 0; step < 4_000; step++) {
        await cluster.step(stepMs);
        for (let i = 0; i < nodes; i++) for (let n = 0; n < perStep; n++) cluster.take(i);
      }
      const perSecond = (nodes * perStep * 1_000) / stepMs;
      const most = mostInAMinute(cluster.admitted());
      assert.ok(most <= limit + perSecond, `${most} through ${nodes} nodes`);
      assert.ok(most >= limit, 'all of it is admitted');
    }
  });

  test(`${name}: while nothing is exchanged each node admits its share, and again all afterwards`, async () => {
    const [nodes, limit] = [3, 60];
    const [awayMs, backMs] = [100_000, 300_000];
    const isAway = (atMs: number) => atMs >= awayMs && atMs < backMs;
    const weather = { random: randomOf(7), delayMsMax: 40, lossShare: 0, isAway };
    const cluster = createCluster({ kind, limit, nodes, weather });
    while (cluster.nowMs() < 480_000) {
      await cluster.step(stepMs);
      // Through one node alone once it is over.
      for (let i = 0; i < (cluster.nowMs() < backMs ? nodes : 1); i++) cluster.take(i);
    }
    const whole = mostInAMinute(cluster.admitted());
    assert.ok(whole < 2 * limit, `${whole}`);
    const away = mostInAMinute(cluster.admitted(), awayMs + 1_100, backMs);
    assert.ok(away <= limit && away >= limit - nodes, `${away} while it is away`);
    const back = mostInAMinute(cluster.admitted(), backMs + 70_000);
    assert.equal(back, limit, 'one node alone has all of it');
  });
}
