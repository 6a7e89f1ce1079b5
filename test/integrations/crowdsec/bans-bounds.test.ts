/** Bans of all accounts together: how many there are, how many ends are remembered, and which rows may go. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createBanTable } from '../../../src/integrations/crowdsec/ban-table.ts';
import { createBans, endedMs } from '../../../src/integrations/crowdsec/bans.ts';
import { banMs } from '../../../src/integrations/crowdsec/decisions.ts';
import { usualBans } from '../../support/integrations/agent-bans.ts';
import { manualClock } from '../../support/seeded.ts';

function setUp(totalMax: number) {
  const clock = manualClock(1_800_000_000_000);
  const bans = createBans({ clock, shared: createBanTable(64), perAccountMax: 10, totalMax });
  const namesOf = (account: string, which: 'active' | 'ended') => [
    ...(bans.of(account)?.[which].keys() ?? []),
  ];
  return {
    clock,
    bans,
    namesOf,
    ban: (account: string, ...addresses: string[]) =>
      bans.add(usualBans(account, clock.now(), addresses)),
    count(accounts: readonly string[], which: 'active' | 'ended'): number {
      // What is over ends when it is looked at, and may make another one forget.
      for (const account of accounts) bans.of(account);
      return accounts.reduce((sum, account) => sum + namesOf(account, which).length, 0);
    },
  };
}

it('many accounts with ever new addresses hold no more ends than bans, and nobody else forgets', () => {
  const { clock, bans, ban, namesOf, count } = setUp(8);
  ban('quiet', '45.10.0.1');
  clock.advance(banMs);
  assert.deepEqual(namesOf('quiet', 'ended'), ['45.10.0.1']);
  const many = Array.from({ length: 5 }, (_, i) => `a${i}`);
  for (let round = 0; round < 6; round++) {
    for (const [i, account] of many.entries())
      ban(account, `45.11.${i}.${round}`, `45.12.${i}.${round}`);
    assert.ok(bans.table.used() <= 8 && count([...many, 'quiet'], 'ended') <= 8);
  }
  assert.deepEqual([count(many, 'active'), count(many, 'ended')], [8, 7]);
  assert.deepEqual(namesOf('quiet', 'ended'), ['45.10.0.1']);
  clock.advance(banMs + endedMs);
  for (const account of [...many, 'quiet']) assert.equal(bans.of(account)?.ended.size ?? 0, 0);
  // Nothing of before counts any more: as many ends are remembered as at first.
  ban('a0', '45.10.0.1', '45.10.0.2', '45.10.0.3', '45.10.0.4');
  ban('a1', '45.10.0.5', '45.10.0.6', '45.10.0.7', '45.10.0.8');
  clock.advance(banMs);
  assert.equal(count(['a0', 'a1'], 'ended'), 8);
  // Who is banned again is not among the ends.
  ban('a0', '45.10.0.1', '45.10.0.2');
  ban('a2', '45.10.0.9', '45.10.0.10');
  clock.advance(banMs);
  assert.equal(count(['a0', 'a1', 'a2'], 'ended'), 8);
});

it('at the bound of all together a ban does not look at every account', (t) => {
  const accounts = 300;
  const { clock, bans, ban } = setUp(accounts);
  for (let n = 0; n < accounts; n++) ban(`a${n}`, `45.10.${n >> 8}.${n & 255}`);
  clock.advance(1);
  let looked = 0;
  const { values } = Map.prototype;
  t.mock.method(Map.prototype, 'values', function* counted(this: Map<unknown, unknown>) {
    for (const value of values.call(this)) {
      looked++;
      yield value;
    }
  });
  ban('one', '45.11.0.1', '45.11.0.2', '45.11.0.3');
  t.mock.restoreAll();
  assert.equal(bans.table.used(), accounts);
  assert.ok(looked < accounts, `${looked} were looked at`);
});

it('a row that became idle anew while the one before was seen to is named again', () => {
  const { clock, bans, ban } = setUp(1);
  const idle = () => bans.idleRows(9).map(({ value, untilMs }) => [value, untilMs]);
  ban('a', '45.10.0.1');
  ban('a', '45.10.0.2');
  const seen = bans.idleRows(9);
  assert.deepEqual(idle(), [['45.10.0.1', clock.now() + banMs]]);
  clock.advance(1);
  ban('a', '45.10.0.1');
  ban('a', '45.10.0.3');
  bans.settle(seen);
  assert.ok(
    idle().some(([address, until]) => {
      return address === '45.10.0.1' && until === clock.now() + banMs;
    }),
  );
  bans.settle(bans.idleRows(9));
  assert.deepEqual(idle(), []);
});

it('many bans that are over together end in more than one turn of the event loop', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const clock = manualClock(1_800_000_000_000);
  const bans = createBans({ clock, shared: createBanTable(64) });
  const stop = bans.start({ slotOf: () => 3, isExempt: () => false, allowlistVersion: () => 0 });
  const addresses = Array.from({ length: 1_000 }, (_, n) => `45.10.${n >> 8}.${n & 255}`);
  for (const [i, account] of ['a', 'b', 'c'].entries()) {
    const own = addresses.slice(i * 300, i * 300 + 300);
    bans.add(usualBans(account, clock.now(), own));
  }
  clock.advance(banMs);
  t.mock.timers.tick(1_000);
  const left = [];
  while (bans.table.used() > 0) {
    left.push(bans.table.used());
    await nextTurn();
  }
  assert.deepEqual(left, [650, 400, 150]);
  assert.equal(bans.of('c')!.ended.size, 300);
  stop();
});

it('an account that is forgotten and bans anew between two turns keeps its new ban', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const clock = manualClock(1_800_000_000_000);
  const bans = createBans({ clock, shared: createBanTable(64) });
  const stop = bans.start({ slotOf: () => 3, isExempt: () => false, allowlistVersion: () => 0 });
  const ban = (addresses: string[]) => bans.add(usualBans('a', clock.now(), addresses));
  ban(Array.from({ length: 400 }, (_, n) => `45.10.${n >> 8}.${n & 255}`));
  clock.advance(banMs);
  assert.equal(bans.of('a')!.ended.size, 400);
  clock.advance(endedMs);
  t.mock.timers.tick(1_000);
  assert.equal(bans.of('a'), undefined, 'the rest of it is over, too');
  ban(['45.11.0.1']);
  await nextTurn();
  await nextTurn();
  assert.deepEqual([...(bans.of('a')?.active.keys() ?? [])], ['45.11.0.1']);
  stop();
});
