/** An edge's store in the contract suite: a core over an embedded store, asked over its internal listener. */

import type { Clock } from '../../src/core/clock.ts';
import { createLog } from '../../src/core/log/log.ts';
import { openInternalListener } from '../../src/server/peers/internal-listener.ts';
import type { PostgresStore } from '../../src/store/postgres/store.ts';
import { relayed } from '../../src/store/relay/relay.ts';
import { openRelayStore } from '../../src/store/relay/relay-store.ts';
import type { Store } from '../../src/store/store.ts';
import { open as openEmbedded } from './lmdb-opener.ts';

const key = Buffer.alloc(32, 7);
const node = 1;
const noChallenges = new Proxy({} as never, {});

/** What a core needs besides of its database. */
function asShared(store: Store, clock: Clock, epoch: string): PostgresStore {
  const names = new Map<string, Buffer>();
  return {
    ...store,
    head: async () => ({ epoch, lastSeq: await store.lastSeq(), prunedThrough: 0n }),
    databaseTime: async () => clock.now(),
    async claimName(name, value) {
      const known = names.get(name) ?? value;
      names.set(name, known);
      return known;
    },
    session: () => Promise.reject(new Error('there is no database')),
  };
}

/** A core over the store, and the address where edges ask it. */
export async function openCore(
  store: Store,
  clock: Clock,
  {
    waitMs = 50,
    epoch = 'one',
    ...bounds
  }: { waitMs?: number; epoch?: string; requestMsMax?: number; heldBytesMax?: number } = {},
) {
  const core = relayed(asShared(store, clock, epoch), { now: clock.now, waitMs });
  const listener = await openInternalListener({
    ...{ host: '127.0.0.1', port: 0, node, key, clock, log: createLog('silent') },
    ...{ challenges: noChallenges, relay: core.relay, ...bounds },
  });
  return {
    ...core,
    key,
    node,
    tables: listener.tables,
    address: listener.url.slice('http://'.length),
    close: listener.close,
  };
}

export async function open(location: string, clock: Clock): Promise<Store> {
  const embedded = await openEmbedded(location, clock);
  const core = await openCore(embedded, clock);
  const url = `portcullis://${core.address}/`;
  const edge = await openRelayStore({ url, key, log: createLog('silent') });
  return {
    ...edge,
    // Of a core alone.
    pruneEvents: embedded.pruneEvents,
    sweep: embedded.sweep,
    onHint: embedded.onHint,
    async close() {
      await edge.close();
      await core.close();
      await embedded.close();
    },
  };
}
