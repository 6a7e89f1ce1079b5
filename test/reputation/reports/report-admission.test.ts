/** New addresses of an account are counted by UTC day, bounded by its trust, and survive a restart. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { secondsLeftOfDay } from '../../../src/access/quota/points.ts';
import { createReportAdmission } from '../../../src/reputation/reports/store/report-guards.ts';
import { applyEvent } from '../../support/reputation/events.ts';
import { addressOf, openWorld, type World, worldStart } from './report-world.ts';

const dayMs = 86_400_000;

function admissionOf(world: World) {
  return createReportAdmission({
    entries: world.entries,
    clock: { now: () => world.at.now, monotonicMs: () => 0 },
    newAddresses: world.access.newAddresses,
    secondsLeftOfDay,
    catchUpTo: async () => undefined,
  });
}

function worldWithQuota(writePerMinute: number): World {
  const world = openWorld({});
  for (const id of ['a', 'b']) world.account(id);
  const quotas = { account: 'a', readPerMinute: 1, writePerMinute } as const;
  applyEvent(world.access, { kind: 'account.quotas', ...quotas }, world.at.now);
  return world;
}

function refusal(world: World, account: string, ip: string): string | undefined {
  const { family, words } = addressOf(ip);
  const admitted = admissionOf(world).admit(world.access.account(account)!.slot, family, words);
  return admitted.ok ? undefined : admitted.error;
}

it('an account adds 40 new addresses for each write a minute, until the UTC day is over', () => {
  const world = worldWithQuota(1);
  world.at.now = worldStart + 1_500;
  for (let i = 0; i < 40; i++) {
    const ip = i % 2 === 0 ? `9.9.9.${i}` : `2606:4700::${i.toString(16)}`;
    assert.equal(refusal(world, 'a', ip), undefined, ip);
    world.report('a', ip);
  }
  assert.equal(refusal(world, 'a', '9.9.8.1'), 'address_quota_exceeded');
  assert.equal(refusal(world, 'a', '9.9.9.2'), undefined, 'known by its own report');
  assert.equal(refusal(world, 'b', '9.9.8.1'), undefined, 'another account');
  const { family, words } = addressOf('9.9.8.1');
  const refused = admissionOf(world).admit(0, family, words);
  assert.equal(!refused.ok && refused.retryAfterSeconds, 86_399);
  world.report('b', '9.9.8.1');
  assert.equal(refusal(world, 'a', '9.9.8.1'), undefined, 'known by the report of another');
  world.at.now = worldStart + dayMs - 1;
  assert.equal(refusal(world, 'a', '9.9.8.2'), 'address_quota_exceeded');
  world.at.now = worldStart + dayMs;
  assert.equal(refusal(world, 'a', '9.9.8.2'), undefined);
  assert.deepEqual(world.access.newAddresses(0, world.at.now), { limit: 40, used: 0 });
});

it('reports of known addresses, again and again, use nothing of it', () => {
  const world = worldWithQuota(1);
  for (let i = 0; i < 100; i++) world.report('a', '9.9.9.1');
  assert.deepEqual(world.access.newAddresses(0, world.at.now), { limit: 40, used: 1 });
});

it('grows with trust, from 2,000 towards 20,000', () => {
  const world = openWorld({});
  world.account('a');
  const limit = () => world.access.newAddresses(0, worldStart).limit;
  assert.equal(limit(), 2_000);
  world.trust('a', 1e9);
  assert.equal(limit(), 20_000);
});

it('a restart forgets none of them', () => {
  const world = worldWithQuota(1);
  for (let i = 0; i < 30; i++) world.report('a', `9.9.9.${i}`);
  // Beside it stands what is only there now and then, too.
  world.report('b', '9.9.9.1');
  world.withdraw('a', '9.9.9.1', false);
  const read = openWorld({});
  const { section } = world.access;
  assert.ok(read.access.section.load(section.firstPage, section.encode(section.firstPage)));
  for (const slot of [0, 1]) {
    const used = world.access.newAddresses(slot, world.at.now);
    assert.deepEqual(read.access.newAddresses(slot, world.at.now), used);
  }
  assert.equal(read.access.newAddresses(0, world.at.now).used, 30);
});

it('new addresses under way count until they are settled, each once', async () => {
  const world = worldWithQuota(1);
  let apply = () => {};
  const applied = new Promise<void>((resolve) => {
    apply = resolve;
  });
  const admission = createReportAdmission({
    entries: world.entries,
    clock: { now: () => world.at.now, monotonicMs: () => 0 },
    newAddresses: world.access.newAddresses,
    secondsLeftOfDay,
    catchUpTo: () => applied,
  });
  const admit = (ip: string, slot = 0) => {
    const { family, words } = addressOf(ip);
    return admission.admit(slot, family, words);
  };
  const admitted = Array.from({ length: 40 }, (_, i) => admit(`9.9.9.${i}`));
  assert.ok(admitted.every(({ ok }) => ok));
  const settle = (i: number, seq?: bigint) => {
    const one = admitted[i]!;
    assert.ok(one.ok);
    one.value(seq);
  };
  const code = (ip: string, slot?: number) => {
    const one = admit(ip, slot);
    return one.ok ? undefined : one.error;
  };
  assert.equal(code('9.9.8.1'), 'address_quota_exceeded');
  assert.equal(code('9.9.9.7'), undefined, 'under way already');
  assert.equal(code('9.9.8.1', 1), undefined, 'another account');
  // Committed, not applied: it counts on.
  settle(0, 1n);
  await Promise.resolve();
  assert.equal(code('9.9.8.1'), 'address_quota_exceeded');
  // Not committed: its place is free.
  settle(1);
  assert.equal(code('9.9.8.2'), undefined);
  assert.equal(code('9.9.8.3'), 'address_quota_exceeded');
  // Applied: now the account's own count has it.
  world.report('a', '9.9.9.0');
  apply();
  await applied;
  await Promise.resolve();
  assert.equal(code('9.9.8.3'), 'address_quota_exceeded');
  for (let i = 2; i < 40; i++) settle(i);
  assert.equal(code('9.9.8.3'), undefined);
});

it('an event that is counted before its writer hears of it counts once', () => {
  const world = worldWithQuota(1);
  const admission = admissionOf(world);
  const admit = (ip: string) => {
    const { family, words } = addressOf(ip);
    return admission.admit(0, family, words).ok;
  };
  for (let i = 0; i < 39; i++) assert.ok(admit(`9.9.9.${i}`));
  world.report('a', '9.9.9.0');
  world.report('a', '9.9.9.1');
  assert.equal(admit('9.9.8.1'), true, 'the fortieth');
  assert.equal(admit('9.9.8.2'), false);
});
