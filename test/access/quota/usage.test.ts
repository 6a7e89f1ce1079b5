/** Use by hour: what the quotas admit is added up, in the hour that runs. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createAccountsTable } from '../../../src/access/accounts/accounts-table.ts';
import { createQuotaMemory, openQuotas, quotaKind } from '../../../src/access/quota/quota.ts';
import { createUsage, usageHours } from '../../../src/access/quota/usage.ts';
import { manualClock } from '../../support/seeded.ts';

const hourMs = 3_600_000;
const startMs = Date.UTC(2026, 10, 21, 12, 30);

function bench() {
  const clock = manualClock(startMs);
  const accounts = createAccountsTable(4);
  for (let slot = 0; slot < 4; slot++) {
    const perMinute = 1_000_000;
    accounts.set(slot, {
      readPerMinute: perMinute,
      writePerMinute: perMinute,
      trust: 0,
      disabled: false,
    });
  }
  const handle = createQuotaMemory(4);
  const holders = [0, 1, 2, 3];
  const quotas = openQuotas({ handle, accounts, clock });
  const usage = createUsage({
    handle,
    accountCount: () => 4,
    generationOf: (slot) => holders[slot]!,
    clock,
  });
  const spend = (slot: number, kind: 0 | 1, cost: number) =>
    assert.ok(quotas.take(slot, kind, cost, clock.monotonicMs()));
  return { clock, usage, spend, holders };
}

it('counts reads and writes of an account in the hour that runs', () => {
  const { usage, spend } = bench();
  spend(2, quotaKind.read, 70_000);
  spend(2, quotaKind.write, 3);
  usage.sample();
  spend(2, quotaKind.read, 5);
  const hours = usage.of(2);
  assert.equal(hours.length, usageHours);
  assert.deepEqual(hours.at(-1), {
    at: Date.UTC(2026, 10, 21, 12),
    reads: 70_005,
    writes: 3,
  });
  assert.ok(hours.slice(0, -1).every(({ reads, writes }) => reads === 0 && writes === 0));
  assert.ok(usage.of(1).every(({ reads }) => reads === 0));
});

it('shows the next holder of a slot nothing of what the former used', () => {
  const { usage, spend, holders } = bench();
  spend(2, quotaKind.read, 70);
  usage.sample();
  spend(2, quotaKind.write, 3);
  holders[2] = 4;
  assert.ok(usage.of(2).every(({ reads, writes }) => reads === 0 && writes === 0));
  spend(2, quotaKind.read, 5);
  assert.deepEqual(usage.of(2).at(-1)?.reads, 5);
});

it('moves on by the hour and forgets after a day', () => {
  const { clock, usage, spend } = bench();
  spend(0, quotaKind.read, 1);
  usage.sample();
  clock.advance(hourMs);
  spend(0, quotaKind.read, 20);
  usage.sample();
  assert.deepEqual(
    usage
      .of(0)
      .slice(-2)
      .map(({ reads }) => reads),
    [1, 20],
  );
  clock.advance(23 * hourMs);
  const later = usage.of(0);
  assert.equal(later[0]!.reads, 20);
  assert.equal(
    later.reduce((sum, { reads }) => sum + reads, 0),
    20,
  );
  clock.advance(300 * hourMs);
  spend(0, quotaKind.read, 7);
  const last = usage.of(0);
  assert.deepEqual(
    last.map(({ reads }) => reads).filter((reads) => reads > 0),
    [7],
  );
  assert.equal(last.at(-1)!.at % hourMs, 0);
});
