/** The bans of agents: who has them, for how long, and what a bouncer is told that follows. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { createBanTable } from '../../../src/integrations/crowdsec/ban-table.ts';
import { createBans, endedMs } from '../../../src/integrations/crowdsec/bans.ts';
import { banMs } from '../../../src/integrations/crowdsec/decisions.ts';
import { agentBanned, agentUnbanned } from '../../../src/integrations/crowdsec/events.ts';
import { createDecisionStream } from '../../../src/integrations/crowdsec/stream.ts';
import { parseIp } from '../../../src/ip/address.ts';
import { formatNetwork } from '../../../src/ip/prefix.ts';
import { usualBans } from '../../support/integrations/agent-bans.ts';
import { createList } from '../../support/integrations/changing-list.ts';
import { toldIn } from '../../support/integrations/told.ts';
import { manualClock } from '../../support/seeded.ts';

const everything = { hosts: true, networks: true };
const minuteMs = 60_000;

function setUp(perAccountMax = 10) {
  const clock = manualClock(1_800_000_000_000);
  const shared = createBanTable(64);
  const slots = new Map([
    ['mine', 3],
    ['other', 4],
  ]);
  const allowed = new Set<string>();
  let allowlistVersion = 0;
  const bans = createBans({ clock, shared, perAccountMax });
  const stop = bans.start({
    slotOf: (account) => slots.get(account),
    isExempt: (prefix) => allowed.has(formatNetwork(prefix)),
    allowlistVersion: () => allowlistVersion,
  });
  const ban = (account: string, ...addresses: string[]) =>
    bans.add(usualBans(account, clock.now(), addresses));
  const isLive = (slot: number, address: string) => {
    const words = new Uint32Array(4);
    const family = parseIp(address, words);
    return family !== 0 && shared.endOf(slot, family, words) > clock.now();
  };
  function allow(address: string): void {
    allowed.add(address);
    allowlistVersion++;
  }
  return { clock, bans, ban, isLive, allow, slots, stop };
}

it('a ban is its account’s, lasts four hours, and its end is known for a day', () => {
  const { clock, bans, ban, isLive, stop } = setUp();
  ban('mine', '45.10.0.1', '2a10::1');
  assert.deepEqual([...bans.of('mine')!.active.keys()], ['45.10.0.1', '2a10::1']);
  assert.equal(bans.of('other'), undefined);
  assert.ok(isLive(3, '45.10.0.1') && isLive(3, '2a10::1') && !isLive(4, '45.10.0.1'));
  clock.advance(banMs - minuteMs);
  ban('mine', '45.10.0.1');
  clock.advance(minuteMs);
  assert.deepEqual([...bans.of('mine')!.active.keys()], ['45.10.0.1'], 'it was renewed');
  assert.deepEqual([...bans.of('mine')!.ended.keys()], ['2a10::1']);
  assert.ok(isLive(3, '45.10.0.1') && !isLive(3, '2a10::1'));
  clock.advance(banMs + endedMs);
  bans.of('mine');
  assert.equal(bans.of('mine'), undefined);
  assert.equal(bans.table.used(), 0);
  stop();
});

it('at the bound the oldest ban of the account ends, and nobody else’s', () => {
  const { bans, ban, isLive, stop } = setUp(2);
  ban('other', '45.10.0.9');
  ban('mine', '45.10.0.1', '45.10.0.2');
  ban('mine', '45.10.0.3');
  const idle = bans.idleRows(10);
  assert.deepEqual(
    idle.map(({ account, value }) => [account, value]),
    [['mine', '45.10.0.1']],
  );
  assert.deepEqual([...bans.of('mine')!.active.keys()], ['45.10.0.2', '45.10.0.3']);
  assert.deepEqual([...bans.of('mine')!.ended.keys()], ['45.10.0.1']);
  assert.ok(!isLive(3, '45.10.0.1') && isLive(4, '45.10.0.9'));
  stop();
});

it('what is allowed later is banned no more, and a slot that changes hands takes no ban along', () => {
  const { bans, ban, isLive, allow, slots, stop } = setUp();
  ban('mine', '45.10.0.1', '45.10.0.2');
  allow('45.10.0.1');
  assert.deepEqual([...bans.of('mine')!.ended.keys()], ['45.10.0.1']);
  assert.ok(!isLive(3, '45.10.0.1') && isLive(3, '45.10.0.2'));
  slots.delete('mine');
  slots.set('new', 3);
  bans.of('mine');
  assert.ok(!isLive(3, '45.10.0.2'));
  slots.set('mine', 5);
  bans.of('mine');
  assert.ok(isLive(5, '45.10.0.2') && !isLive(3, '45.10.0.2'));
  stop();
});

it('an event says what it was told, and a damaged one stops the follower', () => {
  const { decisions } = usualBans('a1', 1_800_000_000_123, ['45.10.0.1', '2a10::1']);
  const named = { ...decisions[0]!, scenario: 'crowdsecurity/ssh-bf' };
  const other = { ...named, value: '45.10.0.0/24', type: 'captcha', origin: 'cscli' } as const;
  const said = { account: 'a1', atMs: 1_800_000_000_123, decisions: [...decisions, named, other] };
  for (const defined of [agentBanned, agentUnbanned]) {
    const { version, body } = defined.encode('id', said);
    assert.deepEqual(defined.decode(version, body), said);
    const heard: unknown[] = [];
    const note = (decided: unknown) => void heard.push(decided);
    const follow = (more: object) =>
      defined.follow(
        { add: note, unban: note },
        { id: 'id', kind: defined.kind, version, body, seq: 1n, at: 0, ...more },
      );
    void follow({});
    assert.deepEqual(heard, [said]);
    assert.throws(() => follow({ version: version + 2 }));
    for (let length = 0; length < body.length; length++) {
      assert.throws(() => follow({ body: body.subarray(0, length) }));
    }
  }
});

it('a listed address whose ban is over is said as the list has it, also after a lost answer', async () => {
  const { clock, bans, ban, stop } = setUp();
  const list = createList(40);
  list.toggle(['45.10.0.1']);
  const stream = createDecisionStream({
    list: list.now,
    clock,
    banPosition: bans.position,
    isListed: (value) => list.held.has(value),
  });
  async function poll(isStart = false): Promise<unknown> {
    const answer = await stream.answer({
      client: 'c',
      isStart,
      filter: everything,
      gzip: false,
      own: () => bans.of('mine'),
      entriesMax: async () => 1_000,
      isGone: () => false,
    });
    const said = toldIn<{ value: string; duration: string }>(
      Buffer.concat(answer!.parts).toString(),
    );
    const short = (rows: { value: string; duration: string }[]) =>
      rows.map(({ value, duration }) => `${value} ${duration}`);
    return { new: short(said.new), deleted: short(said.deleted) };
  }
  const asListed = { new: ['45.10.0.1 576h0m0s'], deleted: [] };
  assert.deepEqual(await poll(true), asListed);
  ban('mine', '45.10.0.1', '45.10.0.2');
  const banned = ['45.10.0.1 3h59m55s', '45.10.0.2 3h59m55s'];
  assert.deepEqual(await poll(), { new: banned, deleted: [] });
  await poll();
  clock.advance(banMs);
  const over = { ...asListed, deleted: ['45.10.0.2 -1s'] };
  assert.deepEqual(await poll(), over);
  assert.deepEqual(await poll(), over, 'the first answer may be lost');
  assert.deepEqual(await poll(), { new: [], deleted: [] });
  stop();
});

const hosts = ['45.10.0.1', '45.10.0.2', '2a10::1'];
const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ ban: fc.uniqueArray(fc.constantFrom(...hosts), { minLength: 1 }) }),
  },
  { weight: 3, arbitrary: fc.record({ list: fc.constantFrom(...hosts, '45.0.0.0/8') }) },
  { weight: 5, arbitrary: fc.record({ poll: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ waitMs: fc.constantFrom(minuteMs, banMs) }) },
  { weight: 1, arbitrary: fc.record({ restart: fc.constant(true) }) },
);

it('who follows ends with the list and the account’s own bans, though answers get lost', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (script) => {
      const { clock, bans, ban, stop } = setUp();
      const list = createList(40);
      const open = () =>
        createDecisionStream({
          list: list.now,
          clock,
          banPosition: bans.position,
          isListed: (value) => list.held.has(value),
        });
      let stream = open();
      const held = new Map<string, number>();
      let lostInARow = 0;
      let silentMs = 0;

      async function poll(isStart: boolean, isLost: boolean): Promise<void> {
        const answer = await stream.answer({
          client: 'c',
          isStart,
          filter: everything,
          gzip: false,
          own: () => bans.of('mine'),
          entriesMax: async () => 1_000,
          isGone: () => false,
        });
        const text = Buffer.concat(answer!.parts).toString();
        const { new: added, deleted } = toldIn<{ value: string; duration: string }>(text);
        const values = [...added, ...deleted].map((row) => row.value);
        assert.equal(new Set(values).size, values.length, text);
        if (isLost) return;
        silentMs = 0;
        for (const { value, duration } of added) {
          const [, h, m, s] = /^(\d+)h(\d+)m(\d+)s$/.exec(duration) ?? assert.fail(duration);
          const leftMs = (Number(h) * 3_600 + Number(m) * 60 + Number(s)) * 1_000;
          held.set(value, clock.now() + leftMs);
        }
        for (const row of deleted) held.delete(row.value);
      }

      await poll(true, false);
      for (const one of script) {
        if ('ban' in one) ban('mine', ...one.ban);
        else if ('list' in one) list.toggle([one.list]);
        else if ('waitMs' in one) {
          clock.advance(one.waitMs);
          silentMs += one.waitMs;
          // For longer than a day nobody knows what ended.
          if (silentMs > endedMs / 2) await poll(false, false);
        } else if ('restart' in one) stream = open();
        else {
          lostInARow = one.poll && lostInARow === 0 ? 1 : 0;
          await poll(false, lostInARow === 1);
        }
      }
      await poll(false, false);
      const active = [...(bans.of('mine')?.active.keys() ?? [])];
      const wanted = new Set([...list.held, ...active]);
      assert.deepEqual([...held.keys()].sort(), [...wanted].sort());
      // Clients with timers of their own: what is on the list, or banned, has not lapsed.
      for (const [value, until] of held) assert.ok(until > clock.now(), value);
      stop();
    }),
    { numRuns: 300 },
  );
});
