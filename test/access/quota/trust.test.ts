/** Trust and quotas: the fixed points that the documentation promises, and their bounds. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { readQuota, trustFromPoints, writeQuota } from '../../../src/access/quota/points.ts';

test('no points mean no trust, and points under zero no less', () => {
  assert.equal(trustFromPoints(0), 0);
  assert.equal(trustFromPoints(-500), 0);
});

test('200 points mean a trust of 63', () => {
  assert.equal(Math.round(trustFromPoints(200)), 63);
  assert.equal(Math.round(trustFromPoints(60)), 26);
});

test('quotas run from the base to ten times the base', () => {
  assert.deepEqual([readQuota(0), writeQuota(0)], [1_000, 50]);
  assert.deepEqual([readQuota(10), writeQuota(10)], [1_900, 95]);
  assert.deepEqual([readQuota(100), writeQuota(100)], [10_000, 500]);
  assert.deepEqual([readQuota(1e9), writeQuota(-3)], [10_000, 50]);
});

test('more points never mean less trust or a smaller quota', () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true }), fc.double({ noNaN: true }), (a, b) => {
      const [low, high] = a <= b ? [a, b] : [b, a];
      const [lowTrust, highTrust] = [trustFromPoints(low), trustFromPoints(high)];
      assert.ok(lowTrust >= 0 && lowTrust <= highTrust && highTrust <= 100);
      assert.ok(readQuota(lowTrust) <= readQuota(highTrust));
      assert.ok(Number.isInteger(writeQuota(highTrust)));
    }),
    { seed: 1 },
  );
});

test('a missing number is a bug', () => {
  assert.throws(() => trustFromPoints(Number.NaN), RangeError);
  assert.throws(() => readQuota(Number.NaN), RangeError);
});
