/**
 * Each bound on counted rows, raced for through two nodes: what the tests of the embedded store and of
 * PostgreSQL have in common. A node is a store of its own on the same data.
 */

import assert from 'node:assert/strict';
import { type Accounts, createAccounts } from '../../../src/access/accounts/accounts.ts';
import { roleRow } from '../../../src/access/accounts/records.ts';
import { createApiKeys, namedKeyBounds } from '../../../src/access/keys/api-keys.ts';
import { masterKeyFromBytes } from '../../../src/access/keys/master-key.ts';
import { createSiteKeys, siteKeysPerAccountMax } from '../../../src/access/keys/site-keys.ts';
import { capacities } from '../../../src/config.ts';
import { systemClock } from '../../../src/core/clock.ts';
import { systemRandom } from '../../../src/core/random.ts';
import type { Result } from '../../../src/core/result.ts';
import {
  addSubscription,
  listSubscriptions,
} from '../../../src/reputation/lists/subscriptions/subscriptions.ts';
import { createAnonymousReports, createRemovals } from '../../../src/reputation/requests/queue.ts';
import { createWebhooks, webhookBounds } from '../../../src/reputation/webhooks/webhook-store.ts';
import type { Store } from '../../../src/storage/store.ts';
import { errorOf, value } from '../house/result.ts';

const clock = systemClock();
const random = systemRandom();
const masterKey = masterKeyFromBytes(new Uint8Array(32).fill(7));

/** How many came to what: `none` for those that succeeded. */
async function outcomes(asked: readonly Promise<Result<unknown>>[]) {
  const counts: Record<string, number> = {};
  for (const done of await Promise.all(asked)) {
    counts[errorOf(done)] = (counts[errorOf(done)] ?? 0) + 1;
  }
  return counts;
}

interface BoundRaces {
  readonly [name: string]: () => Promise<void>;
}

