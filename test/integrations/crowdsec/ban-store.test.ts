/** The rows of agents' bans: as many as the memory holds, whoever bans whatever, and none too few after a restart. */

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createLog } from '../../../src/core/log.ts';
import { createBanTable } from '../../../src/integrations/crowdsec/ban-table.ts';
import { createBanStore, createBans } from '../../../src/integrations/crowdsec/bans.ts';
import { banMs } from '../../../src/integrations/crowdsec/decisions.ts';
import { agentEvents } from '../../../src/integrations/crowdsec/events.ts';
import { agentBanPrefix, readTexts } from '../../../src/storage/keys.ts';
import { openLmdbStore } from '../../../src/storage/lmdb/store.ts';
import type { Store } from '../../../src/storage/store.ts';
import { value } from '../../support/house/result.ts';
import { wantedBans } from '../../support/integrations/agent-bans.ts';
import { manualClock, seededRandom } from '../../support/seeded.ts';
import { makeTempDir } from '../../support/server/temp-dir.ts';

const bounds = { perAccountMax: 10, totalMax: 24 };
const log = createLog('silent');

function setUp(name: string) {
  const directory = makeTempDir(name);
  const clock = manualClock(1_800_000_000_000);
  const store = openLmdbStore({ path: directory.path, clock, log });
  async function close(): Promise<void> {
    await store.close();
    directory.remove();
  }
  return { clock, store, close };
}

/** A node on the store: its memory, which follows the journal up to where it is told to. */
async function startNode(store: Store, clock: ReturnType<typeof manualClock>, seed: number) {
  const bans = createBans({ clock, shared: createBanTable(64), ...bounds });
  let seq = await store.lastSeq();
  async function follow(): Promise<void> {
    for (const event of await store.read(seq, 1_000)) {
      void agentEvents.find(({ kind }) => kind === event.kind)!.follow(bans, event);
      seq = event.seq;
    }
  }
  const options = { store, clock, random: seededRandom(seed), bans, isExempt: () => false };
  const stored = createBanStore({ ...options, catchUpTo: follow });
  await stored.load();
  return { bans, follow, save: stored.save };
}

async function rowsIn(store: Store): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  for (const { key } of await store.scan(agentBanPrefix(), { limit: 1_000 })) {
    const [account = ''] = readTexts(key);
    counts.set(account, (counts.get(account) ?? 0) + 1);
  }
  return counts;
}

const accounts = ['a', 'b', 'c', 'd', 'e'];
type Node = Awaited<ReturnType<typeof startNode>>;

function active({ bans }: Node): string[] {
  return accounts
    .flatMap((id) => [...(bans.of(id)?.active.entries() ?? [])].map((ban) => [id, ban] as const))
    .map(([id, [address, { untilMs }]]) => `${id} ${address} ${untilMs}`)
    .sort();
}

it('rows never exceed the bans and ends that are remembered, and a restart knows all that lasts', async () => {
  const { clock, store, close } = setUp('ban-rows');
  const random = seededRandom(23);
  const under = (n: number) => Math.floor(random.next() * n);
  let node = await startNode(store, clock, 1);
  let fullest = 0;
  for (let step = 0; step < 500; step++) {
    const account = accounts[under(accounts.length)]!;
    const addresses = Array.from({ length: 1 + under(12) }, () => `45.10.0.${under(60)}`);
    value(await node.save(account, wantedBans(addresses)));
    clock.advance(under(3) === 0 ? under(banMs) : under(60_000));
    const counts = [...(await rowsIn(store)).values()];
    const total = counts.reduce((sum, n) => sum + n, 0);
    assert.ok(Math.max(...counts) <= 2 * bounds.perAccountMax, `step ${step}`);
    assert.ok(total <= 2 * bounds.totalMax, `${total} rows at step ${step}`);
    fullest = Math.max(fullest, total);
    if (step % 10 !== 0) continue;
    const before = active(node);
    node = await startNode(store, clock, step + 2);
    assert.deepEqual(active(node), before, `step ${step}`);
  }
  assert.ok(fullest > bounds.totalMax, 'the bound is met');
  await close();
});

it('rows that a kill left behind go at the next start', async () => {
  const { clock, store, close } = setUp('ban-rows-killed');
  const node = await startNode(store, clock, 1);
  const dying: Store = {
    ...store,
    async commit(commit) {
      if (commit.events !== undefined) return store.commit(commit);
      return { ok: false, error: 'store_unavailable', seq: 0n, detail: 'told to fail' };
    },
  };
  const cut = await startNode(dying, clock, 2);
  for (let n = 0; n < 8; n++) {
    value(await cut.save('a', wantedBans(Array.from({ length: 10 }, (_, i) => `45.11.${n}.${i}`))));
    clock.advance(banMs);
  }
  assert.ok((await rowsIn(store)).get('a')! > 2 * bounds.perAccountMax);
  await startNode(store, clock, 3);
  assert.ok((await rowsIn(store)).get('a')! <= 2 * bounds.perAccountMax);
  await node.follow();
  await close();
});

it('a ban that another node renewed is not removed with the old one that this node forgets', async () => {
  const { clock, store, close } = setUp('ban-rows-nodes');
  const [here, there] = [await startNode(store, clock, 1), await startNode(store, clock, 2)];
  const first = Array.from({ length: 10 }, (_, i) => `45.12.0.${i}`);
  value(await here.save('a', wantedBans(first)));
  clock.advance(banMs);
  value(
    await here.save('a', wantedBans(first.map((address) => address.replace('45.12.0', '45.12.1')))),
  );
  clock.advance(banMs);
  await there.follow();
  here.bans.of('a');
  // There the addresses are banned anew; here that is not known yet, and their old ends are forgotten.
  let renewed: ReturnType<typeof there.save> | undefined;
  const late: Store = {
    ...store,
    async get(key) {
      renewed ??= there.save('a', wantedBans(first));
      value(await renewed);
      return store.get(key);
    },
  };
  const options = { store: late, clock, random: seededRandom(9), isExempt: () => false };
  const more = ['45.12.2.1', '45.12.2.2', '45.12.2.3', '45.12.2.4'];
  const forgetting = createBanStore({ ...options, bans: here.bans, catchUpTo: here.follow });
  value(await forgetting.save('a', wantedBans(more)));
  assert.ok(renewed, 'the rows were looked at');
  const again = await startNode(store, clock, 3);
  const lasting = [...again.bans.of('a')!.active.keys()];
  for (const address of first.slice(4)) assert.ok(lasting.includes(address), address);
  await close();
});
