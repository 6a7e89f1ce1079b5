/** The bounds on what clients hold at the same time: by client, by network, and in all. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConcurrencyLimit, EvictableSlots } from '../../src/http/limits/request-slots.ts';
import { networksOf } from '../../src/ip/networks.ts';

test('a client is an IPv4 address or a /64, its network a /24 or a /48', () => {
  const same = (a: string, b: string) => ({
    client: networksOf(a).client === networksOf(b).client,
    network: networksOf(a).neighbourhood === networksOf(b).neighbourhood,
  });
  assert.deepEqual(same('192.0.2.1', '192.0.2.1'), { client: true, network: true });
  assert.deepEqual(same('192.0.2.1', '192.0.2.200'), { client: false, network: true });
  assert.deepEqual(same('192.0.2.1', '192.0.3.1'), { client: false, network: false });
  assert.deepEqual(same('2001:db8:1:2::1', '2001:db8:1:2:ffff::9'), {
    client: true,
    network: true,
  });
  assert.deepEqual(same('2001:db8:1:2::1', '2001:db8:1:ffff::1'), {
    client: false,
    network: true,
  });
  assert.deepEqual(same('2001:db8:1:2::1', '2001:db8:2:2::1'), { client: false, network: false });
  assert.deepEqual(same('0.0.2.1', '::201'), { client: false, network: false });
});

/** Takes as many as it gets. */
function fill(slots: ConcurrencyLimit, client: string, wanted = 10_000): number {
  const networks = networksOf(client);
  let got = 0;
  while (got < wanted && slots.refusalOf(() => networks) === undefined) {
    slots.take(networks);
    got++;
  }
  return got;
}

test('the share of slots shrinks as they get rare, and a newcomer finds one', () => {
  const slots = new ConcurrencyLimit(4_096);
  const first = fill(slots, '10.0.0.1');
  assert.ok(first > 200 && first <= 256, `one client gets ${first}`);
  const rest = Array.from({ length: 254 }, (_, i) => fill(slots, `10.0.0.${i + 2}`));
  const ofNetwork = first + rest.reduce((sum, got) => sum + got, 0);
  assert.ok(ofNetwork <= 512, `one /24 gets ${ofNetwork}`);
  for (let n = 1; n < 34; n++) fill(slots, `10.0.${n}.1`);
  assert.ok(slots.taken < 4_096 - 300, `34 networks take ${slots.taken}`);
  assert.equal(slots.refusalOf(() => networksOf('10.0.0.1'))?.status, 429);
  assert.ok(fill(slots, '10.9.9.9', 10) === 10);
});

test('addresses of one /64 count as one client, /64s of one /48 as one network', () => {
  const slots = new ConcurrencyLimit(4_096);
  for (let i = 0; i < 4_300; i++) fill(slots, `2001:db8::${i.toString(16)}`, 1);
  assert.ok(slots.taken <= 256, `${slots.taken}`);
  for (let i = 1; i < 4_300; i++) fill(slots, `2001:db8:0:${i.toString(16)}::1`, 1);
  assert.ok(slots.taken <= 512, `${slots.taken}`);
});

test('the last slots go to networks that have none', () => {
  const slots = new ConcurrencyLimit(8);
  for (let n = 0; n < 7; n++) assert.equal(fill(slots, `10.0.${n}.1`), 1);
  assert.equal(fill(slots, '10.0.7.1'), 1);
  assert.equal(slots.refusalOf(() => networksOf('10.0.8.1'))?.status, 503);
});

test('slots that are given back are free again', () => {
  const slots = new ConcurrencyLimit(100);
  const networks = networksOf('10.0.0.1');
  const leave = slots.take(networks);
  assert.equal(slots.taken, 1);
  leave();
  assert.equal(slots.taken, 0);
  assert.equal(fill(slots, '10.0.0.1'), fill(new ConcurrencyLimit(100), '10.0.0.2'));
});

const bounds = { max: 64, perClientMax: 8, perNeighbourhoodMax: 16 };

interface Held {
  readonly client: string;
  readonly leave: () => void;
}

/** Takes a place; `lost` gets the clients that gave way, in order. */
function taker(slots: EvictableSlots) {
  const held: Held[] = [];
  const lost: string[] = [];
  return {
    held,
    lost,
    take(client: string): void {
      const entry: Held = {
        client,
        leave: slots.take(networksOf(client), () => {
          lost.push(client);
          held.splice(held.indexOf(entry), 1);
        }),
      };
      held.push(entry);
    },
  };
}

test('a client at its bound gives up its own oldest, a network that of its greediest', () => {
  const slots = new EvictableSlots(bounds);
  const { take, lost, held } = taker(slots);
  take('10.9.9.9');
  for (let i = 0; i < 100; i++) take('10.0.0.1');
  assert.equal(slots.taken, 9);
  assert.ok(lost.every((client) => client === '10.0.0.1'));
  for (let i = 2; i < 200; i++) take(`10.0.0.${i}`);
  assert.equal(slots.taken, 17);
  assert.equal(held.filter(({ client }) => client === '10.9.9.9').length, 1);
});

test('when all slots are taken, those who hold most give way, and newcomers get in', () => {
  const slots = new EvictableSlots(bounds);
  const { take, lost } = taker(slots);
  take('10.200.0.1');
  // More networks than slots, each as greedy as it may be.
  for (let round = 0; round < 8; round++) {
    for (let n = 0; n < 60; n++) take(`10.0.${n}.${round}`);
  }
  assert.equal(slots.taken, bounds.max);
  assert.equal(lost.filter((client) => client === '10.200.0.1').length, 0);
  const before = lost.length;
  take('10.201.0.1');
  assert.equal(lost.length, before + 1);
  assert.notEqual(lost.at(-1), '10.200.0.1');
});

test('whatever comes and goes, no bound is passed and nothing is left behind', () => {
  let seed = 7;
  const random = (below: number) => {
    seed = (seed * 1_103_515_245 + 12_345) & 0x7fffffff;
    return seed % below;
  };
  const slots = new EvictableSlots(bounds);
  const { take, held, lost } = taker(slots);
  for (let step = 0; step < 30_000; step++) {
    if (random(5) < 3 || held.length === 0) {
      const newcomer = `10.0.${random(12)}.${random(4)}`;
      const most = (ofNetwork: string) =>
        held.filter(({ client }) => client.startsWith(ofNetwork)).length;
      const networkOf = (client: string) => client.slice(0, client.lastIndexOf('.') + 1);
      const counts = new Map(held.map(({ client }) => [networkOf(client), 0]));
      for (const { client } of held) {
        counts.set(networkOf(client), counts.get(networkOf(client))! + 1);
      }
      const gone = lost.length;
      take(newcomer);
      if (lost.length > gone && networkOf(lost.at(-1)!) !== networkOf(newcomer)) {
        assert.equal(counts.get(networkOf(lost.at(-1)!)), Math.max(...counts.values()));
      }
      assert.ok(most(networkOf(newcomer)) <= bounds.perNeighbourhoodMax);
      assert.ok(held.filter(({ client }) => client === newcomer).length <= bounds.perClientMax);
    } else {
      const [entry] = held.splice(random(held.length), 1);
      entry!.leave();
      entry!.leave();
    }
    assert.equal(slots.taken, held.length);
    assert.ok(slots.taken <= bounds.max);
  }
  assert.ok(lost.length > 100);
  for (const { leave } of held.splice(0)) leave();
  assert.equal(slots.taken, 0);
});