/** @param nodes two at least. @returns the races by what they show */
export function boundRaces(nodes: () => readonly Store[]): BoundRaces {
  let people = 0;

  /** Calls `ask` for each number, on one node after the other, all at once. */
  const race = <T>(times: number, ask: (store: Store, n: number) => Promise<T>) =>
    Array.from({ length: times }, (_, n) => ask(nodes()[n % nodes().length]!, n));
  /** One for each node, made once. */
  function onEach<T>(make: (store: Store) => T): (store: Store) => T {
    const made = new Map<Store, T>();
    return (store) => {
      const one = made.get(store) ?? make(store);
      made.set(store, one);
      return one;
    };
  }
  const accountsOf = onEach((store): Accounts => createAccounts({ store, clock, random }));
  const person = async () =>
    value(await accountsOf(nodes()[0]!).create(`race${people++}@example.org`)).id;

  return {
    async 'an account has so many webhooks, and all together'() {
      const totalMax = 64;
      const hooksOf = onEach((store) =>
        createWebhooks({
          store,
          clock,
          random,
          masterKey,
          totalMax,
          faultOf: async () => undefined,
        }),
      );
      const hook = { url: 'https://hooks.example/a', threshold: 50, watches: ['45.1.2.3'] };
      const id = await person();
      const { perAccountMax } = webhookBounds;
      assert.deepEqual(await outcomes(race(60, (store) => hooksOf(store).create(id, hook))), {
        none: perAccountMax,
        capacity_exceeded: 60 - perAccountMax,
      });
      const others = await Promise.all(Array.from({ length: 20 }, person));
      // A 64th is the operators' alone.
      const room = totalMax - 1 - perAccountMax;
      const asked = race(100, (store, n) => hooksOf(store).create(others[n % 20]!, hook));
      assert.deepEqual(await outcomes(asked), { none: room, capacity_exceeded: 100 - room });
      const operator = await person();
      await nodes()[0]!.commit(roleRow(operator, 'operator'));
      const asOperator = race(4, (store) => hooksOf(store).create(operator, hook));
      assert.deepEqual(await outcomes(asOperator), { none: 1, capacity_exceeded: 3 });
      assert.equal((await hooksOf(nodes()[0]!).all()).length, totalMax);
    },

    async 'an account has so many site keys'() {
      const keysOf = onEach((store) => createSiteKeys({ store, clock, random }));
      const id = await person();
      const asked = race(250, (store, n) => keysOf(store).create(id, [`s${n}.example.org`]));
      assert.deepEqual(await outcomes(asked), {
        none: siteKeysPerAccountMax,
        conflict: 250 - siteKeysPerAccountMax,
      });
    },

    async 'an account has so many named keys, of 60 accounts each gets one, and all together have so many'() {
      const totalMax = 128;
      const keysOf = onEach((store) => {
        const accounts = accountsOf(store);
        const slotsMax = capacities.accounts;
        return createApiKeys({ store, clock, random, masterKey, accounts, slotsMax, totalMax });
      });
      const scopes = ['bouncer'] as const;
      const ids = await Promise.all(Array.from({ length: 60 }, person));
      assert.deepEqual(
        await outcomes(
          race(60, (store, n) => keysOf(store).create(ids[n]!, { name: 'fw', scopes })),
        ),
        { none: 60 },
      );
      const id = await person();
      const { perAccountMax } = namedKeyBounds;
      assert.deepEqual(
        await outcomes(race(70, (store, n) => keysOf(store).create(id, { name: `k${n}`, scopes }))),
        { none: perAccountMax, capacity_exceeded: 70 - perAccountMax },
      );
      const room = totalMax - 2 - 60 - perAccountMax;
      const more = (store: Store, n: number) =>
        keysOf(store).create(ids[n % 60]!, { name: `more${n}`, scopes });
      assert.deepEqual(await outcomes(race(60, more)), {
        none: room,
        capacity_exceeded: 60 - room,
      });
    },

    async 'commands that each have a store of their own make 60 named keys at once'() {
      const ids = await Promise.all(Array.from({ length: 60 }, person));
      const scopes = ['bouncer'] as const;
      const slotsMax = capacities.accounts;
      const made = ids.map((id, n) => {
        // What one process has alone, such as the order of its own changes, another one knows nothing of.
        const store = { ...nodes()[n % nodes().length]! };
        const accounts = createAccounts({ store, clock, random });
        const keys = createApiKeys({ store, clock, random, masterKey, accounts, slotsMax });
        return keys.create(id, { name: 'fw', scopes });
      });
      assert.deepEqual(await outcomes(made), { none: 60 });
    },

    async 'the server fetches so many lists'() {
      const terms = {
        ...({ url: 'https://lists.example/a', list: 'seed', format: 'plain' } as const),
        confidence: 50,
        holdDays: 1,
        allowDocumentation: false,
        service: undefined,
        everyMs: 3_600_000,
      };
      const { sources } = capacities;
      const asked = race(sources + 60, (store, n) =>
        addSubscription(store, { ...terms, name: `list${n}` }, clock.now()),
      );
      assert.deepEqual(await outcomes(asked), { none: sources, capacity_exceeded: 60 });
      assert.equal((await listSubscriptions(nodes()[0]!)).length, sources);
    },

    async 'the queues of what visitors ask are bounded'() {
      const max = 40;
      const from = (n: number, standing: 'anyone' | 'signed_in') => {
        return { standing, network: new Uint8Array(8).fill(n + 1) };
      };
      const removals = onEach((store) => createRemovals({ store, clock, max }));
      const reason = { reason: 'It was cleaned.', fromAddress: false, signedIn: false };
      const asked = race(120, (store, n) =>
        removals(store).add(`45.2.0.${n}`, reason, from(n, 'anyone')),
      );
      // Each of another network: the oldest gives way.
      await Promise.all(asked);
      assert.equal((await removals(nodes()[0]!).list()).length, max);
      const tips = onEach((store) => createAnonymousReports({ store, clock, max: 200 }));
      const tip = { categories: 4, comment: '' };
      const near = race(60, (store, n) => tips(store).add(`45.2.1.${n}`, tip, from(1, 'anyone')));
      assert.deepEqual(await outcomes(near), { none: 20, capacity_exceeded: 40 });
    },
  };
}
